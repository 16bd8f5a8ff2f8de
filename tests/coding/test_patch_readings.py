"""What a diff may look like, beside the labelled ones: what is made of it, or why it is refused."""

from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.patches import PatchError, apply
from tests.coding.patching import CHANGE, CHANGED, LINES, Unenclosed, everything, files_of, put, repository
from tests.each import each

HUNK = "@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n"
OLD, NEW = "--- a/f.txt\n", "+++ b/f.txt\n"
PY = "def f():\n    if x:\n        return 1\n    return 2\n"
MAKE = "--- /dev/null\n+++ b/g.txt\n@@ -0,0 +1 @@\n+g\n"

Row = tuple[str, dict[str, Any], str, dict[str, Any]]
APPLIED: list[Row] = [
    (
        "latin-1",
        {"f.txt": "caf\xe9\nx\n".encode("latin-1")},
        OLD + NEW + "@@ -1,2 +1,2 @@\n café\n-x\n+é\n",
        {"f.txt": "caf\xe9\n\xe9\n".encode("latin-1")},
    ),
    ("only the name of the old file", {"f.txt": LINES}, OLD + HUNK, {"f.txt": CHANGED}),
    ("only the name of the new file", {"f.txt": LINES}, "+++ f.txt\n" + HUNK, {"f.txt": CHANGED}),
    ("only git's line", {"f.txt": LINES}, "diff --git a/f.txt b/f.txt\n" + HUNK, {"f.txt": CHANGED}),
    (
        "git's line and a new file",
        {},
        "diff --git a/g.txt b/g.txt\nnew file mode 100644\n@@ -0,0 +1 @@\n+g\n",
        {"g.txt": "g\n"},
    ),
    (
        "git's line and an empty file",
        {},
        "diff --git a/g.txt b/g.txt\nnew file mode 100644\nindex 0000000..e69de29\n",
        {"g.txt": ""},
    ),
    (
        "git's line and an empty file that goes",
        {"g.txt": ""},
        "diff --git a/g.txt b/g.txt\ndeleted file mode 100644\n",
        {"g.txt": None},
    ),
    (
        "git's quotes",
        {'q"\\.txt': LINES},
        'diff --git "a/q\\"\\\\.txt" "b/q\\"\\\\.txt"\n--- "a/q\\"\\\\.txt"\n+++ "b/q\\"\\\\.txt"\n' + HUNK,
        {'q"\\.txt': CHANGED},
    ),
    (
        "a file that goes, with git's line of other prefixes",
        {"g.txt": "g\n"},
        "diff --git i/g.txt w/g.txt\ndeleted file mode 100644\n--- i/g.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n",
        {"g.txt": None},
    ),
    (
        "a file that goes, without prefix",
        {"g.txt": "g\n"},
        "--- g.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n",
        {"g.txt": None},
    ),
    ("a prefix for null", {}, "--- a/dev/null\n+++ b/g.txt\n@@ -0,0 +1 @@\n+g\n", {"g.txt": "g\n"}),
    (
        "new by its header, with its own name",
        {},
        "diff --git a/g.txt b/g.txt\nnew file mode 100644\n--- a/g.txt\n+++ b/g.txt\n@@ -0,0 +1 @@\n+g\n",
        {"g.txt": "g\n"},
    ),
    ("a/ for a new file", {}, "--- /dev/null\n+++ a/g.txt\n@@ -0,0 +1 @@\n+g\n", {"g.txt": "g\n"}),
    (
        "w/ for a new file",
        {},
        "diff --git i/g.txt w/g.txt\nnew file mode 100644\n--- /dev/null\n+++ w/g.txt\n@@ -0,0 +1 @@\n+g\n",
        {"g.txt": "g\n"},
    ),
    (
        "blank lines without + in a new file",
        {},
        "--- /dev/null\n+++ b/g.txt\n@@ -0,0 +1,3 @@\n+g\n\n+h\n",
        {"g.txt": "g\n\nh\n"},
    ),
    ("a new file sent with CRLF", {}, MAKE.replace("\n", "\r\n"), {"g.txt": "g\n"}),
    ("all of it sent with CRLF", {"f.txt": LINES}, CHANGE.replace("\n", "\r\n"), {"f.txt": CHANGED}),
    ("backslashes between folders", {"d/f.txt": LINES}, "--- d\\f.txt\n+++ d\\f.txt\n" + HUNK, {"d/f.txt": CHANGED}),
    ("the old prefix on the new side", {"f.txt": LINES}, "--- f.txt\n+++ b/f.txt\n" + HUNK, {"f.txt": CHANGED}),
    ("another project's folder", {"f.txt": LINES}, "--- a/proj/f.txt\n+++ b/proj/f.txt\n" + HUNK, {"f.txt": CHANGED}),
    ("two folders too many", {"f.txt": LINES}, "--- home/proj/f.txt\n+++ home/proj/f.txt\n" + HUNK, {"f.txt": CHANGED}),
    ("old and new for prefixes", {"f.txt": LINES}, "--- old/f.txt\n+++ new/f.txt\n" + HUNK, {"f.txt": CHANGED}),
    ("a mark and an escape", {"f.txt": LINES}, "\ufeff" + CHANGE, {"f.txt": CHANGED}),
    (
        "escapes with quotes within",
        {"f.txt": 'a "b"\n'},
        '--- a/f.txt\\n+++ b/f.txt\\n@@ -1 +1 @@\\n-a "b"\\n+c\\n',
        {"f.txt": "c\n"},
    ),
    (
        "one line too many is mistyped before",
        {"f.txt": LINES},
        OLD + NEW + "@@ -3,4 +3,4 @@\n threee\n four\n-five\n+5\n six\n",
        {"f.txt": CHANGED},
    ),
    (
        "blanks lost on all lines that stay",
        {"f.py": PY},
        "--- a/f.py\n+++ b/f.py\n@@ -1,4 +1,4 @@\ndef f():\n    if x:\n-        return 1\n"
        "+        return 3\n    return 2\n",
        {"f.py": PY.replace("1", "3")},
    ),
    (
        "prose right below a hunk whose counts are wrong",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,9 +4,9 @@\n four\n-five\n+5\n six\nThat is all.\n",
        {"f.txt": CHANGED},
    ),
    (
        "indented by less, all of it",
        {"f.py": PY},
        "--- a/f.py\n+++ b/f.py\n@@ -1,3 +1,3 @@\n if x:\n-    return 1\n+    return 3\n return 2\n",
        {"f.py": PY.replace("1", "3")},
    ),
    (
        "indented by more",
        {"f.txt": "a\n b\nc\n"},
        OLD + NEW + "@@ -1,3 +1,4 @@\n   a\n    b\n+    d\n   c\n",
        {"f.txt": "a\n b\n  d\nc\n"},
    ),
    (
        "blanks for tabs",
        {"f.txt": "a\n\tb\n\t\tc\n"},
        OLD + NEW + "@@ -1,3 +1,4 @@\n a\n     b\n+    d\n         c\n",
        {"f.txt": "a\n\tb\n\td\n\t\tc\n"},
    ),
    (
        "tabs for blanks",
        {"f.txt": "a\n  b\n    c\n"},
        OLD + NEW + "@@ -1,3 +1,4 @@\n a\n \tb\n+\td\n \t\tc\n",
        {"f.txt": "a\n  b\n  d\n    c\n"},
    ),
    (
        "half the indentation",
        {"f.txt": "a\n    b\n        c\n"},
        OLD + NEW + "@@ -1,3 +1,4 @@\n a\n   b\n+  d\n     c\n",
        {"f.txt": "a\n    b\n    d\n        c\n"},
    ),
    (
        "a line before the mark at the beginning",
        {"f.txt": "\ufeffa\nb\n"},
        OLD + NEW + "@@ -1,2 +1,3 @@\n+z\n a\n b\n",
        {"f.txt": "\ufeffz\na\nb\n"},
    ),
    (
        "the first line goes, the mark does not",
        {"f.txt": "\ufeffa\nb\n"},
        OLD + NEW + "@@ -1,2 +1,2 @@\n-a\n+z\n b\n",
        {"f.txt": "\ufeffz\nb\n"},
    ),
    (
        "a mark of the last newline where there is one",
        {"f.txt": LINES},
        CHANGE + "\\ No newline at end of file\n",
        {"f.txt": CHANGED},
    ),
    (
        "the last of three equal lines by its mark",
        {"f.txt": "a\na\na"},
        OLD + NEW + "@@ -9 +9 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
        {"f.txt": "a\na\nb"},
    ),
    (
        "a line behind the last, which has no newline",
        {"f.txt": "a\nb"},
        OLD + NEW + "@@ -1,2 +1,3 @@\n a\n b\n+c\n",
        {"f.txt": "a\nb\nc"},
    ),
    (
        "the last line goes, which has no newline",
        {"f.txt": "a\nb"},
        OLD + NEW + "@@ -1,2 +1 @@\n a\n-b\n",
        {"f.txt": "a\n"},
    ),
    (
        "two hunks share a line that stays",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n@@ -6,3 +6,3 @@\n six\n-seven\n+7\n eight\n",
        {"f.txt": CHANGED.replace("seven", "7")},
    ),
    (
        "a hunk that changes nothing beside one that does",
        {"f.txt": LINES},
        CHANGE + "@@ -8,2 +8,2 @@\n eight\n nine\n",
        {"f.txt": CHANGED},
    ),
    (
        "more than one fence",
        {"f.txt": LINES},
        f"```diff\n{CHANGE}```\nand\n```diff\n{MAKE}```\n",
        {"f.txt": CHANGED, "g.txt": "g\n"},
    ),
    ("a mail", {"f.txt": LINES}, f"From: a\n---\n f.txt | 2 +-\n\n{CHANGE}-- \n2.39.5\n\n", {"f.txt": CHANGED}),
    ("a quoted mail", {"f.txt": LINES}, "".join(f"> {line}\n" for line in CHANGE.splitlines()), {"f.txt": CHANGED}),
    ("a tab in the name", {"a\tb.txt": LINES}, '--- "a/a\\tb.txt"\n+++ "b/a\\tb.txt"\n' + HUNK, {"a\tb.txt": CHANGED}),
    (
        "lines of another format around",
        {"f.txt": LINES},
        f"*** Begin Patch\n{CHANGE}*** End Patch\n",
        {"f.txt": CHANGED},
    ),
    (
        "counts with the lines behind",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,5 +4,5 @@\n four\n-five\n+5\n",
        {"f.txt": CHANGED},
    ),
    (
        "tabs for blanks, and the line that goes has none",
        {"f.txt": "cg0\nfe3\n    cg9\n        hb4\n        ad3\n"},
        OLD + NEW + "@@ -1,5 +1,5 @@\n-cg0\n fe3\n \tcg9\n \t\thb4\n+\t\tdf5\n \t\tad3\n",
        {"f.txt": "fe3\n    cg9\n        hb4\n        df5\n        ad3\n"},
    ),
    (
        "what goes is indented, what stays is not",
        {"f.txt": PY},
        OLD + NEW + "@@ -1,3 +1,4 @@\n def f():\nif x:\n-        return 1\n+        x = 2\n+        return x\n",
        {"f.txt": PY.replace("return 1", "x = 2\n        return x")},
    ),
    (
        "an indented diff, then prose that is not",
        {"f.txt": LINES},
        "So:\n\n" + "".join(f"    {line}\n" for line in CHANGE.splitlines()) + "That is all.\n",
        {"f.txt": CHANGED},
    ),
    ("a second fence", {"f.txt": LINES}, f"```diff\n{CHANGE}```\nSo:\n```\nx\n```\n", {"f.txt": CHANGED}),
    ("a blank line behind a new file", {}, MAKE.replace("+1 ", "+1,9 ") + "\n", {"g.txt": "g\n"}),
    ("a mark at the beginning", {"f.txt": LINES}, CHANGE.replace("@@\n", "@@\n\\ No newline\n"), {"f.txt": CHANGED}),
    (
        "blanks lost, and a blank line behind",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,3 +4,3 @@\nfour\n-five\n+5\nsix\n\n\n",
        {"f.txt": CHANGED},
    ),
    ("a name twice in the tree, one of them whole", {"f.txt": LINES, "d/f.txt": "x\n"}, CHANGE, {"f.txt": CHANGED}),
]


@each("row", APPLIED, ids=lambda row: row[0])
def test_a_diff_is_read_as_it_was_meant(row: Row, tmp_path_factory: pytest.TempPathFactory) -> None:
    _, files, diff, after = row
    folder = tmp_path_factory.mktemp("read")
    root = repository(folder, files)
    sandbox = Unenclosed(root)
    apply(root, diff, state=folder / "state", sandbox=sandbox)
    put(folder / "wanted", {name: text for name, text in {**files, **after}.items() if text is not None})
    assert files_of(root) == files_of(folder / "wanted")
    assert [argv[0] for argv in sandbox.ran] == ["git"]


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "a sign that the encoding lacks",
        {"f.txt": b"caf\xe9\nx\n"},
        OLD + NEW + "@@ -1,2 +1,2 @@\n caf\xe9\n-x\n+\u20ac\n",
        "its encoding lacks '\\u20ac'",
    ),
    ("too many lines", {"f.txt": "\n" * 1_000_001}, CHANGE, "more than 1000000 lines"),
    ("cut off", {"f.txt": LINES}, OLD + NEW + "@@ -4,3 +4,5 @@\n four\n-five\n+5\n+5", "is cut off"),
    ("cut off behind a line", {"f.txt": LINES}, OLD + NEW + "@@ -4,3 +4,6 @@\n four\n-five\n+5\n", "is cut off"),
    (
        "one file of two stays",
        {"f.txt": LINES},
        MAKE + OLD + NEW + "@@ -4,2 +4,2 @@\n four\n five\n",
        "changes nothing in f.txt",
    ),
    ("a long name in backticks", {}, f"--- {'`' * 1900}\n+++ {'`' * 1900}x\n" + HUNK, "would become"),
    ("too large a file", {"f.txt": "x" * 10_000_001}, CHANGE, "are the most that are read"),
    ("an object of JSON with no diff", {}, '{"a": 1}', "no diff"),
    ("an object of JSON with two", {}, '{"a": "--- a", "b": "--- b"}', "no diff"),
    ("no JSON", {}, '{"a', "no diff"),
    ("no escapes", {}, "a\\n\\q", "no diff"),
    ("a dash and blanks before it", {}, "  --- a\n  b", "no diff"),
    ("only blank lines around", {"f.txt": "\n\na\n"}, OLD + NEW + "@@\n \n+b\n \n", "fits nowhere"),
    (
        "indented in no one way",
        {"f.py": PY},
        "--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,3 @@\n def f():\n   if x:\n+\t pass\n",
        "indented otherwise",
    ),
    (
        "a mistyped line and several places",
        {"f.txt": "a\nb\na\nb\n"},
        OLD + NEW + "@@ -1,3 +1,3 @@\n-a\n+c\n b\n xxxxxx\n",
        "fits at line 1 and at line 3",
    ),
    (
        "a wrong line that is no slip",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,4 +4,4 @@\n four\n-five\n+5\n six\n other\n",
        "expects 'other', the file has 'seven'",
    ),
    (
        "behind the end",
        {"f.txt": LINES},
        OLD + NEW + "@@ -9,4 +9,4 @@\n nine\n-ten\n+10\n eleven\n twelve\n",
        "the file has no such line",
    ),
    ("a very long line", {"f.txt": LINES}, OLD + NEW + f"@@ -4 +4 @@\n-{'x' * 200}\n+5\n", "xxx...'"),
    ("new and old", {"f.txt": LINES}, "diff --git a/f.txt b/f.txt\nnew file mode 100644\n" + CHANGE, "said to be new"),
    (
        "new and deleted",
        {},
        "diff --git a/f.txt b/f.txt\nnew file mode 100644\ndeleted file mode 100644\n",
        "new and to be deleted",
    ),
    ("a header twice", {}, "diff --git a/f.txt b/f.txt\nindex 1..2\nindex 1..2\n", "says `index` twice"),
    ("two names in git's line", {}, "diff --git a/f.txt b/g.txt\n" + HUNK, "names two files"),
    ("quotes that do not end", {}, 'diff --git "a/f.txt b/f.txt"\n' + HUNK, "names two files"),
    ("a very long name", {}, f"--- a/{'x' * 30_000}\n+++ b/f.txt\n" + HUNK, "too long"),
    ("a very long line of git's", {}, f"diff --git a/{'x' * 50_000}\n" + HUNK, "too long"),
    ("a name that is not UTF-8", {}, '--- "a/\\377"\n+++ "b/\\377"\n' + HUNK, "not UTF-8"),
    ("backslashes in a new name", {}, "--- /dev/null\n+++ b/d\\g.txt\n@@ -0,0 +1 @@\n+g\n", "holds a backslash"),
    (
        "signs that do not show in a new name",
        {},
        "--- /dev/null\n+++ b/g\u200b.txt\n@@ -0,0 +1 @@\n+g\n",
        "does not show",
    ),
    (
        "two files that may be meant",
        {"d/f.txt": LINES, "f.txt": LINES},
        "--- d/f.txt\n+++ d/f.txt\n" + HUNK,
        "may be d/f.txt or f.txt",
    ),
    ("a rename without a name", {}, "diff --git a/f.txt b/g.txt\nrename from f.txt\n", "with two names"),
    (
        "a rename of other files",
        {"f.txt": LINES},
        "diff --git a/x b/y\nrename from f.txt\nrename to g.txt\n",
        "other files than the rename",
    ),
    (
        "a rename that is new",
        {"f.txt": LINES},
        "diff --git a/f.txt b/g.txt\nnew file mode 100644\nrename from f.txt\nrename to g.txt\n",
        "renamed and to be new",
    ),
    (
        "a rename of nothing",
        {},
        "diff --git a/f.txt b/g.txt\nrename from f.txt\nrename to g.txt\n",
        "no file f.txt to rename",
    ),
    (
        "a file in a file",
        {},
        "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/x/y\n@@ -0,0 +1 @@\n+y\n",
        "takes for a file",
    ),
    ("two hunks for a new file", {}, MAKE + "@@ -0,0 +1 @@\n+h\n", "all its lines into one hunk"),
    ("a hunk without lines for a new file", {}, "--- /dev/null\n+++ b/g.txt\n@@ -0,0 +0,0 @@\n", "has no line"),
    ("a hunk without lines", {"f.txt": LINES}, OLD + NEW + "@@ -1 +1 @@\n", "has no lines"),
    ("NUL in a new file", {}, MAKE.replace("+g", "+\0"), "would hold NUL"),
    ("NUL in a line", {"f.txt": LINES}, CHANGE.replace("+5", "+\0"), "adds no NUL"),
    ("half a character", {"f.txt": LINES}, CHANGE.replace("+5", "+\ud800"), "half of a character"),
    ("too large", {"f.txt": LINES}, CHANGE + "x" * 2_000_000, "bytes are the most"),
    ("too large in bytes", {"f.txt": LINES}, CHANGE + "é" * 1_500_000, "bytes are the most"),
    ("too many files", {}, "".join(f"--- /dev/null\n+++ b/{n}\n@@ -0,0 +1 @@\n+x\n" for n in range(201)), "201 files"),
    ("too many hunks", {"f.txt": LINES}, OLD + NEW + "@@ -1 +1 @@\n-a\n+b\n" * 10_001, "more than 10000 hunks"),
    (
        "too many hunks elsewhere",
        {"f.txt": "".join(f"{n}\n" for n in range(2000))},
        OLD + NEW + "".join(f"@@ -1 +1 @@\n-{n}\n+x{n}\n" for n in range(1, 1500)),
        "wrong line numbers",
    ),
    ("no name at all", {}, HUNK, "before any file name"),
    ("a fence within", {"f.txt": LINES}, f"```diff\n{CHANGE}```\n-eight\n+8\n```\n", "a bare fence stands within"),
    ("uneven", {"f.txt": LINES}, OLD + NEW + " " + HUNK.replace("\n", "\n  ") + "\n", "does not fit"),
    (
        "lines between the names and the hunk",
        {"f.txt": LINES},
        OLD + NEW + "?\n  @@ -1 +1 @@\n  -one\n" + HUNK,
        "outside of all hunks",
    ),
    (
        "an edit that no reading has",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n\nNow:\n-eight\n",
        "does not fit",
    ),
    (
        "two lines at one place",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,2 +4,3 @@\n four\n+a\n five\n@@ -4,2 +4,3 @@\n four\n+b\n five\n",
        "two hunks change",
    ),
    (
        "a line that stays and goes",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,3 +4,3 @@\n four\n-five\n+5\n six\n@@ -6,2 +6,1 @@\n-six\n seven\n",
        "two hunks change",
    ),
    (
        "a line that is removed and added",
        {"f.txt": LINES},
        OLD + NEW + "@@ -4,3 +4,3 @@\n four\n-five\n+five\n six\n",
        "changes nothing",
    ),
]


@each("row", REFUSED, ids=lambda row: row[0])
def test_a_diff_that_is_refused_says_why(
    row: tuple[str, dict[str, Any], str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, files, diff, told = row
    folder = tmp_path_factory.mktemp("refused")
    root = repository(folder, files)
    before = everything(root)
    with pytest.raises(PatchError) as raised:
        apply(root, diff, state=folder / "state")
    assert told in raised.value.message
    assert everything(root) == before


@each(
    "says",
    [
        (1, b"", "it ended with 1"),
        (1, b"error: no\nmore\n", "git refuses the patch: error: no"),
        (None, b"", "did not say within 30 s"),
    ],
)
def test_what_git_refuses_is_not_applied(
    says: tuple[int | None, bytes, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("git")
    root = repository(folder)
    with pytest.raises(PatchError) as raised:
        apply(root, CHANGE, state=folder / "state", sandbox=Unenclosed(root, code=says[0], stderr=says[1]))
    assert says[2] in raised.value.message
    assert (root / "f.txt").read_text() == LINES


def test_without_git_nothing_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path)
    monkeypatch.setattr("micro_agent.coding.patches.opinion._PATH", str(tmp_path))
    with pytest.raises(PatchError, match="there is no git"):
        apply(root, CHANGE, state=tmp_path / "state")
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\n/bin/sleep 5\n")
    git.chmod(0o755)
    monkeypatch.setattr("micro_agent.coding.patches.opinion._TIMEOUT_S", 0.05)
    with pytest.raises(PatchError, match="did not say within 0"):
        apply(root, CHANGE, state=tmp_path / "state")


def test_a_name_is_not_looked_for_in_a_very_large_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = repository(tmp_path, {"d/e/f.txt": LINES})
    monkeypatch.setattr("micro_agent.coding.patches.names._MOST_LOOKED_AT", 1)
    with pytest.raises(PatchError, match=r"there is no file f\.txt"):
        apply(root, CHANGE, state=tmp_path / "state")
    monkeypatch.undo()
    assert apply(root, CHANGE, state=tmp_path / "state").files == ("d/e/f.txt",)

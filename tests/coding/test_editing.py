"""What is written is what was meant; an edit that is refused leaves every byte as it was."""

import codecs
import os
import re
import resource
import shutil
import stat
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from micro_agent.coding.contents import read_contents, replace
from micro_agent.coding.editing import tools
from micro_agent.coding.files import tools as reading_tools
from micro_agent.coding.finding import Several, find_edit
from micro_agent.coding.paths import resolve
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool
from tests.coding.repository import fails, make, run_git, workplace
from tests.each import each


def edit_tool(place: Workplace) -> Tool:
    (tool,) = tools(place)
    return tool


def edited(root: Path, data: str | bytes, target: str, replacement: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a file after an edit, and the result; the preview's diff makes the same of it with ``git apply``."""
    make(root, {"a.txt": data}, commit=False)
    tool = edit_tool(workplace(root))
    shown = tool.preview and tool.preview({"path": "a.txt", "target": target, "replacement": replacement})
    assert shown
    result = tool.handler(path="a.txt", target=target, replacement=replacement)
    after = (root / "a.txt").read_bytes()
    assert shown.get("repaired") == result.get("repaired")
    assert not [name for name in os.listdir(root) if name.endswith(".tmp")]
    if not after.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE)) and after.isascii():
        make(root / "other", {"a.txt": data}, commit=False)
        (root / "other" / "a.diff").write_bytes(shown["text"].encode())
        run_git(root / "other", "apply", "--unidiff-zero", "--whitespace=nowarn", "a.diff")
        assert (root / "other" / "a.txt").read_bytes() == after if (root / "other" / "a.txt").exists() else not after
        shutil.rmtree(root / "other")
    return after, result


def test_one_place_is_replaced(tmp_path: Path) -> None:
    place = workplace(make(tmp_path / "root", {"src/a.py": "def f():\n    return 1\n\nX = 1\n"}))
    (place.root / "src" / "a.py").chmod(0o755)
    tool = edit_tool(place)
    assert tool.requires_confirmation is True
    args = {"path": "src/a.py", "target": "    return 1\n", "replacement": "    x = 1\n    return x\n"}
    assert tool.preview
    shown = tool.preview(args)
    text = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1,4 +1,5 @@\n"
    text += " def f():\n-    return 1\n+    x = 1\n+    return x\n \n X = 1\n"
    digest = sha256(text.encode()).hexdigest()[:10]
    assert shown == {"kind": "patch", "id": f"patch_{digest}", "text": text, "files": ["src/a.py"]}
    assert (place.root / "src" / "a.py").read_text() == "def f():\n    return 1\n\nX = 1\n"
    assert tool.handler(**args) == {"ok": True, "path": "src/a.py", "start_line": 2, "end_line": 3}
    assert (place.root / "src" / "a.py").read_text() == "def f():\n    x = 1\n    return x\n\nX = 1\n"
    assert stat.S_IMODE((place.root / "src" / "a.py").stat().st_mode) == 0o755
    assert tool.handler(path="src/a.py", target="X = 1", replacement="X = 2")["start_line"] == 5


CASES = [  # before, target, replacement, after, repaired
    ("a\nb\nc\n", "b", "B", "a\nB\nc\n", None),
    ("a\nb\nc\n", "b\n", "", "a\nc\n", None),
    ("a\nb", "b", "c\nd", "a\nc\nd", None),
    ("a\nb", "b", "", "a\n", None),
    ("a", "a", "", "", None),
    ("a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n", None),
    ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\nb\n", "a\r\nx\r\nb\r\nc\r\n", ["line endings"]),
    ("a\r\nb\nc\r\n", "a\nb", "a\nx", "a\r\nx\nc\r\n", ["line endings"]),
    ("a\nb\r\nc\n", "b", "x\ny", "a\nx\r\ny\r\nc\n", None),
    ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny", None),
    ("a\r\nb\nab\r\n", "a\r\nb\nab", "a\r\nc\nab", "a\r\nc\nab\r\n", ["line endings"]),
    ("a\nb\r\na\r\nb\r\n", "\na\r\n", "\nc\r\n", "a\nb\r\nc\r\nb\r\n", ["line endings"]),
    ("if x:\n\ty = 1\n", "    y = 1", "    y = 2", "if x:\n\ty = 2\n", ["indentation"]),
    ("if x:\n\ty = 1\n", "  y = 1\n", "  if y:\n    z()\n", "if x:\n\tif y:\n\t\tz()\n", ["indentation"]),
    ("class A:\n    def f(self):\n        return 1\n", "def f(self):\n    return 1",
     "def f(self):\n    if self:\n        return 2\n    return 1",
     "class A:\n    def f(self):\n        if self:\n            return 2\n        return 1\n", ["indentation"]),
    ("def f():\n    return 1\n", "    def f():\n        return 1\n",
     "    def f():\n        return 2\n", "def f():\n    return 2\n", ["indentation"]),
    ("class A:\n\tdef f():\n\t\tx()\n", "def f():\n    x()",
     "def f():\n    if 1:\n        x()", "class A:\n\tdef f():\n\t\tif 1:\n\t\t\tx()\n", ["indentation"]),
    ("class A:\n\tx()\n", "x()  ", "if 1:\n  x()", "class A:\n\tif 1:\n\t\tx()\n", ["indentation", "trailing blanks"]),
    ("def f():\n  x()\n", "\tx()", "\tif 1:\n\t\tx()\n\ty()", "def f():\n  if 1:\n    x()\n  y()\n", ["indentation"]),
    ("def f():\n    x()\n", "  x()\n", "  if y:\n\n    x()\n", "def f():\n    if y:\n\n      x()\n", ["indentation"]),
    ("def f():\n\t\tx()\n\t\ty()\n", "        x()\n        y()\n",
     "    x()\n        y()\n", "def f():\n\tx()\n\t\ty()\n", ["indentation"]),
    ("a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n", ["trailing blanks"]),
    ("a \nb\n", "a\nb", "a\nb\nc", "a \nb\nc\n", ["trailing blanks"]),
    ("x\n  \na\n", "x\n\na\n", "x\n\nb\n", "x\n  \nb\n", ["trailing blanks"]),
    ("a\nb", "b\n", "c\nd\n", "a\nc\nd", ["line endings"]),
    ("a \nb", "a\nb\n", "a\nb\nc\n", "a \nb\nc", ["trailing blanks"]),
    ("a\nb ", "b\n", "", "a\n", ["trailing blanks"]),
    ("a\nb ", "a\nb", "a", "a ", None),
    ("a \nb\nc\n", "a\nb\n", "", "c\n", ["trailing blanks"]),
    ("a \nb\n", "a\n", "\n", "\nb\n", ["trailing blanks"]),
    ("a\nb", "\n\nb\n", "\n\nc\n", "a\nb", "NOT_FOUND_IN_FILE"),
    ("a\nb\n", "", "x", "", "VALIDATION_FAILED"),
    ("a\nb\n", "\n", "x", "", "VALIDATION_FAILED"),
    ("a\nb\n", "a", "a", "", "VALIDATION_FAILED"),
    ("a\nb\n", "a" * 100_001, "a", "", "VALIDATION_FAILED"),
    ("a\r\nb\n", "a\nb", "a\r\nb", "", "VALIDATION_FAILED"),
    ("a\nb\n", "a", "\0", "", "VALIDATION_FAILED"),
    ("a\nb\n", "a", "c\r", "", "VALIDATION_FAILED"),
    ("a\nb\n", "a", "\ud800", "", "VALIDATION_FAILED"),
    ("a\nb\na\n", "a", "c", "", "TARGET_AMBIGUOUS"),
    ("aaa\n", "aa", "c", "", "TARGET_AMBIGUOUS"),
    ("a\r\nb\r\na\r\nb\r\n", "a\nb", "c", "", "TARGET_AMBIGUOUS"),
    (" a\n  a\n", "\ta\n", "c", "", "TARGET_AMBIGUOUS"),
    ("a\nb\n", "  \n \n", "c", "", "NOT_FOUND_IN_FILE"),
    ("  x()\n    y()\n", " x()\n y()\n", " x()\n z()\n", "", "NOT_FOUND_IN_FILE"),
    ("\tx()\n", "   x()\n", "   if 1:\n     x()\n", "", "NOT_FOUND_IN_FILE"),
    ("\t\tx()\n", "   x()\n", "   y()\n   z()\n  a()\n", "", "NOT_FOUND_IN_FILE"),
    ("x()\n", "    x()\n", "  y()\n", "", "NOT_FOUND_IN_FILE"),
    ("    x(\n)\n x(\n)", "  x(\n", "  x(\n   1\n", "    x(\n   1\n)\n x(\n)", None),
    ("    x()\n", "  x(", "  y(\n  ", "    y(\n  )\n", None),
    ("  x()\n", " \t x()\n", " \t x()\n \t \ty()\n", "", "NOT_FOUND_IN_FILE"),
    ("\tx()\n", "x() \n", "if y:\n x()\n", "", "NOT_FOUND_IN_FILE"),
    ("", "a", "b", "", "NOT_FOUND_IN_FILE"),
]  # fmt: skip


@each(("before", "target", "replacement", "after", "repaired"), CASES)
def test_edits(
    before: str, target: str, replacement: str, after: str, repaired: str | list[str] | None, tmp_path: Path
) -> None:
    if isinstance(repaired, str):
        root = make(tmp_path / "root", {"a.txt": before}, commit=False)
        fails(edit_tool(workplace(root)), repaired, path="a.txt", target=target, replacement=replacement)
        assert (root / "a.txt").read_bytes() == before.encode()
        return
    found, result = edited(tmp_path / "root", before, target, replacement)
    assert (found.decode(), result.get("repaired")) == (after, repaired)


@each(
    ("data", "after"),
    [
        (codecs.BOM_UTF8 + "ä\nb\n".encode(), codecs.BOM_UTF8 + "ä\nö\n".encode()),
        ("ä\nb\n".encode("latin-1"), "ä\nö\n".encode("latin-1")),
        (codecs.BOM_UTF16_LE + "ä\nb\n".encode("utf-16-le"), codecs.BOM_UTF16_LE + "ä\nö\n".encode("utf-16-le")),
    ],
)
def test_encodings_are_kept(data: bytes, after: bytes, tmp_path: Path) -> None:
    assert edited(tmp_path / "root", data, "b", "ö")[0] == after


def test_a_character_that_an_encoding_has_not(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": "ä\n".encode("latin-1"), "b.bin": b"a\0"}, commit=False)
    tool = edit_tool(workplace(root))
    told = fails(tool, "VALIDATION_FAILED", path="a.txt", target="ä", replacement="→")["message"]
    assert r"'\u2192', which a file in latin-1 cannot have" in told
    fails(tool, "NOT_TEXT", path="b.bin", target="a", replacement="b")


def test_where_a_target_stands_that_is_not_there_or_too_often(tmp_path: Path) -> None:
    text = (
        "import os\n\n\ndef resolve(path: str) -> str:\n    name = os.fspath(path)\n    return name\n\nX = 1\nX = 1\n"
    )
    place = workplace(make(tmp_path / "root", {"a.py": text}))
    tool = edit_tool(place)
    target = "def resolve(path):\n    name = os.fspath(path)\n    return name.strip()"
    found = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", target=target, replacement="")
    assert found["closest"] == {
        "start_line": 4, "end_line": 6,
        "lines": ["4: def resolve(path: str) -> str:", "5:     name = os.fspath(path)", "6:     return name"],
    }  # fmt: skip
    hint = found["recovery_suggestion"]["tool_call"]
    assert hint == {"name": "read_file", "arguments": {"path": "a.py", "start_line": 1, "end_line": 9}}
    (read_file,) = [tool for tool in reading_tools(place) if tool.name == "read_file"]
    assert read_file.handler(**hint["arguments"])["total_lines"] == 9
    found = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", target="\ndef resolved(paths: str):", replacement="")
    assert found["closest"]["start_line"] == 4
    found = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", target="%%%%", replacement="")
    assert "nor anything like it" in found["message"]
    found = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", target="zebra import quilt xylophone", replacement="")
    assert "closest" not in found
    found = fails(tool, "TARGET_AMBIGUOUS", path="a.py", target="X = 1", replacement="X = 2")
    assert (found["lines"], "in lines 8, 9:" in found["message"]) == ([8, 9], True)
    (place.root / "b.py").write_text("X\n" * 200)
    found = fails(tool, "TARGET_AMBIGUOUS", path="b.py", target="X", replacement="Y")
    assert (len(found["lines"]), "stands 200 times" in found["message"]) == (100, True)
    (place.root / "c.py").write_text("X" * 200_000)
    found = fails(tool, "TARGET_AMBIGUOUS", path="c.py", target="X" * 100_000, replacement="Y")
    assert "stands at least 1000 times" in found["message"]


def test_a_large_file_is_searched_for_what_is_closest(tmp_path: Path) -> None:
    text = "".join(f"value_{number} = compute({number})\n" for number in range(20_000))
    root = make(tmp_path / "root", {"a.py": text}, commit=False)
    found = fails(
        edit_tool(workplace(root)),
        "NOT_FOUND_IN_FILE",
        path="a.py",
        target="value_15000 = computed(15000)",
        replacement="",
    )
    assert found["closest"]["start_line"] == 15_001


def test_a_file_that_changed_is_stale(tmp_path: Path) -> None:
    place = workplace(make(tmp_path / "root", {"a.py": "X = 1\n", "b.py": "X = 1\n"}))
    (read_file,) = [tool for tool in reading_tools(place) if tool.name == "read_file"]
    tool = edit_tool(place)
    args = {"target": "X = 1", "replacement": "X = 2"}
    read_file.handler(path="a.py")
    assert tool.preview
    tool.preview({"path": "b.py", **args})
    for name in ("a.py", "b.py"):
        (place.root / name).write_text("# by another\nX = 1\n")
        hint = fails(tool, "STALE_FILE", path=name, **args)["recovery_suggestion"]["tool_call"]
        assert hint == {"name": "read_file", "arguments": {"path": name}}
        with pytest.raises(ToolError, match="STALE_FILE"):
            tool.preview({"path": name, **args})
        read_file.handler(**hint["arguments"])
        tool.handler(path=name, **args)
        assert (place.root / name).read_text() == "# by another\nX = 2\n"


def test_paths_that_are_not_edited(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.py": "X = 1\n", ".env": "X = 1\n"})
    (root / "link.py").symlink_to("a.py")
    tool = edit_tool(workplace(root))
    args = {"target": "X = 1", "replacement": "X = 2"}
    for path, code in (
        ("link.py", "PATH_FORBIDDEN"), (".env", "PATH_FORBIDDEN"), (".git/config", "PATH_FORBIDDEN"),
        ("../a", "PATH_FORBIDDEN"),
        ("b.py", "FILE_NOT_FOUND"), ("new/b.py", "FILE_NOT_FOUND"),
    ):  # fmt: skip
        fails(tool, code, path=path, **args)
    assert sorted(os.listdir(root)) == [".env", ".git", "a.py", "link.py"]


def test_a_file_that_grows_too_large_is_not_read(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": ""}, commit=False)
    os.truncate(root / "a.txt", 10_000_001)
    fails(edit_tool(workplace(root)), "FILE_TOO_LARGE", path="a.txt", target="a", replacement="b")
    with (root / "a.txt").open("rb") as file:
        file.seek(5)
        with pytest.raises(ToolError, match="more than 10000000 bytes"):
            read_contents(file.fileno(), "a.txt")


def test_without_room_the_file_is_as_it_was(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": "a" * 5000 + "\nb\n"}, commit=False)
    tool = edit_tool(workplace(root))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # a write behind it fails, after a part of it was made
    try:
        with pytest.raises(OSError, match="large"):
            tool.handler(path="a.txt", target="b", replacement="c")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(root) == ["a.txt"]
    assert (root / "a.txt").read_text() == "a" * 5000 + "\nb\n"
    assert tool.handler(path="a.txt", target="b", replacement="c")["ok"]


def test_the_owner_is_kept(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": "a\n"}, commit=False)
    if os.geteuid() == 0:
        os.chown(root / "a.txt", 12345, 12345)
    before = (root / "a.txt").stat()
    edit_tool(workplace(root)).handler(path="a.txt", target="a", replacement="b")
    after = (root / "a.txt").stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)


ANY_TEXTS = st.text("ab \t\n\r\0", max_size=14)
TEXTS = st.lists(st.sampled_from(["a", "b", " ", "\t", "\n", "\r\n"]), max_size=14).map("".join)


@given(TEXTS, TEXTS, TEXTS)
def test_what_is_written_is_what_is_meant(text: str, target: str, replacement: str) -> None:
    """The one place is replaced, but for the ends of lines; what is around it is as it was."""
    assume(target.strip("\r\n"))
    plain, sought, new = (part.replace("\r\n", "\n") for part in (text, target, replacement))
    lines = None
    try:
        edit = find_edit(text, target, replacement)
    except Several as several:
        edit, lines = None, several.lines
    assert lines is None or (len(lines) > 1 and lines == sorted(lines))
    if edit is None:
        assert lines or not sought or sought not in plain
        return
    after = text[: edit.start] + edit.new + text[edit.end :]
    if plain.count(sought) == 1 and "indentation" not in edit.repaired:
        assert after.replace("\r\n", "\n") == plain.replace(sought, new)
    elif sought not in plain:  # but for blanks, words are replaced by words
        words = "".join(plain.split()).replace("".join(sought.split()), "".join(replacement.split()), 1)
        assert len("".join(after.split())) == len(words)
        assert edit.repaired
    assert not set(re.findall("\r?\n", after)) - set(re.findall("\r?\n", text)) or "\n" not in text


@given(st.binary(max_size=12) | ANY_TEXTS.map(str.encode), ANY_TEXTS, ANY_TEXTS)
def test_an_edit_that_is_refused_leaves_the_bytes(data: bytes, target: str, replacement: str) -> None:
    with TemporaryDirectory() as folder:
        root = make(Path(folder) / "root", {"a": data}, commit=False)
        try:
            edit_tool(workplace(root)).handler(path="a", target=target, replacement=replacement)
        except ToolError:
            assert (root / "a").read_bytes() == data
        assert os.listdir(root) == ["a"]


def test_a_file_that_changes_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": "a\n", "b.txt": "a\n"}, commit=False)
    with resolve(root, "a.txt", "write") as changed, resolve(root, "b.txt", "write") as gone:
        (root / "a.txt").write_text("abc\n")
        (root / "b.txt").unlink()
        for place in (changed, gone):
            with pytest.raises(ToolError, match="STALE_FILE"):
                replace(place, b"new")
    assert (os.listdir(root), (root / "a.txt").read_text()) == (["a.txt"], "abc\n")

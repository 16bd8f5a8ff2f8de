"""What a model is shown of a repository and of its files."""

import codecs
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.coding.files import tools
from micro_agent.coding.listing import matcher
from micro_agent.coding.sandbox import SandboxUnavailable
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.tool import Tool
from tests.coding.plain_sandbox import PlainSandbox
from tests.coding.repository import fails, make, run_git, workplace
from tests.each import each

FILES: dict[str, str | bytes] = {
    "README.md": "# It\n", "src/a.py": "X = 1\n", "src/deep/b.py": "", "src/c.ts": "", "docs/[x].md": "",
    ".env": "A=1\n",
    ".gitignore": "*.log\n", "keys/id_rsa": "", ".github/ci.yml": "",
}  # fmt: skip
SHOWN = sorted(FILES.keys() - {".env", "keys/id_rsa"})


def tools_of(place: Workplace) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools(place)}


def call(root: Path, name: str, **args: Any) -> dict[str, Any]:
    return tools_of(workplace(root))[name].handler(**args)


def read(root: Path, data: str | bytes, **args: Any) -> dict[str, Any]:
    make(root, {"a.txt": data}, commit=False)
    return call(root, "read_file", path="a.txt", **args)


def test_files_that_git_tracks_or_would_add(tmp_path: Path) -> None:
    root = make(tmp_path / "root", FILES)
    (root / "new file.txt").write_text("")
    (root / "a.log").write_text("")
    (root / "src" / "c.ts").unlink()
    (root / "link").symlink_to("README.md")
    make(root / "inner", {"x.py": ""})
    expected = sorted({*SHOWN, "new file.txt", "link"} - {"src/c.ts"})
    assert call(root, "list_files") == {"files": expected, "total": len(expected), "truncated": False}
    assert call(root, "list_files", limit=2) == {"files": expected[:2], "total": len(expected), "truncated": True}
    assert call(root, "list_files", limit=0)["files"] == expected[:1]


@each("broken", [False, True])
def test_files_of_a_folder_without_git(broken: bool, tmp_path: Path) -> None:
    root = make(tmp_path / str(broken), FILES, commit=False)
    if broken:
        (root / ".git").mkdir()
    (root / "pipe").unlink(missing_ok=True)
    os.mkfifo(root / "pipe")
    assert call(root, "list_files")["files"] == SHOWN
    found = call(root, "repo_info")
    assert (found["branch"], found["head"], found["dirty"], found["files"]) == (None, None, None, len(SHOWN))


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {f"{number:03}": "" for number in range(150)}, commit=False)
    found = call(root, "list_files")
    assert (len(found["files"]), found["total"], found["truncated"]) == (100, 150, True)


@each(
    ("glob", "path", "expected"),
    [
        ("**/*", "a.py", True), ("**/*", "x/y/a.py", True), ("*", "x/a.py", True), ("", "x/a.py", True),
        ("*.py", "a.py", True), ("*.py", "x/y/a.py", True), ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True), ("src/*.py", "src/x/a.py", False), ("src/*.py", "x/src/a.py", False),
        ("./src/*.py", "src/a.py", True), ("/src/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a.py", True), ("src/**/*.py", "src/x/y/a.py", True), ("src/**", "src/x/a", True),
        ("src", "src/x/a.py", True), ("src/", "x/src/a.py", True), ("src/x", "src/x/a.py", True),
        ("src", "srcs/a", False),
        ("a/**/b/**/c", "a/b/x/b/c", True), ("a/**/b/**/c", "a/b/x/c/d", True), ("a/**/b/**/*c", "a/b/x/d", False),
        ("**/x*.py", "x1.py", True), ("a?.py", "ab.py", True), ("[ab].py", "b.py", True), ("[!a].py", "a.py", False),
        ("*.{py,ts}", "x/a.ts", True), ("{src,lib}/{a,b}.py", "lib/b.py", True), ("{a", "{a", True), ("a}", "a}", True),
        ("{a,b}{c,d}", "bd", True), ("{" * 99 + "a,b" + "}" * 99, "a", True), ("{a,b}" * 20, "a", False),
        ("A.py", "a.py", False), ("*" * 400 + "b", "a" * 200, False),
    ],
)  # fmt: skip
def test_patterns(glob: str, path: str, expected: bool) -> None:
    assert matcher(glob)(path) is expected


@given(st.text("a*/{},[]!.", max_size=12), st.text("ab/.", min_size=1, max_size=9))
def test_any_text_is_a_pattern(glob: str, path: str) -> None:
    assert matcher(glob)(path) in (True, False)


def test_a_repository_is_described(tmp_path: Path) -> None:
    root = make(tmp_path / "root", FILES)
    found = call(root, "repo_info")
    assert run_git(root, "rev-parse", "HEAD").startswith(found.pop("head"))
    assert found == {
        "root": str(root), "name": "root", "branch": "main", "dirty": False, "files": len(SHOWN),
        "languages": {"Markdown": 2, "Python": 2, "YAML": 1, "TypeScript": 1},
    }  # fmt: skip
    (root / "new").write_text("")
    run_git(root, "checkout", "-q", "--detach")
    found = call(root, "repo_info")
    assert (found["branch"], found["dirty"]) == (None, True)


def test_lines_are_numbered(tmp_path: Path) -> None:
    place = workplace(make(tmp_path / "root", {"src/a.py": "one\n\n\tthree\r\nfour"}, commit=False))
    found = tools_of(place)["read_file"].handler(path="./src//a.py")
    assert found == {
        "path": "src/a.py", "start_line": 1, "end_line": 4, "total_lines": 4, "truncated": False,
        "lines": ["1: one", "2: ", "3: \tthree", "4: four"],
    }  # fmt: skip
    assert place.read == {"src/a.py": sha256(b"one\n\n\tthree\r\nfour").hexdigest()}
    part = tools_of(place)["read_file"].handler(path="src/a.py", start_line=2, end_line=3)
    assert (part["lines"], part["truncated"]) == (["2: ", "3: \tthree"], False)
    assert part["next"] == {"start_line": 4, "end_line": 4}


def test_a_long_file_is_read_in_parts(tmp_path: Path) -> None:
    text = "".join(f"{number}\n" for number in range(1, 401))
    found = read(tmp_path / "root", text)
    assert (found["end_line"], len(found["lines"]), found["truncated"]) == (150, 150, True)
    assert found["next"] == {"start_line": 151, "end_line": 300}
    seen: list[str] = []
    after: dict[str, Any] | None = {"start_line": 1}
    while after:
        found = call(tmp_path / "root", "read_file", path="a.txt", **after)
        seen += found["lines"]
        after = found.get("next")
    assert seen == [f"{number}: {number}" for number in range(1, 401)]


def test_a_start_behind_the_usual_end(tmp_path: Path) -> None:
    found = read(tmp_path / "root", "a\n" * 400, start_line=260)
    assert (found["start_line"], found["end_line"], found["truncated"]) == (260, 400, False)


def test_long_lines_are_cut(tmp_path: Path) -> None:
    found = read(tmp_path / "root", "a" * 9000 + "\nb\n")
    assert (found["end_line"], len(found["lines"][0]), found["truncated"]) == (2, 503, True)
    found = read(tmp_path / "root", ("a" * 400 + "\n") * 20)
    assert (found["end_line"], found["truncated"]) == (7, True)


@each(
    ("start", "end", "first", "last"),
    [
        (0, 5, 1, 150),
        (-3, 5, 1, 150),
        (5, 4, 5, 154),
        (1, 1001, 1, 150),
        (301, 200, 151, 300),
        (900, 10, 151, 300),
        (180, 170, 180, 300),
    ],
)
def test_a_range_that_is_none(start: int, end: int, first: int, last: int, tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.txt": "a\n" * 300}, commit=False)
    tool = tools_of(workplace(root))["read_file"]
    hint = fails(tool, "INVALID_LINE_RANGE", path="a.txt", start_line=start, end_line=end)["recovery_suggestion"]
    assert hint["tool_call"]["arguments"] == {"path": "a.txt", "start_line": first, "end_line": last}
    assert tool.handler(**hint["tool_call"]["arguments"])["start_line"] == first


def test_an_empty_file(tmp_path: Path) -> None:
    found = read(tmp_path / "root", "")
    assert (found["start_line"], found["end_line"], found["total_lines"], found["lines"]) == (1, 0, 0, [])
    fails(tools_of(workplace(tmp_path / "root"))["read_file"], "INVALID_LINE_RANGE", path="a.txt", start_line=2)


@each(
    ("data", "encoding"),
    [
        ("ä\n".encode(), None),
        (codecs.BOM_UTF8 + "ä\n".encode(), None),
        ("ä\n".encode("latin-1"), "latin-1"),
        (codecs.BOM_UTF16_LE + "ä\n".encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + "ä\n".encode("utf-16-be"), "utf-16-be"),
    ],
)
def test_encodings(data: bytes, encoding: str | None, tmp_path: Path) -> None:
    found = read(tmp_path / "root", data)
    assert (found["lines"], found.get("encoding")) == (["1: ä"], encoding)


@each(
    "data",
    [b"a\0b", b"\x7fELF\x02", b"\xff\xfe\x00\x00a\x00\x00\x00",
     codecs.BOM_UTF16_LE + b"\x00\xd8", codecs.BOM_UTF8 + b"\xff",
     b"\xff\x01\x02"],
)  # fmt: skip
def test_what_is_not_text_is_said_to_be_none(data: bytes, tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.bin": data}, commit=False)
    tool = tools_of(workplace(root))["read_file"]
    if data == b"\x7fELF\x02":  # control characters alone do not make UTF-8 something else
        assert tool.handler(path="a.bin")["total_lines"] == 1
        return
    assert f"has {len(data)} bytes" in fails(tool, "NOT_TEXT", path="a.bin")["message"]


def test_files_that_are_not_read(tmp_path: Path) -> None:
    root = make(tmp_path / "root", FILES)
    (root / "large").write_bytes(b"")
    os.truncate(root / "large", 10_000_001)
    for name, more in (("read_file", {}), ("read_file_snippet", {"query": "x"})):
        tool = tools_of(workplace(root))[name]
        assert "credentials" in fails(tool, "PATH_FORBIDDEN", path=".env", **more)["message"]
        fails(tool, "PATH_FORBIDDEN", path="../state", **more)
        assert "10000001 bytes" in fails(tool, "FILE_TOO_LARGE", path="large", **more)["message"]
        hint = fails(tool, "FILE_NOT_FOUND", path="lib/a[1].py", **more)["recovery_suggestion"]["tool_call"]
        assert hint == {"name": "list_files", "arguments": {"glob": "**/a?1].py*"}}


def snippet(root: Path, text: str, query: str, **args: Any) -> dict[str, Any]:
    make(root, {"a.txt": text}, commit=False)
    return call(root, "read_file_snippet", path="a.txt", query=query, **args)


def test_snippets(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1, 61))
    found = snippet(tmp_path / "root", text, "line 5", context=1)
    assert found == {
        "path": "a.txt", "start_line": 4, "end_line": 60, "total_lines": 60, "truncated": False,
        "matches": [5, *range(50, 60)],
        "lines": ["4: line 4", "5: line 5", "6: line 6", "…", *(f"{at}: line {at}" for at in range(49, 61))],
    }  # fmt: skip
    assert snippet(tmp_path / "root", text, "LINE 7\nLine 8", context=0)["lines"] == ["7: line 7", "8: line 8"]
    assert snippet(tmp_path / "root", text, "7\r\nline 8", context=-1)["matches"] == [7]
    assert snippet(tmp_path / "root", text, "line 60\n", context=0)["matches"] == [60]
    assert len(snippet(tmp_path / "root", text, "line 30")["lines"]) == 41


def test_long_snippets_are_cut(tmp_path: Path) -> None:
    found = snippet(tmp_path / "root", "word\n" * 500, "word")
    assert (found["end_line"], found["truncated"], len(found["matches"])) == (150, True, 100)
    assert found["next"] == {"start_line": 151, "end_line": 300}


def test_a_text_that_does_not_stand_there(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.py": "import os\n\ndef resolve(path):\n    return 1\n"}, commit=False)
    tool = tools_of(workplace(root))["read_file_snippet"]
    hint = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", query="def resolved(paths):")["recovery_suggestion"]
    assert hint["tool_call"] == {"name": "read_file", "arguments": {"path": "a.py", "start_line": 3, "end_line": 3}}
    hint = fails(tool, "NOT_FOUND_IN_FILE", path="a.py", query="%%%")["recovery_suggestion"]
    assert hint["tool_call"]["arguments"] == {"path": "a.py", "start_line": 1, "end_line": 4}
    fails(tool, "VALIDATION_FAILED", path="a.py", query=" ")
    assert json.dumps(hint)


def test_a_letter_that_is_two_in_small_letters(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="NOT_FOUND"):
        snippet(tmp_path / "root", "İ word\n", "WORD")


def test_without_a_sandbox_nothing_is_told(tmp_path: Path) -> None:
    class Broken(PlainSandbox):
        def run(self, *args: Any, **kwargs: Any) -> Any:
            raise SandboxUnavailable("it does not hold")

    root = make(tmp_path / "root", FILES)
    found = tools_of(workplace(root, Broken(root)))
    for name in ("list_files", "repo_info"):
        fails(found[name], "SANDBOX_UNAVAILABLE")

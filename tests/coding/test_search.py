"""ripgrep finds what stands in files that a model may know of, and does nothing else."""

import codecs
import os
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.sandbox import Bounds
from micro_agent.coding.search import tools
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.tool import Tool
from tests.coding.plain_sandbox import PlainSandbox
from tests.coding.repository import fails, make, workplace
from tests.each import each

FILES: dict[str, str | bytes] = {
    "a.py": "import os\n\ndef find():\n    return 1\n", "src/b.py": "def find(x):\r\n    pass\n", "src/c.md": "find\n",
    ".env": "find=1\n", "keys/id_rsa": "find\n", ".gitignore": "*.log\n", ".github/ci.yml": "find: 1\n",
}  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make(tmp_path / "root", FILES)
    (root / "new.py").write_text("def find(): ...\n")
    (root / "x.log").write_text("find\n")
    (root.parent / "secret.txt").write_text("find the secret\n")
    (root / "link.txt").symlink_to("../secret.txt")
    (root / "src" / "folder").symlink_to("..")
    return root


def rg(place: Workplace) -> Tool:
    (tool,) = tools(place)
    return tool


def search(root: Path, pattern: str, **args: Any) -> dict[str, Any]:
    return rg(workplace(root)).handler(pattern=pattern, **args)


def where(found: dict[str, Any]) -> list[str]:
    return [f"{match['path']}:{match['line']}" for match in found["matches"]]


def test_matches(root: Path) -> None:
    found = search(root, r"def \w+\(")
    assert found == {
        "matches": [
            {"path": "a.py", "line": 3, "text": "def find():"},
            {"path": "new.py", "line": 1, "text": "def find(): ..."},
            {"path": "src/b.py", "line": 1, "text": "def find(x):"},
        ],
        "total": 3, "truncated": False,
    }  # fmt: skip
    assert where(search(root, "find")) == [".github/ci.yml:1", "a.py:3", "new.py:1", "src/b.py:1", "src/c.md:1"]
    assert search(root, "nowhere") == {"matches": [], "total": 0, "truncated": False}


@each(
    ("args", "expected"),
    [
        ({"glob": "*.py"}, ["a.py:3", "new.py:1", "src/b.py:1"]),
        ({"glob": "src/*"}, ["src/b.py:1", "src/c.md:1"]),
        ({"glob": "*.rs"}, []),
        ({"path": "src"}, ["src/b.py:1", "src/c.md:1"]),
        ({"path": "./src/", "glob": "*.md"}, ["src/c.md:1"]),
        ({"path": "a.py"}, ["a.py:3"]),
        ({"path": "."}, [".github/ci.yml:1", "a.py:3", "new.py:1", "src/b.py:1", "src/c.md:1"]),
        ({"path": "link.txt"}, []),
    ],
)
def test_where_is_searched(args: dict[str, Any], expected: list[str], root: Path) -> None:
    assert where(search(root, "find", **args)) == expected


def test_lines_around(root: Path) -> None:
    (first,) = search(root, "def find", context=1, path="a.py")["matches"]
    assert (first["before"], first["after"]) == ([""], ["    return 1"])
    (first,) = search(root, "import", context=99)["matches"]
    assert (first["before"], first["after"]) == ([], ["", "def find():", "    return 1"])


def test_a_pattern_is_never_an_option(root: Path) -> None:
    (root.parent / "run").write_text(f"#!/bin/sh\ntouch {root.parent}/mark\n")
    (root.parent / "run").chmod(0o755)
    for pattern in ("--pre", f"--pre={root.parent}/run", "-e", "--", "--files"):
        assert search(root, pattern) == {"matches": [], "total": 0, "truncated": False}
    (root / "d.txt").write_text("use --files\n")
    assert where(search(root, "--files")) == ["d.txt:1"]
    (root / "--files").write_text("odd\n")
    assert where(search(root, "odd")) == ["--files:1"]
    assert not (root.parent / "mark").exists()


def test_the_repositorys_settings_are_not_ripgreps(root: Path) -> None:
    (root.parent / "run").write_text(f"#!/bin/sh\ntouch {root.parent}/mark\ncat\n")
    (root.parent / "run").chmod(0o755)
    (root / ".ripgreprc").write_text(f"--pre={root.parent}/run\n--follow\n")
    for name in (".ignore", ".rgignore"):
        (root / name).write_text("*\n")

    class Hostile(PlainSandbox):
        def run(self, *args: Any, **kwargs: Any) -> Any:
            return super().run(
                *args, **{**kwargs, "env": {"RIPGREP_CONFIG_PATH": ".ripgreprc", **kwargs.get("env", {})}}
            )

    found = rg(workplace(root, Hostile(root))).handler(pattern="def find")
    assert found["total"] == 3
    assert not (root.parent / "mark").exists()


@each("pattern", ["(", "a\nb", "\0", "\ud800", "a" * 10_001, "x{2,1}"])
def test_a_pattern_that_is_none(pattern: str, root: Path) -> None:
    found = fails(rg(workplace(root)), "RG_FAILED", pattern=pattern)
    assert found["message"].startswith("rg: ")
    assert "\n" not in found["message"]
    assert found["recovery_suggestion"]["tool_call"]["name"] == "list_files"
    fails(rg(workplace(root)), "RG_FAILED", pattern=pattern, glob="*.rs")


def test_paths_that_are_not_searched(root: Path) -> None:
    tool = rg(workplace(root))
    for path in ("..", "src/../..", "src/../.env", ".env", ".git", "/etc"):
        fails(tool, "PATH_FORBIDDEN", pattern="x", path=path)
    fails(tool, "FILE_NOT_FOUND", pattern="x", path="lib")


def test_without_ripgrep(root: Path) -> None:
    (root.parent / "bin").mkdir()
    (root.parent / "bin" / "git").symlink_to("/usr/bin/git")
    fails(rg(workplace(root, PlainSandbox(root, str(root.parent / "bin")))), "RG_MISSING", pattern="x")


def test_what_ripgrep_takes_too_long_for_is_ended(root: Path) -> None:
    (root.parent / "bin").mkdir()
    (root.parent / "bin" / "git").symlink_to("/usr/bin/git")
    program = root.parent / "bin" / "rg"

    class Impatient(PlainSandbox):
        def run(self, pipeline: Any, profile: Any, **kwargs: Any) -> Any:
            kwargs["bounds"] = Bounds(timeout_s=0.3)
            return super().run(pipeline, profile, **kwargs)

    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    found = fails(rg(workplace(root, Impatient(root, str(root.parent / "bin")))), "RG_FAILED", pattern="x")
    assert "took too long" in found["message"]


def test_many_matches_are_cut(root: Path) -> None:
    (root / "many.txt").write_text("word\n" * 150)
    found = search(root, "word", limit=500)
    assert (len(found["matches"]), found["total"], found["truncated"]) == (100, 150, True)
    assert len(search(root, "word")["matches"]) == 50
    (root / "long.txt").write_text("fancy " * 500 + "\n")
    (only,) = search(root, "fancy")["matches"]
    assert len(only["text"]) == 300
    assert search(root, "fancy")["truncated"]
    (root / "wide.txt").write_text(("broad " * 50 + "\n") * 80)
    found = search(root, "broad", limit=80)
    assert (10 < len(found["matches"]) < 25, found["total"], found["truncated"]) == (True, 80, True)


def test_output_beyond_all_bounds(root: Path) -> None:
    (root / "z.txt").write_text("e" * 100_000 + "\n" + ("word\n" * 20_000))
    found = search(root, "word|e", limit=3, path="z.txt")
    assert (len(found["matches"]), found["total"], found["truncated"]) == (3, 20_001, True)
    assert {match["text"] for match in found["matches"]} == {"word"}, "whole lines only"


def test_what_is_not_text_is_not_found(root: Path) -> None:
    (root / "a.bin").write_bytes(b"find\n" * 3 + b"\0\n" + b"find\n")
    (root / "latin.txt").write_bytes("find ä\n".encode("latin-1"))
    (root / "wide.txt").write_bytes(codecs.BOM_UTF16_LE + "find ä\n".encode("utf-16-le"))
    with open(os.fsencode(root) + b"/\xff.txt", "w") as file:
        file.write("find\n")
    found = search(root, "find", glob="*.{bin,txt}")
    assert [match["text"] for match in found["matches"]] == ["find ä", "find ä", "find"]
    assert (found["total"], found["truncated"]) == (3, False)


def test_more_files_than_one_call_takes(tmp_path: Path) -> None:
    below = f"{'deep' * 30}/{'next' * 50}"
    names = [f"{below}/{'name' * 40}{number:04}" for number in range(850)]
    root = make(tmp_path / "root", dict.fromkeys(names, "x\n"), commit=False)
    sandbox = PlainSandbox(root)
    assert rg(workplace(root, sandbox)).handler(pattern="x")["total"] == 850
    assert len(sandbox.ran) == 2


def test_a_file_that_goes_away(root: Path) -> None:
    class Late(PlainSandbox):
        def run(self, pipeline: Any, profile: Any, **kwargs: Any) -> Any:
            if pipeline[0].argv[0] == "rg":
                (self.root / "new.py").unlink()
            return super().run(pipeline, profile, **kwargs)

    assert rg(workplace(root, Late(root))).handler(pattern="def find")["total"] == 2

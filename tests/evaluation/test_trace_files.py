"""Which files of traces names, folders and patterns stand for, and in what order."""

from glob import glob
from pathlib import Path

import pytest

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation import trace_files
from micro_agent.evaluation.scratch import Scratch

NAMES = [
    "b.jsonl",
    "a.jsonl",
    "a!.jsonl",
    "a/c.jsonl",
    "a/b/d.jsonl",
    ".h.jsonl",
    "ä\udcff.jsonl",
    "x.txt",
    "A\n.jsonl",
]


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    Path("folder.jsonl").mkdir()
    Path("nowhere.jsonl").symlink_to("nothing")


def test_a_pattern_gives_what_the_shell_gives_in_the_order_of_paths(tmp_path: Path) -> None:
    patterns = [
        "*.jsonl",
        "a*.jsonl",
        "[!a]*.jsonl",
        "**/*.jsonl",
        "*/*.jsonl",
        ".*.jsonl",
        "a/**",
        f"{tmp_path}/*.jsonl",
    ]
    for pattern in patterns:
        expected = sorted(path for path in map(Path, glob(pattern, recursive=True)) if path.is_file())
        assert list(trace_files([pattern])) == expected, pattern
        assert expected
    assert list(trace_files(["."])) == sorted(path for path in Path().glob("*.jsonl") if path.is_file())
    assert list(trace_files(["x.txt", "a", "./b.jsonl"])) == [Path("x.txt"), Path("a/c.jsonl"), Path("b.jsonl")]


def test_what_stands_for_no_file_is_said_before_any_is_given() -> None:
    for nothing in ("none*.jsonl", "none/*.jsonl", "none.jsonl", "nowhere.jsonl", "folder.jsonl"):
        with pytest.raises(ConfigurationError, match="no trace is named "):
            trace_files(["a", nothing])


def test_where_there_is_no_room_to_remember_that_is_said() -> None:
    with Scratch("CREATE TABLE names (name TEXT)") as noted:
        noted.run("PRAGMA max_page_count = 3")
        with pytest.raises(StorageError, match="database or disk is full; free some space in the folder of temporary"):
            noted.run_many("INSERT INTO names VALUES (?)", [("x" * 9_000,)] * 3)
        with pytest.raises(StorageError, match="cannot note what was read"):
            noted.run("INSERT INTO names VALUES (?)", ["x" * 20_000])

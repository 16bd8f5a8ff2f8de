"""Paths mean ordinary files beneath the root, whatever a model writes and whatever lies in the repository."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent.coding.paths import FileTooLarge, PathForbidden, Place, resolve
from tests.coding.labelled import PATHS, build, filled_in


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "root" / "src").mkdir(parents=True)
    (tmp_path / "root" / "src" / "a.py").write_text("X = 1\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("secret\n")
    before = len(os.listdir("/proc/self/fd"))
    yield tmp_path / "root"
    assert len(os.listdir("/proc/self/fd")) <= before, "every descriptor is closed"


def read(place: Place) -> bytes:
    assert place.file is not None
    return os.read(place.file, 100)


def test_the_labelled_paths(tmp_path: Path) -> None:
    names = build(tmp_path)
    wrong: list[str] = []
    for row in PATHS:
        try:
            resolve(tmp_path / "root", filled_in(row["path"], names), row["mode"]).close()
            label = "allowed"
        except PathForbidden:
            label = "forbidden"
        if label != row["label"]:
            wrong.append(f"{row['id']} {row['mode']} {row['path']!r:.80} is {label}: {row['why']}")
    assert wrong == []


def test_a_read_file_is_open(root: Path) -> None:
    with resolve(root, "src/../src/./a.py", "read") as place:
        assert (place.path, place.name, read(place)) == ("src/a.py", "a.py", b"X = 1\n")


def test_what_was_found_cannot_be_swapped(root: Path) -> None:
    with resolve(root, "src/a.py", "read") as read_one, resolve(root, "src/a.py", "write") as written:
        (root / "src").rename(root / "old")
        (root / "src").symlink_to(root.parent / "outside")
        assert read(read_one) == b"X = 1\n"
        found = os.open(written.name, os.O_RDONLY, dir_fd=written.directory)
        assert os.read(found, 100) == b"X = 1\n"
        os.close(found)
        with pytest.raises(PathForbidden, match="outside"):
            resolve(root, "src/a.py", "read")


def test_a_new_file_in_new_folders(root: Path) -> None:
    with resolve(root, "src/new//./deep/b.py", "write") as place:
        assert (place.path, place.missing, place.name) == ("src/new/deep/b.py", ("new", "deep"), "b.py")
        assert (place.file, place.was) == (None, None)
    with pytest.raises(PathForbidden, match="goes up from a folder that is not there"):
        resolve(root, "src/new/../b.py", "write")
    with pytest.raises(PathForbidden, match="git's own"):
        resolve(root, "new/.git/config", "write")


def test_a_file_that_is_not_there_is_not_forbidden(root: Path) -> None:
    for path in ("b.py", "new/b.py"):
        with pytest.raises(FileNotFoundError, match=f"there is no file '{path}'"):
            resolve(root, path, "read")


def test_links_within_are_read(root: Path) -> None:
    (root / "by_name").symlink_to("src/a.py")
    (root / "absolute").symlink_to(root / "src")
    (root / "src" / "top").symlink_to(root)
    for path in ("by_name", "absolute/a.py", "src/top/src/a.py"):
        with resolve(root, path, "read") as place:
            assert (place.path, read(place)) == ("src/a.py", b"X = 1\n")
    (root / "to_the_root").symlink_to("src/..")
    with pytest.raises(PathForbidden, match="is a folder"):
        resolve(root, "to_the_root", "read")


def test_a_large_file_is_said_to_be_one(root: Path) -> None:
    os.truncate(root / "src" / "a.py", 10_000_001)
    with pytest.raises(FileTooLarge, match="has 10000001 bytes; 10000000 are the most"):
        resolve(root, "src/a.py", "read")
    resolve(root, "src/a.py", "write").close()


def test_what_the_system_refuses_is_raised(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        resolve(root / "nowhere", "a.py", "read")
    with pytest.raises(NotADirectoryError):
        resolve(root / "src" / "a.py", "a.py", "read")


def test_a_backslash_is_a_sign_like_others(root: Path) -> None:
    (root / "a\\b.txt").write_text("text\n")
    with resolve(root, "a\\b.txt", "read") as place:
        assert read(place) == b"text\n"


@pytest.mark.parametrize("path", ["a\ud800.py", "a\0", "a/" * 3000 + "b"])
def test_what_no_file_can_be_called_is_said_to_be_none(root: Path, path: str) -> None:
    with pytest.raises(PathForbidden, match="is not a path"):
        resolve(root, path, "write")

"""Disks that fail while a run is under way: it stops in one line, nothing that was written is lost, and it goes on."""

import shutil
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from nursery import Nursery
from tally import Tally

from micro_agent.testing import ModelServer

pytestmark = pytest.mark.torture

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes chosen system calls fail")
ERRORS = {
    "write": ("ENOSPC", "EIO", "EDQUOT"), "fdatasync": ("EIO", "ENOSPC"), "fsync": ("EIO",), "link": ("ENOSPC", "EIO"),
    "unlink": ("EIO", "EROFS"), "mkdir": ("ENOSPC", "EACCES"), "openat": ("ENOSPC", "EMFILE"), "flock": ("ENOLCK",),
    "rename": ("EIO",),
}  # fmt: skip
FAILING = [(syscall, error, last) for syscall, errors in ERRORS.items() for error in errors for last in ("", "+")]
FILE_SIZES = (*range(100, 16_000, 400), 2**40)
MOUNTS = (["unshare", "-m"], ["unshare", "-Urm"])
"""What may be allowed to mount, in a view of the file system that is the process's own."""
DISKS = (*(f"size={pages * 4}k" for pages in range(1, 13)), *(f"nr_inodes={number}" for number in range(1, 8)))


def one_line(told: dict[str, Any]) -> None:
    """What a run that cannot be stored says: one line with what failed and what to do about it."""
    if told["status"] == "completed":
        return
    assert told["status"] == "refused" or told["reason"] == "storage_error", told
    message: str = told["message"]
    assert message.startswith("cannot "), told
    assert "; " in message
    assert "\n" not in message


def survives(nursery: Nursery, folder: Path, tally: Tally, kind: str, *, harm: str = "", **options: Any) -> bool:
    """Run with a failing disk, mend it with a good one; returns whether anything had failed."""
    ended = nursery.live("ask", folder, **options)
    told = ended.last()
    one_line(told)
    done = (folder / "effects").read_text().split() if (folder / "effects").exists() else []
    assert not (told["status"] == "refused" and done), told
    harmed = ended.injected or told["status"] != "completed"
    found = nursery.live("mend", folder, harm=harm).last()
    tally.count(kind, found, harmed=harmed)
    if told["status"] == "completed":
        assert found["status"] == "completed"
    return harmed


@needs_strace
@pytest.mark.parametrize(("syscall", "error", "last"), FAILING)
def test_a_system_call_fails(
    syscall: str, error: str, last: str, nursery: Nursery, tally: Tally, tmp_path: Path
) -> None:
    for number in count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        inject = f"{syscall}:error={error}:when={number}{last}"
        kind = f"{error} at {syscall}"
        if not survives(nursery, folder, tally, kind, inject=inject):
            return


def test_files_may_not_grow(nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    for limit in FILE_SIZES:
        (folder := tmp_path / str(limit)).mkdir()
        harmed = survives(nursery, folder, tally, "RLIMIT_FSIZE", before=f"file size {limit}")
    assert not harmed  # pyright: ignore[reportPossiblyUnboundVariable]


@pytest.fixture(scope="module")
def mounting(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Children that may mount disks which nobody else sees."""
    folder = tmp_path_factory.mktemp("mounting")
    try_ = ["mount", "-t", "tmpfs", "tmpfs", str(folder)]
    for prefix in MOUNTS:
        if subprocess.run([*prefix, *try_], check=False, capture_output=True).returncode == 0:
            with Nursery(server.openai_url, folder, prefix=prefix) as nursery:
                yield nursery
            return
    pytest.skip("no right to mount a disk here, not even one that nobody else sees: no small and read-only disks")


@pytest.mark.parametrize("disk", DISKS)
def test_a_small_disk(disk: str, mounting: Nursery, tally: Tally, tmp_path: Path) -> None:
    survives(mounting, tmp_path, tally, "small tmpfs", before=f"small disk {disk}", harm="room again")


@pytest.mark.parametrize(
    ("when", "folder"),
    [
        ("before", "read-only"), ("before", "read-only traces"), ("before", "read-only state"),
        ("mischief", "read-only traces"), ("mischief", "read-only state"),
    ],
)  # fmt: skip
def test_a_disk_that_can_only_be_read(when: str, folder: str, mounting: Nursery, tally: Tally, tmp_path: Path) -> None:
    assert survives(mounting, tmp_path, tally, "read-only folder", harm="writable again", **{when: folder})


@pytest.mark.parametrize(
    ("when", "what"),
    [
        ("before", "file for traces"), ("before", "file for state"), ("mischief", "file for traces"),
        ("mischief", "no descriptors"),
    ],
)  # fmt: skip
def test_a_folder_that_is_none(when: str, what: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    assert survives(nursery, tmp_path, tally, what, harm="no file for a folder", **{when: what})


def test_a_folder_of_traces_that_disappears_is_made_again(nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    (tmp_path / "disk" / "traces").mkdir(parents=True)
    assert not survives(nursery, tmp_path, tally, "no traces", mischief="no traces")


def test_a_folder_of_state_that_disappears_stops_the_run(nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    assert survives(nursery, tmp_path, tally, "no state", mischief="no state")
    assert not (tmp_path / "effects").exists()


@pytest.mark.parametrize("when", ["before", "mischief"])
def test_a_folder_without_the_right_to_write(when: str, nursery: Nursery, tally: Tally) -> None:
    folder = Path(mkdtemp(prefix="no-right-"))  # pytest's own folders let nobody else in
    try:
        folder.chmod(0o777)
        (folder / "disk" / "state").mkdir(parents=True, mode=0o700)
        assert survives(nursery, folder, tally, "no right", harm="rights again", **{when: "no right"})
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("mischief", "code", "line"),
    [
        ("", 0, ""), ("file for state", 1, "micro-agent: cannot make the folder "),
        ("file for traces", 1, "Failed (storage_error): cannot open the trace "),
        ("file size 6000", 1, "Failed (storage_error): cannot write to "),
    ],
)  # fmt: skip
def test_the_command_says_it_in_one_line(
    mischief: str, code: int, line: str, nursery: Nursery, tally: Tally, tmp_path: Path
) -> None:
    assert nursery.live("command", tmp_path, mischief=mischief).last() == code
    said = (tmp_path / "err").read_text().splitlines()
    said = [text for text in said if not text.startswith(("Every call that asks for confirmation", "Trace: "))]
    assert len(said) == bool(code)
    assert all(text.startswith(line) for text in said)
    assert (tmp_path / "out").read_text() == ("Done.\n" if code == 0 else "")
    found = nursery.live("mend", tmp_path, harm="no file for a folder").last()
    tally.count("the command on a bad disk", found, harmed=bool(code))

"""What can happen to a disk while a run is under way: each is a function of the run's folder."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

NOBODY = 65534


def nothing(folder: Path) -> None:
    """No mischief."""


def file_size(limit: int, folder: Path) -> None:
    """No file of this process grows beyond so many bytes: what does not fit gets a short write, then EFBIG."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def no_descriptors(folder: Path) -> None:
    """Nothing more can be opened."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def no_traces(folder: Path) -> None:
    """The folder of traces disappears."""
    shutil.rmtree(folder / "disk" / "traces", ignore_errors=True)


def no_state(folder: Path) -> None:
    """The folder of state disappears, with the journal that is open."""
    shutil.rmtree(folder / "disk" / "state")


def file_for_traces(folder: Path) -> None:
    """A file is where the folder of traces should be."""
    no_traces(folder)
    (folder / "disk").mkdir(exist_ok=True)
    (folder / "disk" / "traces").write_text("a file")


def file_for_state(folder: Path) -> None:
    """A file is where the folder of state should be."""
    (folder / "disk").mkdir(exist_ok=True)
    (folder / "disk" / "state").write_text("a file")


def no_file_for_a_folder(folder: Path) -> None:
    """Move the files away that are where folders should be."""
    for name in ("traces", "state"):
        if (folder / "disk" / name).is_file():
            (folder / "disk" / name).unlink()


def no_right(folder: Path) -> None:
    """This user may no longer change the folders. Root may do anything, so it becomes somebody else first."""
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        return
    for path in (folder / "disk", folder / "disk" / "state" / "runs"):
        if path.exists():
            path.chmod(0o500)


def rights_again(folder: Path) -> None:
    """Undo `no_right` for a user who is not root."""
    for path in (folder / "disk", folder / "disk" / "state" / "runs"):
        if path.exists():
            path.chmod(0o700)


def read_only(name: str, folder: Path) -> None:
    """A folder becomes one on a disk that can only be read: itself as it is, bound over itself."""
    path = folder / "disk" / name
    path.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", path, path], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)


def writable_again(folder: Path) -> None:
    """Undo `read_only`."""
    for name in ("", "traces", "state/runs"):
        subprocess.run(["umount", folder / "disk" / name], check=False, stderr=subprocess.DEVNULL)


def small_disk(options: str, folder: Path) -> None:
    """The folders are on a disk of their own, with so many bytes and so many files."""
    (folder / "disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder / "disk"], check=True)


def room_again(folder: Path) -> None:
    """The small disk gets larger."""
    subprocess.run(["mount", "-o", "remount,size=4m,nr_inodes=0", folder / "disk"], check=True)


class _Mischief(dict[str, Callable[[Path], None]]):
    """By name; ``file size 900`` and ``small disk size=8k`` carry what they are to be done with."""

    def __missing__(self, name: str) -> Callable[[Path], None]:
        what, _, how = name.rpartition(" ")
        if what == "file size":
            return partial(file_size, int(how))
        assert what == "small disk", name
        return partial(small_disk, how)


MISCHIEF = _Mischief({
    "": nothing, "no descriptors": no_descriptors, "no traces": no_traces, "no state": no_state,
    "file for traces": file_for_traces, "file for state": file_for_state, "no right": no_right,
    "no file for a folder": no_file_for_a_folder, "rights again": rights_again, "read-only": partial(read_only, ""),
    "read-only traces": partial(read_only, "traces"), "read-only state": partial(read_only, "state/runs"),
    "writable again": writable_again, "room again": room_again,
})  # fmt: skip

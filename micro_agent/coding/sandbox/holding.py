"""What a sandbox lays down on the disk while programs run, and how the last one out takes it away.

A name that decides something and is not there yet must not be made by a program. A mount can be laid over it only if
there is something: a socket that nobody listens to, of mode 0. Git does not list it, nothing can be read from it, and
whoever finds one after a crash knows it by its mode.
"""

import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from micro_agent.coding.sandbox.contract import SandboxUnavailable

_OURS = "micro-agent-"


def folder_in(state: Path) -> Path:
    """The folder of the sandboxes in the state of a repository; it is made if need be."""
    folder = state / "sandbox"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def held(state: Path, root: Path, names: Sequence[str] = ()) -> Generator[list[Path]]:
    """Have something lie under each of these names at the top of a repository; what was not there goes away again.

    It stays while another sandbox of the same repository runs, in this process or another one; the last one out takes
    it away, and what a crash left.

    Yields:
        The paths of the names.
    """
    with ExitStack() as after:
        lock = os.open(folder_in(state) / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        after.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        after.callback(_leave, lock, state, root, names)
        paths = [root / name for name in names]
        for path in paths:
            with suppress(FileExistsError):
                os.mknod(path, stat.S_IFSOCK)
        yield paths


def _leave(lock: int, state: Path, root: Path, names: Sequence[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for name in names:
        with suppress(FileNotFoundError):
            if os.lstat(root / name).st_mode == stat.S_IFSOCK:
                os.unlink(root / name)
    for left in folder_in(state).glob(f"{_OURS}*"):
        shutil.rmtree(left, ignore_errors=True)


def new_folder(state: Path) -> Path:
    """An empty folder of one run, for `held` to take away."""
    return Path(tempfile.mkdtemp(prefix=_OURS, dir=folder_in(state)))


def copied(root: Path, state: Path) -> Path:
    """A copy of a repository that is thrown away, for `held` to take away.

    Raises:
        SandboxUnavailable: There is no room for it, or part of it cannot be read.
    """
    folder = new_folder(state) / root.name
    copying = subprocess.run(
        ["cp", "-a", "--reflink=auto", "--", root, folder], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if copying.returncode:
        said = copying.stderr.decode(errors="replace").strip()
        raise SandboxUnavailable(f"the repository cannot be copied for a trial: {said[:300]}")
    return folder

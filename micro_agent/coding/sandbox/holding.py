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
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from micro_agent.coding.sandbox.closed import is_laid, policies
from micro_agent.coding.sandbox.contract import SandboxUnavailable

_OURS = "micro-agent-"


def folder_in(state: Path) -> Path:
    """The folder of the sandboxes in the state of a repository; it is made if need be."""
    folder = state / "sandbox"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def held(state: Path, root: Path, *, protected: bool = False) -> Generator[None]:
    """Hold a repository while programs run in it.

    Args:
        state: The folder of its state. What `new_folder` makes there goes away with the last one that holds the
            repository, in this process or another one, and so does what a crash left.
        root: The repository.
        protected: Whether something is to lie under each of the names that decide something. What was not there goes
            away again in the same way.

    Raises:
        SandboxUnavailable: Nothing can be laid there.
    """
    with ExitStack() as after:
        lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        after.callback(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_SH)
        after.callback(_leave, lock, state, root)
        for name in policies() if protected else ():
            _lay(root / name)
        yield


def _lay(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFSOCK)
    except FileExistsError:
        if path.is_symlink():
            raise SandboxUnavailable(
                f"{path.name} is a link and cannot be protected: put there what it names"
            ) from None
    except OSError as error:
        raise SandboxUnavailable(f"{path.name} is not there and cannot be kept from being made: {error}") from None


def _leave(lock: int, state: Path, root: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for name in policies():
        with suppress(FileNotFoundError):
            if is_laid(root / name):
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

"""One holder a file: `flock` on the file itself, which the kernel releases however the holder ends.

The lock belongs to the open file: a second open in the same process is refused too, programs started from here do not
inherit it. A process forked without starting a program shares it until that one ends.
"""

import fcntl
import os
from pathlib import Path
from time import sleep

from micro_agent.errors import RunBusy
from micro_agent.files.jsonl import open_file, storage_error

_TRIES = 10
_PAUSE_S = 0.01  # `is_held` takes a lock for microseconds: what refuses once may be that


def open_held(path: Path) -> int:
    """Open a journal for reading and appending, and take its lock.

    Raises:
        FileNotFoundError: there is none, or its holder has just removed it.
        RunBusy: somebody holds it.
        StorageError: it cannot be opened or locked.
    """
    while True:
        try:
            descriptor = open_file(path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise storage_error("open the journal", path, error) from error
        try:
            hold(descriptor, path)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder removed it between our opening and our lock: look again


def hold(descriptor: int, path: Path) -> None:
    """Take the lock of the open file, without waiting for a holder. Raises `RunBusy` or `StorageError`."""
    for _ in range(_TRIES):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(_PAUSE_S)
        except OSError as error:
            raise storage_error("lock", path, error) from error
    raise RunBusy(f"run {path.stem} is held by another process: wait for it, or end it and resume again")


def is_held(path: Path) -> bool:
    """Whether somebody holds this file now. Raises `OSError`."""
    descriptor = open_file(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False

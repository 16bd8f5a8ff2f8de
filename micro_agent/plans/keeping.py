"""The file of a plan's state: held by one process, replaced in one step, for this user alone."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from micro_agent.errors import RunBusy
from micro_agent.files.jsonl import open_file, private_folder, storage_error, write_over
from micro_agent.storage.locks import hold


@contextmanager
def held(path: Path) -> Generator[None]:
    """Hold the state in ``path``, which need not be there yet. The kernel lets go of it however the process ends.

    The lock is on a file beside it, since the state itself is another file each time that it is written.

    Raises:
        RunBusy: Another process holds it.
        StorageError: The folder or the lock cannot be made.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        private_folder(path.parent)
        descriptor = open_file(lock, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise storage_error("make the lock", lock, error) from error
    try:
        try:
            hold(descriptor, lock)
        except RunBusy as error:
            raise RunBusy(f"another process works on the plan of {path}: wait for it, or end it") from error
        for left in path.parent.glob(f".{path.name}.*.tmp"):  # of a process that was killed while it wrote
            left.unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


def put(path: Path, content: bytes) -> None:
    """Write the file: all of it is on the disk when this returns, or what was there before. Raises `StorageError`."""
    try:
        write_over(path, [content])
    except OSError as error:
        raise storage_error("save the state of the plan to", path, error) from error

"""Whether a folder can be written: a file is made, synced and removed there, as a run would do it."""

import os
from pathlib import Path
from secrets import token_hex

_SIZE = 16 * 1024


def nearest(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def try_writing(folder: Path) -> None:
    """Make a file in a folder that is there, sync it and remove it. Raises `OSError`."""
    probe = folder / f".micro-agent-probe-{token_hex(4)}"
    descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(bytes(_SIZE))  # some file systems have room for a byte when they are full
            file.flush()
            os.fsync(descriptor)
    finally:
        probe.unlink()

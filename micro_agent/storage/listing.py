"""Which runs have a file in a folder, the one written last first: for a folder of a million files too."""

import errno
import os
from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path
from stat import S_ISREG

from micro_agent.files.jsonl import storage_error

MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_DIGITS = frozenset("0123456789abcdef")
_LENGTH = 32
_EARLIEST = 2**63


def newest_first(
    folder: Path, suffix: str, most: int | None = None, *, beginning: str = "", files_alone: bool = False
) -> Iterator[str]:
    """The ids of the runs that have a file with this suffix; none where there is no folder.

    Args:
        folder: Where the files are.
        suffix: What follows the id in their names.
        most: How many at most.
        beginning: How the ids begin.
        files_alone: Leave out what has the name of a file and is none.

    Raises:
        StorageError: The folder cannot be read.
    """
    found = _written(folder, suffix, beginning, files_alone)
    # Time and id in one string of bytes: a tuple of both takes three times the memory.
    latest = sorted(found, reverse=True) if most is None else nlargest(most, found)
    return (one[8:].hex() for one in latest)


def _written(folder: Path, suffix: str, beginning: str, files_alone: bool) -> Iterator[bytes]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name, run_id = entry.name, entry.name[:_LENGTH]
                if len(run_id) < _LENGTH or name[_LENGTH:] != suffix or not _DIGITS.issuperset(run_id):
                    continue
                if name.startswith(beginning) and (time := _time(entry, files_alone)) is not None:
                    yield (time + _EARLIEST).to_bytes(8) + bytes.fromhex(run_id)
    except FileNotFoundError:
        return
    except OSError as error:
        raise storage_error("read the folder", folder, error) from error


def _time(entry: "os.DirEntry[str]", files_alone: bool) -> int | None:
    """When a file was written, in nanoseconds since 1970; ``None`` if it is left out."""
    try:
        found = entry.stat()
    except OSError as error:
        if not files_alone:  # a link to nothing, or the file of a run that has ended just now: last
            return 0
        if error.errno in MISSING:
            return None
        # A folder that may not be searched: whether the file is there, nobody knows.
        raise storage_error("look for", Path(entry.path), error) from error
    return found.st_mtime_ns if S_ISREG(found.st_mode) or not files_alone else None

"""Files of JSON lines: one object a line, appended whole, read leniently.

A process can be killed in the middle of a write, and a disk can be full: the last line of a file may be cut off.
Readers skip such a line and say so; writers begin on a fresh line after it.
"""

import errno
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import to_json

from micro_agent.errors import StorageError

_BOM = b"\xef\xbb\xbf"
_ESCAPED = {end.encode(): b"\\u%04x" % ord(end) for end in ("\x85", "\u2028", "\u2029")}
"""What other readers (`str.splitlines`) take for ends of lines; JSON allows them in strings as they are."""
_ADVICE = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space: the quota is used up",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`)",
    errno.EACCES: "give this user the right to it, or set TRACES_DIR and MICRO_AGENT_STATE_DIR to other folders",
    errno.EPERM: "give this user the right to it, or set TRACES_DIR and MICRO_AGENT_STATE_DIR to other folders",
    errno.EROFS: "set TRACES_DIR and MICRO_AGENT_STATE_DIR to folders that can be written",
    errno.ENOTDIR: "a file is in the place of a folder: move it away",
    errno.EEXIST: "something else is in its place: move it away",
    errno.ELOOP: "it is a symbolic link, which is not followed: move it away",
    errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
}


def storage_error(doing: str, path: Path, error: OSError) -> StorageError:
    """One line for a person: what failed (``doing``, such as "write the trace"), where, why, and what to do."""
    advice = _ADVICE.get(error.errno or 0, "check the disk and the path")
    return StorageError(f"cannot {doing} {path}: {error.strerror or error}; {advice}")


def encode(data: Any) -> bytes:
    """``data`` (JSON-able, models of pydantic anywhere in it) as one line of UTF-8 JSON with its newline.

    NaN and the infinities become the strings "NaN", "Infinity" and "-Infinity", which pydantic reads back as numbers
    where a number belongs. Lone surrogates (they come from file names and from models) are written as escapes.

    Raises:
        StorageError: something in it has no JSON form, or it is nested too deeply.
    """
    try:
        line = to_json(data, inf_nan_mode="strings")
    except ValueError:  # it takes no lone surrogates, and no more than 255 levels
        return _in_ascii(data)
    if not line.isascii() and any(end in line for end in _ESCAPED):
        for end, escape in _ESCAPED.items():
            line = line.replace(end, escape)
    return line + b"\n"


def _in_ascii(data: Any) -> bytes:
    try:
        try:
            return _ASCII.encode(data).encode() + b"\n"
        except ValueError:
            return _ASCII.encode(_finite(data)).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"cannot be written as JSON: {error}; tools must return plain JSON data") from error


def _plain(value: object) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is not a JSON value")


_ASCII = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, BaseModel):
        return _finite(dict(value))
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("list[Any]", value)]
    return value


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file: its number from 1, and either its object or what is wrong with it (``fault``).

    ``torn``: it is the last one and has no end.
    """

    number: int
    data: dict[str, Any] | None = None
    fault: str | None = None
    torn: bool = False


def read_lines(lines: Iterable[bytes]) -> Iterator[Line]:
    """Every line that is not blank, read or with its fault. ``lines`` are bytes split at newlines alone, as files give.

    A byte order mark, carriage returns and NUL bytes around a line are not faults.
    """
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            yield Line(number, parse(raw))
        except ValueError as error:
            torn = not raw.endswith(b"\n")
            yield Line(number, None, "cut off while it was written" if torn else f"not readable: {error}", torn)


def parse(raw: bytes) -> dict[str, Any]:
    """The JSON object in ``raw``. Raises `ValueError` with one line that says what it is instead."""
    text = raw.removeprefix(_BOM).strip(b"\0 \t\r\n")
    if not text:
        raise ValueError("nothing but blanks and NUL bytes")
    try:
        value = json.loads(text.decode())
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"a JSON {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value)


def private_folder(path: Path) -> None:
    """Make the folder, for this user alone, with the folders above it, unless it is there. Raises `OSError`.

    What is made is on the disk when this returns: what is synced inside it later is not lost with its name.
    """
    if path.is_dir():
        return
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, "Not a directory", str(path)) from None
    for folder in made:
        sync_folder(folder.parent)


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file without ever blocking on another kind; a new one is for this user alone.

    The descriptor is closed in programs that this process starts (`os.open` sets ``O_CLOEXEC``). What is opened for
    writing must not be a symbolic link.

    Raises:
        OSError: it cannot be opened, or it is not a regular file.
    """
    if flags & (os.O_WRONLY | os.O_RDWR):
        flags |= os.O_NOFOLLOW
    descriptor = os.open(path, flags | os.O_NONBLOCK, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def write_new(path: Path, content: bytes) -> None:
    """Create a file for this user alone, whole and synced; when that fails there is no file. Raises `OSError`."""
    _write_new(path, [content])


def write_over(path: Path, content: Iterable[bytes]) -> None:
    """Write a file for this user alone; what was there is replaced in one step once all of it is on the disk.

    Raises:
        OSError: It cannot be written. What was there is unchanged then, as it is where ``content`` raises.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(4)}.tmp")
    _write_new(temporary, content)
    try:
        os.replace(temporary, path)
    except OSError:
        temporary.unlink()
        raise
    sync_folder(path.parent)


def _write_new(path: Path, content: Iterable[bytes]) -> None:
    descriptor = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with open(descriptor, "wb") as file:
            file.writelines(content)
            file.flush()
            os.fdatasync(descriptor)
    except BaseException:
        path.unlink()
        raise


def append(descriptor: int, line: bytes, path: Path, *, end: int | None = None) -> int:
    """Append ``line`` with one write, on a fresh line. The caller holds a lock on the file, opened with ``O_APPEND``.

    ``end`` is what the append before returned, where the caller alone writes to the file: it is not asked for again.

    A full disk gives a short write first, and only the next one says why: the rest is tried, and when it fails, what
    was written of the line is cut off again.

    Returns:
        The size of the file, in bytes.

    Raises:
        StorageError: the line is not in the file.
    """
    try:
        if end is None:
            end = os.fstat(descriptor).st_size
            if end and os.pread(descriptor, 1, end - 1) != b"\n":
                line = b"\n" + line
        _write_whole(descriptor, line, end)
    except OSError as error:
        raise storage_error("write to", path, error) from error
    return end + len(line)


def _write_whole(descriptor: int, line: bytes, end: int) -> None:
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        with suppress(OSError):  # the first error counts; a fragment that stays costs nothing but its bytes
            os.ftruncate(descriptor, end)
        raise


def sync_folder(path: Path) -> None:
    """Make the entries of a folder survive a power cut. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""What is in a file, as text that can be put back as it was, and how other contents take their place at once."""

import codecs
import os
import re
import secrets
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from micro_agent.coding.opening import suggestion
from micro_agent.coding.paths import LARGEST, Place
from micro_agent.tools.error import ToolError

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_NO_LETTERS = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Control characters that no text has; in an encoding in which every byte means something, they are how to tell."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A file of text.

    Attributes:
        text: What it says, with its line endings as they are and without a mark of the encoding in front.
        encoding: ``utf-8``, ``utf-16-le``, ``utf-16-be`` or ``latin-1``.
        mark: The bytes in front that name the encoding (BOM), if any.
        digest: The sha256 of all its bytes, in hexadecimal.
    """

    text: str
    encoding: str
    mark: bytes
    digest: str

    def as_bytes(self, text: str) -> bytes:
        """Other text in the same encoding.

        Raises:
            UnicodeEncodeError: It has a character that the encoding has not.
        """
        return self.mark + text.encode(self.encoding)


def read_contents(file: int, path: str) -> Contents:
    """Read an open file from its beginning.

    Raises:
        ToolError: ``NOT_TEXT``, or ``FILE_TOO_LARGE`` for one that has grown.
    """
    os.lseek(file, 0, os.SEEK_SET)
    parts: list[bytes] = []
    size = 0
    while size <= LARGEST and (part := os.read(file, LARGEST + 1 - size)):
        parts.append(part)
        size += len(part)
    if size > LARGEST:
        raise ToolError("FILE_TOO_LARGE", f"{path!r:.200} has more than {LARGEST} bytes, the most that are read")
    return decoded(b"".join(parts), path)


def decoded(data: bytes, path: str) -> Contents:
    """The text that bytes are.

    Raises:
        ToolError: ``NOT_TEXT``.
    """
    mark, encoding = next((row for row in _MARKS if data.startswith(row[0])), (b"", "utf-8"))
    digest = sha256(data).hexdigest()
    if not data.startswith(_UTF32):
        with suppress(UnicodeDecodeError):
            text = data[len(mark) :].decode(encoding)
            if "\0" not in text:
                return Contents(text, encoding, mark, digest)
        if not mark and not _NO_LETTERS.search(text := data.decode("latin-1")):
            return Contents(text, "latin-1", b"", digest)
    raise ToolError("NOT_TEXT", f"{path!r:.200} is not text: it has {len(data)} bytes of something else")


def replace(place: Place, data: bytes) -> None:
    """Give a file that is there other bytes, all at once or not at all. It keeps its mode and its owner.

    Args:
        place: Where it is, with what the system said of it when its bytes were read.
        data: The bytes.

    Raises:
        ToolError: ``STALE_FILE``: it has changed since.
        OSError: The system refuses; the file is as it was.
    """
    assert place.was is not None
    name = f".micro-agent-{secrets.token_hex(8)}.tmp"
    try:
        write_beside(place.directory, name, data, stat.S_IMODE(place.was.st_mode), place.was)
        if not is_as_it_was(place.directory, place.name, place.was):
            raise stale(place.path)
        os.rename(name, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.directory)
        raise
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.directory)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_beside(directory: int, name: str, data: bytes, mode: int, was: os.stat_result | None) -> None:
    """Write a new file with the mode and the owner of the one whose place it is to take, if there is one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    made = os.open(name, flags, mode if was is None else 0o600, dir_fd=directory)
    with open(made, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        if was is not None:
            with suppress(PermissionError):  # only the superuser gives files away
                os.fchown(made, was.st_uid, was.st_gid)
            os.fchmod(made, mode)
        os.fsync(made)


def is_as_it_was(directory: int, name: str, was: os.stat_result | None) -> bool:
    """Whether what has the name is the file that was found there, as it was then; or nothing, where nothing was."""
    try:
        now = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return was is None
    kept = ("st_dev", "st_ino", "st_mode", "st_nlink", "st_size", "st_mtime_ns")
    return was is not None and all(getattr(now, key) == getattr(was, key) for key in kept)


def stale(path: str) -> ToolError:
    """The error for a file that has changed since the model read it."""
    hint = suggestion("read_file", {"path": path}, "see what it says now")
    return ToolError("STALE_FILE", f"{path!r:.200} has changed since it was read: read it again", recovery=hint)

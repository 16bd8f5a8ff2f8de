"""Which file a path of the model's means: one beneath the repository's root, held so that it cannot be swapped.

The path is walked part by part from the open root, and no part is followed as a link by the system: a link is read, and
its target is walked in the same way. What is found stays open, so that whoever changes the tree afterwards changes
nothing about it (CWE-367). That is what ``openat2(RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS)`` does on newer kernels.
"""

import fnmatch
import os
import re
import stat
import unicodedata
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, NoReturn

from micro_agent.errors import MicroAgentError

LARGEST = 10_000_000
"""Bytes of a file that is read."""
_LONGEST, _LONGEST_NAME = 4_096, 255
_MOST_LINKS = 40
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
"""What has the name is held, not opened: to open a pipe or a device does something."""

_GIT = re.compile(r"\.git|git~\d+")
"""Also its short name on Windows, as git itself refuses it (CVE-2014-9390)."""
_FOLDERS_OF_KEYS = frozenset({".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", "secrets"})
_CREDENTIALS = re.compile(
    r"\.env|\.envrc|\.env\.(?!example$|sample$|template$|dist$).+|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|[._]netrc"
    r"|\.git-credentials|\.pypirc|\.pgpass|\.htpasswd|credentials(?:\.json)?|.+\.(?:pem|key|p12|pfx|jks|keystore)"
)
_NAMES = (
    ".env", ".env.local", ".envrc", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", "id_rsa", "id_ed25519",
    ".netrc", ".git-credentials", ".pypirc", ".pgpass", ".htpasswd", "credentials", ".git",
)  # fmt: skip
"""Names of that kind, for patterns."""
_DRIVE = re.compile(r"[a-z]:", re.IGNORECASE)
_WINDOWS = re.compile(r"\\|[a-z]:[\\/]", re.IGNORECASE)


class PathForbidden(MicroAgentError):
    """A path leads out of the repository, or to what is closed there, or not to a file; the text says why."""


class FileTooLarge(PathForbidden):
    """The file that a path means is larger than `LARGEST`."""


class Place:
    """Where a file is or will be: an open folder, and the name in it. It closes with `close`, ``with``, or its end.

    Attributes:
        path: From the root, with the names that links led to, joined by slashes.
        directory: The descriptor of the folder that the file is in; of the last one that is there, if some are missing.
        missing: The names of the folders between ``directory`` and the file that are not there yet.
        name: The name of the file.
        file: The descriptor of the file, open for reading; ``None`` for one that is to be written.
        was: What the system says of the file; ``None`` for one that is not there.
    """

    def __init__(
        self, path: str, directory: int, missing: tuple[str, ...], name: str, file: int | None,
        was: os.stat_result | None,
    ) -> None:  # fmt: skip
        """Take over both descriptors."""
        self.path, self.directory, self.missing, self.name = path, directory, missing, name
        self.file, self.was = file, was
        self._open = [directory] if file is None else [directory, file]

    def close(self) -> None:
        """Close what is open. Closing it again does nothing."""
        while self._open:
            os.close(self._open.pop())

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def resolve(root: str | Path, path: str, mode: Literal["read", "write"]) -> Place:
    """The place that a path of the model's means.

    Args:
        root: The repository, a folder that is there.
        path: From the root, or absolute and beneath it; ``~``, ``$`` and ``%`` are ordinary characters.
        mode: ``read`` opens the file, which has to be there. ``write`` finds where it is or may be made.

    Raises:
        PathForbidden: The path leads out of the repository, by itself or by a link, means `.git`, credentials, a
            folder or anything else that is no ordinary file, or is none that a file can have. In ``write`` mode also
            for a link and for a file that has another name, since both may be of somewhere else.
        FileTooLarge: A file that is to be read is larger than `LARGEST`.
        FileNotFoundError: There is no such file to be read.
        OSError: The system refuses to open it.
    """
    top = os.path.abspath(root)
    parts = _parts(top, path, path)
    walk = _Walk(top, path, reading=mode == "read")
    try:
        return walk.along(parts)
    finally:
        walk.close()


def beneath(root: str | Path, path: str) -> str:
    """A path of the model's from the root, by its names alone: for what is not opened, such as paths that git knows.

    Returns:
        The names, joined by slashes; ``""`` for the root.

    Raises:
        PathForbidden: It leads out of the repository, is closed, or is none that a file can have.
    """
    names: list[str] = []
    for name in _parts(os.path.abspath(root), path, path):
        if name == ".." and not names:
            _refuse(path, "leads out of the repository")
        elif name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    for at, name in enumerate(names, 1):
        _refuse_closed(name, path, is_folder=at < len(names))
    return "/".join(names)


def is_closed(path: str) -> bool:
    """Whether a file that is there, by its path from the root, is one of those that are closed to the model."""
    try:
        beneath("/", path)
    except PathForbidden:
        return True
    return False


def _refuse(path: str, why: str) -> NoReturn:
    raise PathForbidden(f"{path!r:.200} {why}")


def _parts(top: str, target: str, path: str) -> list[str]:
    """The names in a path or in the target of a link, once it is one that a file can have."""
    with suppress(UnicodeEncodeError):
        if "\0" not in target and len(os.fsencode(target)) <= _LONGEST:
            return _names(top, target, path)
    _refuse(path, "is not a path: it holds a NUL or half a character, or is too long")


def _names(top: str, target: str, path: str) -> list[str]:
    """The same, from ``top`` on where it is absolute."""
    if "\\" in target:
        names = re.split(r"[\\/]", target)
        if ".." in names or target.startswith("\\") or _DRIVE.match(target):
            _refuse(path, "is a path of Windows: put / between the names")
        for name in names:
            _refuse_closed(name, path, is_folder=True)
    if target.startswith("/"):
        beneath = target.removeprefix(top.rstrip("/") + "/")
        if beneath == target and target.rstrip("/") != top.rstrip("/"):
            _refuse(path, "is outside the repository")
        target = "" if beneath == target else beneath
    return target.split("/")


@lru_cache(maxsize=4_096)
def closed(name: str, *, is_folder: bool = True) -> Literal["git", "credentials"] | None:
    """What closes each file of this name, or below a folder of this name; ``None`` if nothing does."""
    shown = "".join(sign for sign in name if unicodedata.category(sign) != "Cf") if not name.isascii() else name
    plain = shown.casefold().partition(":")[0].rstrip(" .")
    if _GIT.fullmatch(plain):
        return "git"
    return "credentials" if _CREDENTIALS.fullmatch(plain) or (is_folder and plain in _FOLDERS_OF_KEYS) else None


def named(path: str, root: str | None = None) -> Literal["inside", "outside", "git", "credentials"]:
    """Where a path leads by its text alone: nothing is looked up, and links are not followed.

    Args:
        path: As in `resolve`; each name in it may be a folder.
        root: The repository; without it each absolute path is outside.
    """
    top = "\0" if root is None else root.rstrip("/")
    found: Literal["inside", "outside", "git", "credentials"] = "inside"
    if path.startswith("/") or _WINDOWS.match(path):
        beneath = path.removeprefix(f"{top}/")
        if beneath == path and path.rstrip("/") != top:
            found = "outside"
        path = "" if path.rstrip("/") == top else beneath
    depth = 0
    for name in path.replace("\\", "/").split("/"):
        if name not in ("", "."):
            depth += -1 if name == ".." else 1
            found = "outside" if depth < 0 and found == "inside" else found
            found = closed(name) or found
    return found


def closed_by_pattern(pattern: str) -> bool:
    """Whether a pattern of the shell's matches names of credentials, and says so by two letters of them at least."""
    return any(
        fnmatch.fnmatchcase(name, part)
        for part in re.split(r"[/\\]", pattern)
        if re.search(r"[*?\[]", part) and len(re.sub(r"[^A-Za-z_.-]", "", part)) > 1
        for name in _NAMES
    )


def _refuse_closed(name: str, path: str, *, is_folder: bool = False) -> None:
    if len(os.fsencode(name)) > _LONGEST_NAME:
        _refuse(path, "has a name that is too long")
    what = closed(name, is_folder=is_folder)
    if what == "git":
        _refuse(path, "is part of git's own files, which are closed")
    if what == "credentials":
        _refuse(path, "may hold credentials, which are closed")


class _Walk:
    """The open folders from the root on, each with its name."""

    def __init__(self, top: str, path: str, *, reading: bool) -> None:
        self._top, self._path, self._reading, self._links = top, path, reading, 0
        self._folders = [("", os.open(top, _DIRECTORY & ~os.O_NOFOLLOW))]

    def close(self) -> None:
        """Close all of them."""
        while self._folders:
            os.close(self._folders.pop()[1])

    def along(self, parts: list[str]) -> Place:
        """Go on by these names to the place that the last one means."""
        if parts[-1] in ("", ".", ".."):
            _refuse(self._path, "is a folder: name a file")
        ahead = parts[::-1]
        while ahead:
            name = ahead.pop()
            if name in ("", "."):
                continue
            if name == "..":
                self._up()
                continue
            _refuse_closed(name, self._path, is_folder=bool(ahead))
            target = self._target(name)
            if target is not None:
                ahead += self._followed(target, last=not ahead)[::-1]
            elif not ahead:
                return self._at(name)
            elif not self._enter(name):
                return self._in_new([name, *ahead[::-1]])
        _refuse(self._path, "is a folder: name a file")

    def _up(self) -> None:
        if len(self._folders) == 1:
            _refuse(self._path, "leads out of the repository")
        os.close(self._folders.pop()[1])

    def _target(self, name: str) -> str | None:
        """Where a link leads; ``None`` for what is not one, or not there."""
        with suppress(OSError):  # whoever opens it next meets the same fault
            return os.readlink(name, dir_fd=self._folders[-1][1])
        return None

    def _followed(self, target: str, *, last: bool) -> list[str]:
        """The names that stand for a link."""
        self._links += 1
        if last and not self._reading:
            _refuse(self._path, "is a link: name the file that it leads to")
        if self._links > _MOST_LINKS:
            _refuse(self._path, "goes through too many links")
        names = _parts(self._top, target, self._path)
        while target.startswith("/") and len(self._folders) > 1:
            self._up()
        return names

    def _enter(self, name: str) -> bool:
        """Open a folder; whether there is one."""
        try:
            self._folders.append((name, os.open(name, _DIRECTORY, dir_fd=self._folders[-1][1])))
        except FileNotFoundError:
            return False
        except NotADirectoryError:
            _refuse(self._path, "goes through a file as if it were a folder")
        return True

    def _at(self, name: str) -> Place:
        """The place of what has this name in the last folder."""
        try:
            held = os.open(name, _HELD, dir_fd=self._folders[-1][1])
        except FileNotFoundError:
            return self._in_new([name])
        try:
            was = os.fstat(held)
            if not stat.S_ISREG(was.st_mode):
                _refuse(self._path, "is not an ordinary file")
            if not self._reading and was.st_nlink > 1:
                _refuse(self._path, "has another name, which may be outside the repository")
            if self._reading and was.st_size > LARGEST:
                raise FileTooLarge(f"{self._path!r:.200} has {was.st_size} bytes; {LARGEST} are the most that are read")
            file = os.open(f"/dev/fd/{held}", os.O_RDONLY | os.O_CLOEXEC) if self._reading else None
        finally:
            os.close(held)
        return self._place((), name, file, was)

    def _in_new(self, names: list[str]) -> Place:
        """The place of a file that is not there, below folders that are not there either."""
        if self._reading:
            raise FileNotFoundError(f"there is no file {self._path!r:.200}")
        names = [name for name in names if name not in ("", ".")]
        if ".." in names:
            _refuse(self._path, "goes up from a folder that is not there")
        for at, name in enumerate(names, 1):
            _refuse_closed(name, self._path, is_folder=at < len(names))
        return self._place(tuple(names[:-1]), names[-1], None, None)

    def _place(self, missing: tuple[str, ...], name: str, file: int | None, was: os.stat_result | None) -> Place:
        path = "/".join([*(folder for folder, _ in self._folders[1:]), *missing, name])
        return Place(path, self._folders.pop()[1], missing, name, file, was)

"""What a power cut can leave: a model of a disk that is told by strace what was written and what was synced.

Nothing is promised but what was synced: the content of a file up to its last sync, a name in a folder up to the last
sync of the folder. What was not may be there or not, and a file may have its size without its content (NUL bytes).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

CALLS = "openat,write,writev,fdatasync,fsync,link,unlink,rename,mkdir,ftruncate"
NAMING = ("openat", "link", "unlink", "rename", "mkdir")
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
_BEGUN, _ENDED = " <unfinished ...>", re.compile(r"<\.\.\. \w+ resumed>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_DESCRIPTOR = re.compile(r"^\d+<((?:\\x[0-9a-f]{2}|[^>])*)>")


@dataclass
class Folder:
    """The names in a folder, now and on the disk."""

    now: dict[str, "Folder | File"] = field(default_factory=dict[str, "Folder | File"])
    synced: dict[str, "Folder | File"] = field(default_factory=dict[str, "Folder | File"])


@dataclass
class File:
    """The content of a file, now and on the disk."""

    now: bytes = b""
    synced: bytes = b""


class Disk:
    """One folder and what is in it, which begins empty."""

    def __init__(self, root: Path) -> None:
        self._root, self._top = root, Folder()

    def follow(self, log: str) -> list[str]:
        """The lines of a log that change something here, in their order."""
        return [line for line in _joined(log) if self._changes(line)]

    def tell(self, line: str) -> None:
        """One system call was made."""
        match = _CALL.match(line)
        assert match is not None
        call, arguments, result = match[1], match[2], int(match[3])
        strings = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
        if call in NAMING:
            paths = [Path(text.decode()) for text in strings]
            self._name(call, paths[0], paths[-1])
        else:
            found = self._find(_path(arguments))
            if isinstance(found, Folder):
                found.synced = dict(found.now)
            elif call in ("write", "writev"):
                found.now += b"".join(strings)[:result]
                if call == "writev":  # what a run does in the world is done
                    found.synced = found.now
                    self._folder(_path(arguments)).synced[_path(arguments).name] = found
            elif call == "ftruncate":
                found.now = found.now[: int(arguments.rpartition(", ")[2])]
            else:
                found.synced = found.now

    def leave(self, target: Path, random: Random | None = None) -> None:
        """Write down what a power cut leaves now: with ``random`` some of what was not synced, else nothing of it."""
        _leave(self._top, target, random)

    def _changes(self, line: str) -> bool:
        match = _CALL.match(line)
        if match is None or int(match[3]) < 0 or (match[1] == "openat" and "O_CREAT" not in line):
            return False
        text = _TEXT.search(match[2])
        path = Path(_plain(text[1])) if match[1] in NAMING and text else _path(match[2])
        return path.is_relative_to(self._root)

    def _find(self, path: Path) -> Folder | File:
        found: Folder | File = self._top
        for name in path.relative_to(self._root).parts:
            assert isinstance(found, Folder)
            found = found.now[name]
        return found

    def _folder(self, path: Path) -> Folder:
        found = self._find(path.parent)
        assert isinstance(found, Folder)
        return found

    def _name(self, call: str, path: Path, other: Path) -> None:
        """A name was made or removed; ``other`` is the second path of a call that has two."""
        names = self._folder(path).now
        if call == "openat":
            names.setdefault(path.name, File())
        elif call == "mkdir":
            names[path.name] = Folder()
        elif call == "link":
            self._folder(other).now[other.name] = names[path.name]
        else:
            found = names.pop(path.name)
            if call == "rename":
                self._folder(other).now[other.name] = found


def _joined(log: str) -> Iterator[str]:
    """The lines of a log, each call in one: strace cuts those in two between which another thread did something."""
    begun: dict[str, str] = {}
    for line in log.splitlines():
        pid = line.partition(" ")[0]
        if line.endswith(_BEGUN):
            begun[pid] = line.removesuffix(_BEGUN)
        elif pid in begun and (rest := _ENDED.search(line)):
            yield begun.pop(pid) + line[rest.end() :]
        else:
            yield line


def _plain(text: str) -> str:
    return bytes.fromhex(text.replace("\\x", "")).decode()


def _path(arguments: str) -> Path:
    match = _DESCRIPTOR.match(arguments)
    return Path(_plain(match[1]) if match and match[1].startswith("\\x") else match[1] if match else "")


def _leave(folder: Folder, target: Path, random: Random | None) -> None:
    target.mkdir(mode=0o700)
    names = {*folder.synced} if random is None else {*folder.synced, *folder.now}
    for name in sorted(names):
        on_disk, now = folder.synced.get(name), folder.now.get(name)
        entry = on_disk if random is None or (on_disk is not now and random.random() < 0.5) else now
        if isinstance(entry, Folder):
            _leave(entry, target / name, random)
        elif isinstance(entry, File):
            (target / name).write_bytes(entry.synced + _unsynced(entry, random))


def _unsynced(file: File, random: Random | None) -> bytes:
    """Some of what a file holds beyond its last sync, or NUL bytes in its place."""
    rest = file.now[len(file.synced) :]
    if random is None or not file.now.startswith(file.synced):
        return b""
    size = random.randrange(len(rest) + 1)
    return random.choice((rest[:size], bytes(size), rest[:size] + bytes(len(rest) - size)))

"""What no program of a sandbox reads (credentials, our own state) and what none may change (git's files and policies).

The lists are in ``closed.json``; what is closed inside a repository is told by the rules of `micro_agent.coding.paths`.
"""

import json
import os
import pwd
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from micro_agent.coding.paths import closed

_TICK_NS = 100_000_000


@cache
def _lists() -> dict[str, list[str]]:
    return json.loads(Path(__file__).with_name("closed.json").read_text(encoding="utf-8"))


def policies() -> tuple[str, ...]:
    """The names at the top of a repository that decide something: nobody changes or makes them from inside."""
    return tuple(_lists()["policy"])


def is_laid(path: Path) -> bool:
    """Whether what is there was laid there to keep the name: a socket of mode 0."""
    return os.lstat(path).st_mode == stat.S_IFSOCK


def outside(masked: Sequence[Path]) -> list[Path]:
    """What is there of credentials outside of repositories, and of these paths: real, and none within another."""
    homes = {os.environ.get("HOME", ""), _home()} - {""}
    found = [f"{home}/{name}" for home in homes for name in _lists()["of_home"]]
    found += _lists()["of_system"]
    for variable in _lists()["named_by_variables"]:
        found += [name for name in os.environ.get(variable, "").split(":") if os.path.isabs(name)]
    readable = [*map(str, masked), *(path for path in found if os.access(path, os.R_OK))]
    kept: list[str] = []
    for path in sorted({os.path.realpath(path) + "/" for path in readable if os.path.lexists(path)}):
        if not kept or not path.startswith(kept[-1]):  # what lies in another stands right behind it
            kept.append(path)
    return [Path(path) for path in kept]


def _home() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user of a container, who has a number only
        return ""


@dataclass(frozen=True, slots=True)
class _Folder:
    """What a folder held when it was last read."""

    changed: int
    folders: tuple[str, ...]
    secrets: tuple[str, ...]
    gits: tuple[str, ...]


@dataclass(slots=True)
class Inside:
    """What is closed inside one repository. A folder is read again only when something was made or removed in it.

    Folders of installed packages are not looked through: they hold what anybody can download.
    """

    root: Path
    _known: dict[str, _Folder] = field(default_factory=dict[str, _Folder])

    def found(self) -> tuple[list[Path], list[Path]]:
        """What is closed to reading, and the `.git` of the repositories inside of it, as of now.

        Besides credentials those are sockets, pipes and devices, which lead out.
        """
        secrets: list[Path] = []
        gits: list[Path] = []
        waiting = [str(self.root)]
        known: dict[str, _Folder] = {}
        while waiting:
            path = waiting.pop()
            try:
                changed = os.stat(path).st_mtime_ns
                folder = self._known.get(path)
                if folder is None or folder.changed != changed:
                    folder = _read(path, changed)
            except OSError:  # removed meanwhile, or closed to us as well
                continue
            known[path] = folder
            waiting += [f"{path}/{name}" for name in folder.folders]
            secrets += [Path(path, name) for name in folder.secrets]
            gits += [Path(path, name) for name in folder.gits]
        self._known = known
        kept = [self.root / name for name in policies()]
        secrets = [path for path in secrets if path not in kept or not is_laid(path)]
        inner = [path for path in gits if path.parent != self.root]
        return [real for path in secrets for real in self._real(path)], inner

    def _real(self, path: Path) -> Iterator[Path]:
        """The file itself where a link stands for it, if it is the user's: a link may name a file of the system."""
        if not path.is_symlink():
            yield path
            return
        real = Path(os.path.realpath(path))
        if real.exists() and (self.root in real.parents or Path(_home() or "/nowhere") in real.parents):
            yield real


def _read(path: str, changed: int) -> _Folder:
    folders: list[str] = []
    secrets: list[str] = []
    gits: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            why = closed(entry.name, is_folder=is_folder)
            if why == "git":
                gits += [] if entry.is_symlink() else [entry.name]
            elif why or not (is_folder or entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                secrets.append(entry.name)
            elif is_folder and entry.name not in _lists()["installed"]:
                folders.append(entry.name)
    # What is made within the same tick of the file system's clock would not be seen: read again what is that young.
    if time.time_ns() - changed < _TICK_NS:
        changed = -1
    return _Folder(changed, tuple(folders), tuple(secrets), tuple(gits))

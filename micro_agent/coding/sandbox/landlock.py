"""Programs held by Landlock and a filter of system calls, for machines without namespaces for users.

Landlock allows and never takes back: what lies beside a closed path is allowed piece by piece. So nothing can be made
at the top of the repository, where `.git` lies; what is there already can be changed. There is no process namespace:
the list of all processes can be seen, and what a program starts is ended by the launcher.
"""

import ctypes
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from micro_agent.coding.sandbox.clone import launched
from micro_agent.coding.sandbox.closed import Inside, outside, policies
from micro_agent.coding.sandbox.contract import USUAL, Bounds, Kind, Profile, Ran, SandboxUnavailable, Stage
from micro_agent.coding.sandbox.holding import copied, held, new_folder
from micro_agent.coding.sandbox.noting import noted
from micro_agent.coding.sandbox.seccomp import program
from micro_agent.coding.sandbox.stages import beside_others, environment, folder_of, supervised

_READ_FILE, _READ_FOLDER = 1 << 0 | 1 << 2, 1 << 3
_READ = _READ_FILE | _READ_FOLDER
_ALL = (1 << 16) - 1
_DEVICE = 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_HANDLED = [_ALL, 1 << 0 | 1 << 1, 1 << 0 | 1 << 1]
"""All of files, TCP, and what is outside of it: abstract sockets and signals."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SHARED = ("/tmp", "/var/tmp", "/run", "/dev")
_OLDEST = 6
"""The version of Landlock that keeps signals and abstract sockets inside, of Linux 6.12."""
_CREATE_RULESET = 444


def version() -> int:
    """The version of Landlock that the kernel has; 0 without it."""
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1)))


@dataclass(frozen=True, slots=True)
class Landlock:
    """Landlock around one repository.

    Attributes:
        root: The repository, absolute and without links.
        state: The folder of its state, which is closed.
        masked: What else is closed.
    """

    root: Path
    state: Path
    masked: tuple[Path, ...] = ()
    kind: Kind = "landlock"
    enforces: bool = True
    inside: Inside = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", Inside(self.root))

    @noted
    def run(
        self, pipeline: Sequence[Stage], profile: Profile, *, cwd: str = ".", env: Mapping[str, str] | None = None,
        stdin: bytes = b"", bounds: Bounds = USUAL,
    ) -> Ran:  # fmt: skip
        """See `Sandbox.run`."""
        folder_of(self.root, cwd)
        if (found := version()) < _OLDEST:
            raise SandboxUnavailable(f"the kernel has version {found} of Landlock; {_OLDEST} is needed (Linux 6.12)")
        with held(self.state, self.root):
            home = new_folder(self.state)
            root = self.root
            allowed = [*self._allowed(profile), (_ALL, str(home)), *((_DEVICE, path) for path in _DEVICES)]
            if profile == "try":
                root = copied(self.root, self.state)
                _without_secrets(root)
                allowed.append((_ALL, str(root)))
            variables = environment(self.root, home=str(home), added=env)
            rules: dict[str, Any] = {"handled": _HANDLED, "allowed": allowed}
            refused = program(internet=False)
            folder, argv = folder_of(root, cwd), supervised(pipeline, beside_others(bounds))
            return launched(argv, folder, variables, stdin, bounds, rules=rules, refused=refused)[0]

    def _allowed(self, profile: Profile) -> list[tuple[int, str]]:
        secrets, gits = self.inside.found()
        closed = {*outside([self.state, *self.masked]), *map(Path, _SHARED)}
        allowed = [(_READ, path) for path in _beside(Path("/"), {*closed, self.root})]
        closed.update(secrets)
        allowed += [(_READ, path) for path in _beside(self.root, closed)]
        around = {
            self.root,
            *(folder for secret in secrets for folder in secret.parents if self.root in folder.parents),
        }
        allowed += [(_READ_FOLDER, str(path)) for path in around]
        if profile == "rw-repo":
            closed.update(gits, (self.root / name for name in policies()))
            allowed += [(_ALL, path) for path in _beside(self.root, closed, divided=True)]
        return allowed


def _beside(folder: Path, closed: set[Path], *, divided: bool = False) -> list[str]:
    """What a folder is allowed by: itself if nothing in it is closed (nor ``divided`` asked for), else piece by piece.

    Links are left out: what they name is allowed where it is.
    """
    shut = {str(path) for path in closed}
    parted = {str(parent) for path in closed for parent in path.parents} | ({str(folder)} if divided else set[str]())
    found: list[str] = []
    waiting = [str(folder)]
    while waiting:
        path = waiting.pop()
        if path in shut:
            continue
        if path not in parted:
            found.append(path)
            continue
        with suppress(OSError), os.scandir(path) as entries:  # it may be closed to us as well
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not entry.is_symlink() and entry.path not in shut:
                    found.append(entry.path)
    return found


def _without_secrets(root: Path) -> None:
    for path in Inside(root).found()[0]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

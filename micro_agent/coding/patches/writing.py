"""All changes of a patch are written, or none, whatever ends the process in between.

The new contents are written beside the files, then each is renamed into its place. A journal in the folder of state
says beforehand what will be done, and keeps what was there. Whoever comes next and finds one takes back what was done:
the patch was not applied.
"""

import fcntl
import json
import logging
import os
import secrets
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from micro_agent.coding.contents import is_as_it_was, write_beside
from micro_agent.coding.patches.changes import Change
from micro_agent.coding.patches.faults import PatchError, misfit
from micro_agent.coding.paths import PathForbidden, Place, resolve
from micro_agent.files.jsonl import open_file, private_folder, sync_folder, write_over

_log = logging.getLogger("micro_agent")
_JOURNAL, _LOCK, _BLOBS = "pending.json", "lock", "blobs"


def folder_of(state: Path) -> Path:
    """Where the patches of a repository are kept, below its folder of state."""
    return state / "patches"


@contextmanager
def alone(root: Path, state: Path) -> Generator[None]:
    """Be the only one who applies patches to this repository; what somebody was killed at is taken back first."""
    folder = folder_of(state)
    with ExitStack() as opened:
        try:
            private_folder(folder)
            descriptor = open_file(folder / _LOCK, os.O_RDWR | os.O_CREAT)
            opened.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            _recover(root, folder)
        except OSError as error:
            raise misfit(f"patches cannot be kept in {folder}: {error}") from error
        yield


def digest(data: bytes | None) -> str | None:
    """The sha256 of a file; ``None`` for one that is not there."""
    return None if data is None else sha256(data).hexdigest()


def keep(folder: Path, data: bytes) -> None:
    """Keep what a file holds under its sha256."""
    path = folder / _BLOBS / sha256(data).hexdigest()
    private_folder(path.parent)
    if not path.exists():
        write_over(path, [data])


def kept(folder: Path, name: str) -> bytes:
    """What `keep` kept. Raises `OSError`."""
    return (folder / _BLOBS / name).read_bytes()


Record = tuple[str, Callable[[list[str]], bytes]]
"""The name of a file in the folder of patches, and its content, given the folders that are made."""


def write(
    root: Path, changes: Sequence[Change], state: Path, record: Record | None = None, *, emptied: Sequence[str] = ()
) -> None:
    """Write all changes, or none. The caller is `alone`.

    Args:
        root: The top of the repository.
        changes: What becomes of each file.
        state: The folder of the repository's state.
        record: The file in the folder of patches that says that it was done. It is written if and only if the changes
            are.
        emptied: Folders that go with the files in them, if nothing else is there.

    Raises:
        PatchError: A file is another than when the changes were worked out, or cannot be written. Nothing was changed.
    """
    folder = folder_of(state)
    staged: list[_Staged] = []
    try:
        staged += [_Staged(change, resolve(root, change.path, "write")) for change in changes]
        for change in changes:
            if change.before is not None:
                keep(folder, change.before)
        write_over(folder / _JOURNAL, [_journal(staged)])
        made = list(dict.fromkeys(name for one in staged for name in one.made()))
        done = {"record": record and [record[0], record[1](made).decode()], "emptied": list(emptied)}
        _carry_out(root, folder, staged, json.dumps({"format": 1, "entries": [], **done}).encode())
    except (PathForbidden, OSError) as error:
        raise misfit(f"the patch cannot be written, and nothing was changed: {error}") from error
    finally:
        for one in staged:
            one.close()
    try:
        _recover(root, folder)
    except OSError as error:  # the journal says that it was done: whoever comes next finishes it
        _log.warning("%s is left: %s", folder / _JOURNAL, error)


def _carry_out(root: Path, folder: Path, staged: "Sequence[_Staged]", done: bytes) -> None:
    """Do what the journal says, and write down there that it was done; or take back what was."""
    try:
        for one in staged:
            one.stage()
        for one in staged:
            one.finish()
        for one in staged:
            os.fsync(one.directory)
        write_over(folder / _JOURNAL, [done])
    except BaseException:
        if not _recover(root, folder):
            raise


@dataclass(slots=True)
class _Staged:
    """One change on its way into its place."""

    change: Change
    place: Place
    directory: int = -1
    temporary: str = ""

    def __post_init__(self) -> None:
        self.temporary = f".micro-agent-{secrets.token_hex(8)}.tmp"

    def made(self) -> list[str]:
        """The folders that are made for it, from the root, the first one first."""
        parts = self.change.path.split("/")[:-1]
        missing = len(self.place.missing)
        return ["/".join(parts[: len(parts) - missing + at + 1]) for at in range(missing)]

    def stage(self) -> None:
        """Make the folders, and write the new content beside the file."""
        self.directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.place.directory)
        for name in self.place.missing:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.directory)
                os.fsync(self.directory)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = os.open(name, flags, dir_fd=self.directory)
            os.close(self.directory)
            self.directory = below
        change = self.change
        if change.after is not None:
            write_beside(self.directory, self.temporary, change.after, change.mode & 0o777, change.was)

    def finish(self) -> None:
        """Put the content into its place, if what is there is what was read."""
        name = self.place.name
        if not is_as_it_was(self.directory, name, self.change.was):
            raise misfit(f"{self.change.path} was changed by somebody else in the meantime", self.change.path)
        if self.change.after is None:
            os.unlink(name, dir_fd=self.directory)
        else:
            os.rename(self.temporary, name, src_dir_fd=self.directory, dst_dir_fd=self.directory)

    def close(self) -> None:
        """Close what is open."""
        if self.directory >= 0:
            os.close(self.directory)
        self.place.close()


def _journal(staged: Sequence[_Staged]) -> bytes:
    entries = [
        {
            "path": one.change.path, "temporary": one.temporary, "made": one.made(),
            "before": digest(one.change.before), "after": digest(one.change.after), "mode": _mode(one.change),
        }
        for one in staged
    ]  # fmt: skip
    return json.dumps({"format": 1, "entries": entries}).encode()


def _mode(change: Change) -> int:
    return change.mode if change.was is None else change.was.st_mode & 0o777


def _recover(root: Path, folder: Path) -> bool:
    """Take back what a journal says, if there is one; where all was done, say so in the record of the patch instead.

    Returns:
        Whether all was done.
    """
    try:
        journal = json.loads((folder / _JOURNAL).read_bytes())
    except FileNotFoundError:
        return False
    is_done = "record" in journal
    if is_done and journal["record"] is not None:
        write_over(folder / journal["record"][0], [journal["record"][1].encode()])
    entries = cast("list[dict[str, Any]]", journal["entries"])
    for entry in reversed(entries):
        try:
            _take_back(root, folder, entry)
        except (PathForbidden, PatchError, OSError) as error:
            _log.warning("%r stays as it is after a patch that was not finished: %s", entry["path"], error)
    folders = {made for entry in entries for made in entry["made"]} | {*journal.get("emptied", ())}
    for made in sorted(folders, key=len, reverse=True):
        with suppress(PathForbidden, OSError), resolve(root, f"{made}/x", "write") as place:
            if not place.missing:
                parent, _, name = made.rpartition("/")
                with resolve(root, f"{parent}/x" if parent else "x", "write") as above:
                    os.rmdir(name, dir_fd=above.directory)
    (folder / _JOURNAL).unlink()
    sync_folder(folder)
    return is_done


def _take_back(root: Path, folder: Path, entry: dict[str, Any]) -> None:
    """Put one file back as it was, if it is as the patch made it."""
    with resolve(root, entry["path"], "write") as place:
        if place.missing:
            return
        with suppress(FileNotFoundError):
            os.unlink(entry["temporary"], dir_fd=place.directory)
        now = digest(content_at(place))
        if now == entry["before"]:
            return
        if now != entry["after"]:
            raise misfit("somebody changed it since")
        if entry["before"] is None:
            os.unlink(place.name, dir_fd=place.directory)
            return
        before = kept(folder, entry["before"])
        write_beside(place.directory, entry["temporary"], before, entry["mode"] & 0o777, place.was)
        os.rename(entry["temporary"], place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)


def content_at(place: Place) -> bytes | None:
    """What is at a place; ``None`` where nothing is."""
    if place.was is None:
        return None
    descriptor = os.open(place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place.directory)
    with open(descriptor, "rb") as file:
        return file.read()

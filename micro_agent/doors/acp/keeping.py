"""The sessions that an editor can load again: one small file each, which names the run that came last."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from micro_agent.errors import RunNotFound
from micro_agent.files.jsonl import private_folder, storage_error, write_over

_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a session.

    Attributes:
        id: Its id.
        cwd: The folder that it was opened for.
        mode: ``code`` or ``chat``.
        approvals: What becomes of calls that a person has to approve.
        run: The id of the run that came last, ``None`` before the first one.
        title: The beginning of what was asked first.
    """

    id: str
    cwd: str
    mode: str
    approvals: str
    run: str | None = None
    title: str | None = None


class Keeping:
    """The folder of sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, kept: Kept) -> None:
        """Write a session down. Raises `StorageError`."""
        path = self._folder / f"{kept.id}.json"
        try:
            private_folder(self._folder)
            write_over(path, [json.dumps(asdict(kept)).encode() + b"\n"])
        except OSError as error:
            raise storage_error("write", path, error) from error

    def get(self, ident: str) -> Kept:
        """A session. Raises `RunNotFound`."""
        found = self._read(self._folder / f"{ident}.json") if _ID.fullmatch(ident) else None
        if found is None:
            raise RunNotFound(f"there is no session {ident[:60]!a}: begin a new one")
        return found

    def all(self) -> Iterator[tuple[Kept, str]]:
        """The sessions in which something was asked, the latest first, each with when that was (ISO 8601)."""
        paths = [path for path in self._folder.glob("*.json") if _ID.fullmatch(path.stem)]
        found = [(self._read(path), path) for path in paths]
        times = [(path.stat().st_mtime, kept) for kept, path in found if kept is not None and kept.run is not None]
        for time, kept in sorted(times, key=lambda one: one[0], reverse=True):
            yield kept, datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def _read(self, path: Path) -> Kept | None:
        try:
            data = json.loads(path.read_bytes())
            return Kept(**{field.name: data[field.name] for field in fields(Kept)})
        except (OSError, ValueError, TypeError, KeyError):  # none, or of no use
            return None

"""The patches of a repository: proposed, approved or rejected, applied, undone. One file each, in its folder of state.

Any number of processes can use the folder. Who changes a patch holds the lock that who applies one holds.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

from micro_agent.coding.patches.changes import Change, Plan
from micro_agent.coding.patches.faults import PatchError, misfit
from micro_agent.coding.patches.opinion import check_with_git
from micro_agent.coding.patches.planning import plan
from micro_agent.coding.patches.writing import Record, alone, content_at, digest, folder_of, kept, write
from micro_agent.coding.paths import PathForbidden, resolve
from micro_agent.coding.sandbox import Sandbox
from micro_agent.files.jsonl import write_over
from micro_agent.tools.error import ToolError

Status = Literal["proposed", "approved", "rejected", "applied", "undone"]
_ID = re.compile(r"patch_[0-9a-f]{10}")


@dataclass(frozen=True, slots=True)
class Kept:
    """One path of a patch that was applied: the sha256 of what it held and holds, ``None`` where it is not there."""

    path: str
    before: str | None
    after: str | None
    mode: int


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch of a repository.

    Attributes:
        id: ``patch_`` and 10 hexadecimal digits of the sha256 of the root and the diff.
        intent: What it is for, in the words of who proposed it.
        diff: The diff, in its one form.
        files: The files that it changes.
        repaired: What was put right in what was proposed.
        status: What became of it.
        feedback: What the person said who decided.
        approved: The sha256 of the diff that was approved; ``None`` if none was.
        times: When it got each status, in UTC.
        changes: What it did, if it was applied.
        folders: Those that were made for its files.
    """

    id: str
    intent: str
    diff: str
    files: tuple[str, ...]
    repaired: tuple[str, ...] = ()
    status: Status = "proposed"
    feedback: str | None = None
    approved: str | None = None
    times: dict[str, str] = field(default_factory=dict[str, str])
    changes: tuple[Kept, ...] = ()
    folders: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The sha256 of the diff."""
        return _sha(self.diff)

    @property
    def is_approved(self) -> bool:
        """Whether a person agreed to this very diff."""
        return self.approved is not None and self.approved == self.digest


def id_of(root: Path, diff: str) -> str:
    """The id of a patch."""
    return "patch_" + _sha(f"{root}\0{diff}")[:10]


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


class Patches:
    """The patches of one repository."""

    def __init__(self, root: Path, state: Path) -> None:
        """Use the folder of state of this repository; nothing is made before something is written."""
        self._root, self._state = root, state

    @property
    def root(self) -> Path:
        """The top of the repository."""
        return self._root

    def all(self) -> tuple[list[Patch], list[str]]:
        """All patches, the newest first, and the names of files that cannot be read."""
        found: list[Patch] = []
        damaged: list[str] = []
        for path in folder_of(self._state).glob("patch_*.json"):
            try:
                found.append(_read(path.read_bytes()))
            except (OSError, ValueError, TypeError, KeyError):
                damaged.append(str(path))
        return sorted(found, key=lambda patch: patch.times["proposed"], reverse=True), sorted(damaged)

    def get(self, patch_id: str) -> Patch:
        """One patch. Raises `ToolError` with ``PATCH_NOT_FOUND``."""
        path = folder_of(self._state) / f"{patch_id}.json"
        if _ID.fullmatch(patch_id):
            try:
                return _read(path.read_bytes())
            except FileNotFoundError:
                pass
            except (OSError, ValueError, TypeError, KeyError) as error:
                raise ToolError("PATCH_NOT_FOUND", f"patch {patch_id} cannot be read: {error}") from error
        raise ToolError("PATCH_NOT_FOUND", f"there is no patch {patch_id!r:.60}: use the patch_id of a proposal")

    def propose(self, planned: Plan, intent: str) -> Patch:
        """Put a patch into the queue. One that waits there, or is approved, stays as it is."""
        patch_id = id_of(self._root, planned.diff)
        with alone(self._root, self._state):
            try:
                there = self.get(patch_id)
                if there.status in ("proposed", "approved"):
                    return there
            except ToolError:
                pass
            patch = Patch(patch_id, intent, planned.diff, planned.files, planned.repaired)
            return self._put(_now(patch, "proposed"))

    def decide(
        self, patch_id: str, *, approved: bool, feedback: str | None = None, seen: Status | None = None,
        diff: str | None = None,
    ) -> Patch:  # fmt: skip
        """Write down what a person decided. A patch that was applied stays applied.

        Args:
            patch_id: Which patch.
            approved: Whether it may be applied.
            feedback: What the person said.
            seen: The status that the person was shown: if it is another by now, nothing is decided.
            diff: The sha256 of the diff that was shown, likewise.

        Raises:
            ToolError: It is not there, or not what was shown.
        """
        with alone(self._root, self._state):
            patch = self.get(patch_id)
            if seen not in (None, patch.status) or diff not in (None, patch.digest):
                told = f"{patch_id} is {patch.status} by now: look at it again"
                raise PatchError("PATCH_APPLY_FAILED", f"somebody else decided first, {told}")
            if patch.status == "applied":
                return patch
            decided = replace(patch, feedback=feedback, approved=_sha(patch.diff) if approved else None)
            return self._put(_now(decided, "approved" if approved else "rejected"))

    def apply(self, patch_id: str, sandbox: Sandbox | None = None) -> Patch:
        """Apply an approved patch, once.

        Raises:
            ToolError: It is not approved, was applied already, or does not fit the files any more.
        """
        with alone(self._root, self._state):
            patch = self.get(patch_id)
            if patch.status == "applied":
                raise PatchError("PATCH_APPLY_FAILED", f"{patch_id} was applied already: nothing is left to do")
            if patch.status != "approved" or not patch.is_approved:
                raise ToolError("APPROVAL_REQUIRED", f"{patch_id} is {patch.status}: a person has to approve it first")
            planned = plan(self._root, patch.diff)
            if any("line numbers" not in repaired for repaired in planned.repaired) or planned.files != patch.files:
                raise misfit(f"{patch_id} does not fit any more: the files have changed since", patch.files[0])
            check_with_git(self._root, planned.data, sandbox)
            changes = tuple(_kept(change) for change in planned.changes)
            done = _now(replace(patch, changes=changes), "applied")
            record: Record = (f"{patch_id}.json", lambda made: _written(replace(done, folders=tuple(made))))
            write(self._root, planned.changes, self._state, record)
            return done

    def undo(self, patch_id: str) -> Patch:
        """Put back what was there before a patch was applied; folders that it made go, if nothing else is in them.

        Raises:
            ToolError: It is not applied, or a file has changed since.
        """
        with alone(self._root, self._state):
            patch = self.get(patch_id)
            if patch.status != "applied":
                raise PatchError("PATCH_APPLY_FAILED", f"{patch_id} is {patch.status}, not applied: nothing to undo")
            changes = [self._back(change) for change in patch.changes]
            done = _now(replace(patch, approved=None), "undone")
            record: Record = (f"{patch_id}.json", lambda made: _written(done))
            write(self._root, changes, self._state, record, emptied=patch.folders)
            return done

    def _back(self, change: Kept) -> Change:
        """The change that takes one back. Raises `PatchError` for a file that is not as the patch left it."""
        try:
            with resolve(self._root, change.path, "write") as place:
                now = content_at(place)
                if digest(now) != change.after:
                    raise misfit(
                        f"{change.path} has changed since: nothing was undone; `git diff` shows it", change.path
                    )
                before = None if change.before is None else kept(folder_of(self._state), change.before)
                return Change(change.path, now, before, change.mode, place.was)
        except PathForbidden as error:
            raise misfit(f"{error}: nothing was undone") from error
        except OSError as error:
            raise misfit(f"what {change.path} held before cannot be read: {error}") from error

    def _put(self, patch: Patch) -> Patch:
        write_over(folder_of(self._state) / f"{patch.id}.json", [_written(patch)])
        return patch


def _kept(change: Change) -> Kept:
    mode = change.mode if change.was is None else change.was.st_mode
    return Kept(change.path, digest(change.before), digest(change.after), mode & 0o777)


def _now(patch: Patch, status: Status) -> Patch:
    times = {**patch.times, status: datetime.now(UTC).isoformat(timespec="microseconds")}
    return replace(patch, status=status, times=times)


def _written(patch: Patch) -> bytes:
    return json.dumps(asdict(patch), indent=1).encode() + b"\n"


def _read(raw: bytes) -> Patch:
    data = json.loads(raw)
    changes: Sequence[dict[str, str]] = data.pop("changes")
    lists = {name: tuple(data.pop(name)) for name in ("files", "repaired")}
    data["folders"] = tuple(data.get("folders", ()))
    return Patch(**data, **lists, changes=tuple(Kept(**change) for change in changes))  # pyright: ignore[reportArgumentType]

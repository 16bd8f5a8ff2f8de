"""The journal of a run under way: one event a line, appended as it happens; the only truth until the run has ended.

`micro_agent.traces.TraceStore` makes and opens journals; docs/design/durability.md tells what holds when a process is
killed between any two lines of this file.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from micro_agent.errors import AlreadyDecided, StorageError
from micro_agent.files.jsonl import append, open_file, storage_error, sync_folder
from micro_agent.files.masking import Mask
from micro_agent.run import LMCall, Run, Step, utc_now
from micro_agent.storage.decisions import (
    Choice,
    Decision,
    create_decision,
    decision_of,
    decision_path,
    question_digest,
    read_decision,
)
from micro_agent.storage.folding import FORMAT, Folded, Pending, fold
from micro_agent.storage.locks import hold, open_held

__all__ = ["Decision", "Folded", "Journal", "fold"]

Recorder = Callable[[Run, bool], Path]


class Journal:
    """An open journal, held by this object alone until it is closed. Every method that writes raises `StorageError`.

    ``run`` is the run that was started, or the folded one: running again, or as it ended when only the end of `finish`
    is missing. ``damage`` says in one line what was wrong with the file when it was read, ``None`` if nothing was.
    Whoever opened the journal changes ``run``; the journal only writes what it is told.
    """

    def __init__(self, descriptor: int, path: Path, folded: Folded, *, mask: Mask, record: Recorder) -> None:
        self.run = folded.run
        self.damage = folded.damage
        self._descriptor = descriptor
        self._path = path
        self._pending = folded.pending
        self._unsure = folded.unsure
        self._events = folded.events
        self._replies = len(folded.run.calls)
        self._place = _place(folded.run.calls[-1]) if folded.run.calls else None
        self._entry_synced = False
        self._must_last = False
        self._may_be_decided = False
        self._end: int | None = None
        self._mask = mask
        self._record = record

    @classmethod
    def create(cls, path: Path, run: Run, *, mask: Mask, record: Recorder) -> Self:
        """Make the journal of a new run, take its lock and write its first event. The folder must exist.

        ``record`` appends a run to its trace, at most once and durably if told so, and returns the trace's path.

        Raises:
            StorageError: it cannot be written, or there is a journal of this run.
        """
        try:
            descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        except FileExistsError as error:
            raise StorageError(f"run {run.id} has a journal already: resume it, or start another run") from error
        except OSError as error:
            raise storage_error("create the journal", path, error) from error
        journal = cls(descriptor, path, Folded(run, Pending()), mask=mask, record=record)
        try:
            hold(descriptor, path)
            journal._write("started", format=FORMAT, run=run)
        except BaseException:
            with suppress(OSError):  # the first error counts
                path.unlink()
            journal.close()
            raise
        return journal

    @classmethod
    def open(cls, path: Path, *, mask: Mask, record: Recorder) -> Self:
        """Take the lock of a journal, fold it and write that it was resumed.

        Raises:
            FileNotFoundError: there is none (any more).
            RunBusy: somebody holds it.
            StorageError: it cannot be read or written, or no run starts in it.
        """
        descriptor = open_held(path)
        try:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                folded = fold(file, mask=mask)
            journal = cls(descriptor, path, folded, mask=mask, record=record)
            journal._write("resumed")
            journal._must_last = journal._may_be_decided = True
        except BaseException:
            os.close(descriptor)
            raise
        return journal

    @property
    def has_ended(self) -> bool:
        """Whether the end of the run is written down: it is resumed as it ended, and `finish` does the rest."""
        return self._pending.ended

    @property
    def asked_at(self) -> str | None:
        """When the open question was asked for the first time, as `utc_now`."""
        return self._pending.since

    def replied(self, call: LMCall) -> None:
        """A reply of the model is in."""
        self._write("reply", index=self._replies, call=call)
        self._place = _place(call)
        self._replies += 1
        self._pending.moved_on()

    def sampled(self, run: Run, written: int) -> None:
        """Another reply may have taken the place of the last of so many that are written."""
        if written and (now := _place(call := run.calls[written - 1])) != self._place:
            self._write("sampled", index=written - 1, call=call, usage=run.usage)
            self._place = now
            self._pending.sampled(written - 1)

    def step(self, step: Step) -> None:
        """A step is added to the run; of a tool: it is done."""
        self._write("step", step=step)
        self._pending.stepped(step)

    def tool_started(
        self, call: int, call_id: str | None, tool: str, args: dict[str, Any], *, side_effects: bool, sync: bool = True
    ) -> None:
        """A tool is about to run. With ``side_effects`` this is on the disk when the method returns.

        ``sync=False`` leaves that to the caller, who must call `sync` (in a thread, say) before the tool runs.
        """
        self._write("tool_started", call=call, call_id=call_id, tool=tool, args=args, side_effects=side_effects)
        self._pending.tool_started(call, call_id, tool)
        if side_effects and sync:
            self.sync()

    def sync(self) -> None:
        """Wait until what was written is on the disk, the first time also the name of the journal in its folder."""
        self._check_open()
        self._must_last = True
        try:
            os.fdatasync(self._descriptor)
            if not self._entry_synced:
                sync_folder(self._path.parent)
                sync_folder(self._path.parent.parent)
                self._entry_synced = True
        except OSError as error:
            raise storage_error("make durable", self._path, error) from error

    def asked(self, confirmation: dict[str, Any]) -> None:
        """A person is asked; ``confirmation`` has the key ``sha256`` of what is shown."""
        self._write("asked", confirmation=confirmation)
        self._must_last = self._may_be_decided = True
        self._pending.asked(confirmation, utc_now())

    def decided(self, decision: Choice, feedback: str | None = None, args: dict[str, Any] | None = None) -> None:
        """The open question is decided, and the run acts on it next."""
        made = decision_of(decision, feedback, args)
        self._write("decided", **made.data)
        self._pending.decided(made)

    def ended(self, run: Run) -> None:
        """The run has ended as ``run`` says. Written once, also when `finish` is called after it."""
        if not self._pending.ended:
            self._write("ended", run=run.model_dump(exclude={"steps", "calls"}))
            self._pending.ended = True

    def interrupted(self, call: int, call_id: str | None) -> bool:
        """Whether this tool call had started and its step is missing, so that it may or may not have happened.

        True for every call of the replies before a place where damage has cost whole events: then nobody knows.
        """
        return call < self._unsure or self.began(call, call_id)

    def began(self, call: int, call_id: str | None) -> bool:
        """Whether the journal itself says that this call had started, and its step is missing."""
        return (call, call_id) in self._pending.started

    def decision(self, confirmation: dict[str, Any]) -> Decision | None:
        """The decision about this question, recorded or made elsewhere; ``None`` while there is none. Cheap to poll."""
        asked = self._pending.confirmation
        if asked is not None and asked["sha256"] == confirmation["sha256"] and self._pending.decision is not None:
            return self._pending.decision
        path, digest = self._question(confirmation)
        return read_decision(path, digest, self._mask)

    def settle(
        self, confirmation: dict[str, Any], decision: Choice, feedback: str | None = None,
        args: dict[str, Any] | None = None,
    ) -> Decision:  # fmt: skip
        """Decide here. When somebody else was first, theirs stands and is returned."""
        mine = decision_of(decision, feedback, args)
        theirs = self.decision(confirmation)
        if theirs is None:
            path, digest = self._question(confirmation)
            try:
                create_decision(path, digest, mine, self._mask)
            except AlreadyDecided:
                theirs = read_decision(path, digest, self._mask)
        return theirs or mine

    def finish(self, run: Run) -> Path:
        """Write the run's record to its trace and let go of the journal; returns the trace's path.

        A run that waits for confirmation keeps its journal. After a kill anywhere in here, `finish` of the resumed
        journal does what was left to do; the record is not written twice. Where nothing of a run had to be synced, the
        record is not either: a power cut can lose that run, as it could while it was under way, and nothing else.
        """
        paused = run.status == "confirmation_required"
        if not paused:
            self.ended(run)
        if paused or self._must_last:  # a journal that a power cut brings back knows that its run has ended
            self.sync()
        trace = self._record(run, self._must_last)
        if not paused:
            self._remove()
        self.close()
        return trace

    def close(self) -> None:
        """Let go of the run; the journal stays. Closing again does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _question(self, confirmation: dict[str, Any]) -> tuple[Path, str]:
        digest = question_digest(self._pending.settled, confirmation)
        return decision_path(self._path.parent, self.run.id, digest), digest

    def _remove(self) -> None:
        """Remove the decisions first: what is left after a kill is a journal, which `resume` finds."""
        try:
            if self._may_be_decided:  # else nothing was ever asked, and the folder need not be searched
                for path in self._path.parent.glob(f"{self._path.stem}.*"):
                    if path != self._path:
                        path.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error("remove", self._path, error) from error

    def _write(self, event: str, **content: Any) -> None:
        self._check_open()
        number = self._events + 1
        line = self._mask.encode({"event": event, "n": number, "t": utc_now(), **content}, note=True)
        end, self._end = self._end, None  # unknown again if the write fails
        self._end = append(self._descriptor, line, self._path, end=end)
        self._events = number

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise StorageError(f"the journal of run {self.run.id} is closed: resume the run to go on with it")


def _place(call: LMCall) -> tuple[int, object]:
    """What tells the reply in force from others to its request."""
    return len(call.samples), call.chosen

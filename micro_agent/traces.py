"""Where runs live on disk: the traces of those that ended or paused, and the journals of those under way."""

import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from micro_agent.errors import (
    AlreadyDecided,
    ApprovalExpired,
    ConfigurationError,
    NotWaiting,
    RunNotFound,
    StorageError,
)
from micro_agent.files.jsonl import private_folder, storage_error
from micro_agent.files.masking import Mask, mask_of
from micro_agent.run import Run, Status
from micro_agent.run.chain import earlier_of
from micro_agent.run.questions import expired
from micro_agent.storage.decisions import (
    Choice,
    create_decision,
    decision_of,
    decision_path,
    question_digest,
    read_decision,
)
from micro_agent.storage.folding import Folded, read_journal
from micro_agent.storage.journal import Journal
from micro_agent.storage.listing import MISSING, newest_first
from micro_agent.storage.locks import is_held
from micro_agent.storage.records import Record, append_encoded, append_record, ends_with, read_records, sync_record

__all__ = ["OpenRun", "Record", "TraceStore", "read_records"]

_ID = re.compile(r"[0-9a-f]{32}")
_log = logging.getLogger("micro_agent")


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that has a journal: under way (``busy``), paused, killed, or ended with its last words unsaid.

    ``status`` is "confirmation_required" while a question waits for its ``decision``. What is wrong with the journal
    stands in ``damage``; one that cannot be read at all has no question, time or status.
    """

    id: str
    question: str | None = None
    ts: str | None = None
    status: Status | None = None
    busy: bool = False
    confirmation: dict[str, Any] | None = None
    decision: Choice | None = None
    damage: str | None = None


def default_state_dir(environ: Mapping[str, str]) -> Path:
    """``MICRO_AGENT_STATE_DIR``, else ``micro-agent`` in ``XDG_STATE_HOME`` (if absolute) or ``~/.local/state``."""
    own = environ.get("MICRO_AGENT_STATE_DIR")
    if own:
        return Path(own).expanduser().absolute()
    # https://specifications.freedesktop.org/basedir-spec/latest/: a relative path is to be ignored
    base = Path(environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "micro-agent"


class TraceStore:
    """The runs in one folder of traces and one folder of state. Any number of processes can use the same folders.

    Folders are made when something is first written (0700), files are for this user alone (0600). The secrets of
    ``environ`` (default: the environment at each call) and those that the process was given otherwise
    (`micro_agent.files.known_secrets`) are masked in everything that is written. The methods raise
    `StorageError` when a file cannot be read or written, and `ConfigurationError` for what is not a run id.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] = "traces",
        *,
        state_dir: str | os.PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._environ = os.environ if environ is None else environ
        self.directory = Path(directory)
        self.state_dir = default_state_dir(self._environ) if state_dir is None else Path(state_dir)

    def path(self, run_id: str) -> Path:
        """The trace file of a run, whether there is one or not."""
        return self.directory / f"{_checked(run_id)}.jsonl"

    def append(self, run: Run) -> Path:
        """Append the run as it is now to its trace; returns the trace's path."""
        path = self.path(run.id)
        append_record(path, run, mask=self.mask())
        return path

    def append_record(self, run_id: str, record: bytes) -> Path:
        """Append a record of a run that is encoded already (see `masked`) to its trace; returns the trace's path."""
        path = self.path(run_id)
        append_encoded(path, record)
        return path

    def load(self, run_id: str, index: int = -1, *, earlier: bool = True) -> Run:
        """A record of a run, by default the latest; with the runs ``earlier`` in its conversation, if all are here.

        ``index`` counts readable records as a list does.

        Raises:
            RunNotFound: there is no trace of it, or no such record.
        """
        path = self.path(run_id)
        if not _there(path):
            raise RunNotFound(f"no trace of run {run_id} in {self.directory}")
        records = list(read_records(path))
        runs = [record.run for record in records if record.run]
        faults = [f"line {record.line_number}: {record.fault}" for record in records if record.fault]
        if not runs:
            raise StorageError(f"the trace {path} has no readable record: {'; '.join(faults)}")
        if faults:
            _log.warning("the trace %s is damaged, the rest is read: %s", path, "; ".join(faults))
        try:
            return self._with_earlier(runs[index]) if earlier else runs[index]
        except IndexError:
            raise RunNotFound(f"the trace of run {run_id} has {len(runs)} records, none is number {index}") from None

    def ids(self, most: int | None = None, *, beginning: str = "") -> Iterator[str]:
        """The ids of the runs that have a trace, the one written last first; ``most`` of them, if that is given.

        Only those with this ``beginning``: no other file is looked at. Of each run 72 bytes are kept, of ``most`` as
        many.
        """
        return newest_first(self.directory, ".jsonl", most, beginning=beginning, files_alone=True)

    def open_ids(self, *, beginning: str = "") -> Iterator[str]:
        """The ids of the runs that have a journal, the one written last first."""
        return newest_first(self.state_dir / "runs", ".journal", beginning=beginning)

    def start(self, run: Run) -> Journal:
        """Make the journal of a new run and hold it. What the run has already (a fork's steps, say) is kept in it."""
        path = self._journal(run.id)
        try:
            private_folder(self.state_dir)
            private_folder(path.parent)
        except OSError as error:
            raise storage_error("make the folder", path.parent, error) from error
        mask = self.mask()
        return Journal.create(path, run, mask=mask, record=partial(self._record, mask))

    def resume(self, run: Run | str) -> Journal:
        """Take up the journal of a run that was paused or killed. The images that no record keeps are those of ``run``.

        Raises:
            RunNotFound: there is no such run under way.
            RunBusy: somebody holds it.
        """
        run_id = run if isinstance(run, str) else run.id
        try:
            mask = self.mask()
            journal = Journal.open(self._journal(run_id), mask=mask, record=partial(self._record, mask))
        except FileNotFoundError:
            raise self._no_journal(run_id) from None
        if journal.damage:
            _log.warning("the journal of run %s is damaged, the rest is used: %s", run_id, journal.damage)
        if isinstance(run, Run):
            journal.run.images, journal.run.earlier = run.images, run.earlier
        self._with_earlier(journal.run)
        return journal

    def peek(self, run_id: str) -> Run:
        """A run under way as it stands, whoever holds it; nothing is taken or written.

        Raises:
            RunNotFound: there is no such run under way.
        """
        try:
            return self._with_earlier(read_journal(self._journal(run_id), mask=self.mask()).run)
        except FileNotFoundError:
            raise self._no_journal(run_id) from None

    def open_runs(self) -> list[OpenRun]:
        """The runs that have a journal, the one written last first. Damaged ones too, with what is wrong."""
        found = (self._open_run(self._journal(run_id)) for run_id in self.open_ids())
        return [run for run in found if run is not None]

    def open_run(self, run_id: str) -> OpenRun | None:
        """A run that has a journal, ``None`` if it has none; no other one is looked at."""
        return self._open_run(self._journal(run_id))

    def decide(
        self, run_id: str, decision: Choice, *, feedback: str | None = None, question: str | None = None,
        args: dict[str, Any] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Decide the open question of a run, from any process, also while another one holds the run and waits.

        Returns the question that was decided. ``question`` is the ``sha256`` of the one that was seen, and no other is
        decided. An approval with ``args`` is one of the call with these arguments: the run validates them when it goes
        on, and asks about them in turn.

        Raises:
            RunNotFound: there is no such run.
            NotWaiting: it has no open question, or another one than ``question``.
            ApprovalExpired: the question has expired.
            AlreadyDecided: somebody was first.
        """
        path, mask = self._journal(run_id), self.mask()
        made = decision_of(decision, feedback, args)
        try:
            pending = read_journal(path, mask=mask).pending
        except FileNotFoundError:
            if _there(self.path(run_id)):
                raise NotWaiting(f"run {run_id} has ended: there is nothing to decide") from None
            raise self._no_journal(run_id) from None
        if pending.confirmation is None or pending.ended:
            raise NotWaiting(f"run {run_id} asks nothing now: there is nothing to decide")
        if question is not None and question != pending.confirmation["sha256"]:
            raise NotWaiting(f"run {run_id} asks something else by now: look at what it asks, then decide")
        if pending.decision is not None:
            raise AlreadyDecided(f"run {run_id} has its decision already: {pending.decision.decision}")
        if expired(pending.confirmation):
            since = pending.confirmation["expires"]
            raise ApprovalExpired(f"the question of run {run_id} expired at {since}: resume the run, and it asks anew")
        digest = question_digest(pending.settled, pending.confirmation)
        create_decision(decision_path(path.parent, run_id, digest), digest, made, mask)
        return pending.confirmation

    def written(self, run_id: str) -> int:
        """When something of a run was last written, in nanoseconds since 1970; 0 when there is nothing of it."""
        return max(_written(self.path(run_id)), _written(self._journal(run_id)))

    def mask(self) -> Mask:
        """What keeps the secrets that are known now out of what is written here."""
        return mask_of(self._environ)

    def masked(self, data: Any) -> bytes:
        """``data`` (a run, or plain data with runs in it) as one line of JSON, with secrets masked as in a record."""
        return self.mask().encode(data)

    def _with_earlier(self, run: Run) -> Run:
        if run.follows is not None and not run.earlier:
            run.earlier = earlier_of(run, self._latest)
        return run

    def _latest(self, run_id: str) -> Run | None:
        records = read_records(self.path(run_id)) if _there(self.path(run_id)) else ()
        runs = [record.run for record in records if record.run is not None]
        return runs[-1] if runs else None

    def _journal(self, run_id: str) -> Path:
        return self.state_dir / "runs" / f"{_checked(run_id)}.journal"

    def _no_journal(self, run_id: str) -> RunNotFound:
        ended = f"; it has ended, its trace is {self.path(run_id)}" if _there(self.path(run_id)) else ""
        return RunNotFound(f"no run {run_id} is under way{ended}")

    def _record(self, mask: Mask, run: Run, durable: bool) -> Path:
        path = self.path(run.id)
        # Only a run that must last can have been killed after its record was written, and taken up again.
        if durable and ends_with(path, run):
            sync_record(path)
        else:
            append_record(path, run, mask=mask, durable=durable)
        return path

    def _open_run(self, path: Path) -> OpenRun | None:
        try:
            busy = is_held(path)
            return self._described(path, read_journal(path, mask=self.mask()), busy)
        except FileNotFoundError:
            return None  # it ended while we looked
        except OSError as error:
            return OpenRun(path.stem, damage=f"cannot be read: {error.strerror or error}")
        except StorageError as error:
            return OpenRun(path.stem, damage=str(error))

    def _described(self, path: Path, folded: Folded, busy: bool) -> OpenRun:
        run, pending = folded.run, folded.pending
        decision, status = pending.decision, run.status
        if pending.confirmation is not None and not pending.ended:
            digest = question_digest(pending.settled, pending.confirmation)
            decision = decision or read_decision(decision_path(path.parent, path.stem, digest), digest, self.mask())
            status = status if decision else "confirmation_required"
        return OpenRun(
            path.stem, run.question, run.ts, status, busy, pending.confirmation,
            decision and decision.decision, folded.damage,
        )  # fmt: skip


def as_it_stands(store: TraceStore, run_id: str) -> Run:
    """A run that is open, else its record. Raises `RunNotFound` where there is neither."""
    try:
        return store.peek(run_id)
    except RunNotFound:
        return store.load(run_id)


def _checked(run_id: str) -> str:
    if _ID.fullmatch(run_id):
        return run_id
    raise ConfigurationError(f"not a run id: {run_id[:60]!a}; one is 32 of the digits 0-9 and a-f")


def _there(path: Path) -> bool:
    try:
        path.stat()  # `Path.exists` says "no" of what it cannot look for, from Python 3.14 on
        return True
    except OSError as error:
        if error.errno in MISSING:
            return False
        # A folder that may not be searched: whether the file is there, nobody knows.
        raise storage_error("look for", path, error) from error


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # a link to nothing, or the file of a run that has ended just now: last
        return 0

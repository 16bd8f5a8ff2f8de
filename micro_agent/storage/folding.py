"""The fold of a journal: its events give the run back, and what had begun and not ended.

Events are numbered. A line that was cut off by a kill was never acted upon, and its number is given again; a number
that is missing means that a whole event was lost to damage, and then no call before it counts as not started.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.files.jsonl import Line, open_file, read_lines, storage_error
from micro_agent.files.masking import Mask
from micro_agent.run import EDITED, LMCall, Run, Step, Usage
from micro_agent.run.questions import QuestionChanged, verified
from micro_agent.run.usage import add_call, add_step
from micro_agent.storage.decisions import Decision, decision_of
from micro_agent.text.printable import printable

FORMAT = 1
"""The version of the journal's format, written in its first event."""

_NO_MASK = Mask()
_LOST = {"reason": "malformed", "seen": "this reply was lost: the journal is damaged", "expected": "a decision"}


@dataclass(slots=True)
class Pending:
    """What has begun and not ended. The live journal and the fold keep it by the same functions."""

    started: dict[tuple[int, str | None], str] = field(default_factory=dict[tuple[int, str | None], str])
    """The tools that started and whose step is missing: (call, call_id) to the tool's name."""
    confirmation: dict[str, Any] | None = None
    """The question asked last, until something happens that could not happen before its decision."""
    decision: Decision | None = None
    """The recorded decision about ``confirmation``."""
    since: str | None = None
    """When ``confirmation`` was asked for the first time, as far as that is known."""
    settled: int = 0
    """How many questions are behind the run."""
    ended: bool = False

    def tool_started(self, call: int, call_id: str | None, tool: str) -> None:
        """A tool starts."""
        self.started[call, call_id] = tool
        self.moved_on()

    def sampled(self, call: int) -> None:
        """The reply with this index is another one: nothing of the last one counts."""
        self.started = {one: tool for one, tool in self.started.items() if one[0] != call}
        self.moved_on()

    def stepped(self, step: Step) -> None:
        """A step is recorded. Words of the loop (that the run pauses, say) leave a question open, but for an edit."""
        if step.is_tool and step.call is not None:
            self.started.pop((step.call, step.call_id), None)
            self.moved_on()
        elif step.tool == EDITED:
            self.moved_on()

    def asked(self, confirmation: dict[str, Any], at: str | None) -> None:
        """A question is asked; asked again (after a pause, say), it keeps its decision."""
        if self.confirmation is None or self.confirmation["sha256"] != confirmation["sha256"]:
            self.decision, self.since = None, at
        self.confirmation = confirmation

    def decided(self, decision: Decision) -> None:
        """The open question is decided."""
        if self.confirmation is not None:
            self.decision = decision

    def moved_on(self) -> None:
        """The question, if there was one, is behind the run, and its decision is used up."""
        if self.confirmation is not None:
            self.confirmation = self.decision = None
            self.settled += 1


@dataclass(slots=True)
class Folded:
    """A journal, read.

    ``run`` is running, or as it ended. ``events`` is the number of the last event. ``unsure`` is how many replies there
    were when whole events were lost last: what became of their calls is not known. ``faults`` has one line for each
    thing that is wrong with the file.
    """

    run: Run
    pending: Pending
    events: int = 0
    unsure: int = 0
    faults: list[str] = field(default_factory=list[str])

    @property
    def damage(self) -> str | None:
        """What is wrong with the journal, in one line; ``None`` when nothing is."""
        return "; ".join(self.faults) or None


def fold(lines: Iterable[bytes], *, mask: Mask = _NO_MASK) -> Folded:
    """Fold the lines of a journal (as its file gives them, split at newlines alone).

    Damaged lines are skipped and reported, whatever they contain; every whole event counts. ``mask`` puts back the
    secrets that were replaced when the lines were written.

    Raises:
        StorageError: no event starts a run, or a newer version wrote the journal.
        QuestionChanged: a question in it is not the one that was asked.
    """
    folded: Folded | None = None
    faults: list[str] = []
    tail_lost = False
    for line in read_lines(lines):
        if line.data is None:
            faults.append(f"line {line.number}: {line.fault}")
            tail_lost = not line.torn
            continue
        missing = mask.missing(line.data)
        faults += [f"line {line.number}: {printable(lost)} stays, it is not set today" for lost in missing]
        try:
            event = mask.restore(line.data)
            folded = _started(event) if folded is None else _take(folded, event, line.number, faults)
            tail_lost = False
        except QuestionChanged as error:
            assert folded is not None, "only a run that has begun asks"
            raise QuestionChanged(_refusal(folded.run.id, line, missing)) from error
        except (KeyError, TypeError, ValueError, OverflowError, ConfigurationError) as error:
            tail_lost = folded is not None
            faults.append(f"line {line.number}: not an event ({' '.join(str(error).split())[:120]})")
    if folded is None:
        raise StorageError("; ".join(["no event starts a run", *faults]) + "; nothing of it can be resumed: delete it")
    folded.faults = faults
    if tail_lost:  # the next event leaves this number out, so that later folds see the gap
        folded.events += 1
        folded.unsure = len(folded.run.calls)
    return folded


def _refusal(run_id: str, line: Line, missing: list[str]) -> str:
    """Why nothing of a run goes on, or is decided: what stands in its question is not what was asked."""
    told = f"line {line.number} of the journal of run {run_id} asks something else than was asked"
    masked = cast("dict[str, Any]", line.data).get("masked")
    if missing or masked:
        return f"{told}: set {' and '.join(missing) or 'the secrets in it'} as when it was asked, and try again"
    return f"{told}, so nothing of it is shown, decided or run: undo the change, or remove that line and resume"


def read_journal(path: Path, *, mask: Mask) -> Folded:
    """Fold a journal without taking it. Raises `FileNotFoundError`, or `StorageError` as `fold` does."""
    try:
        with open(open_file(path), "rb") as file:
            return fold(file, mask=mask)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise storage_error("read the journal", path, error) from error


def _started(event: dict[str, Any]) -> Folded:
    if event["event"] != "started":
        raise ValueError(f"{event['event']!r} before any start")
    if event["format"] > FORMAT:
        raise StorageError(f"a newer micro-agent wrote it (format {event['format']}, {FORMAT} is known): update")
    return Folded(Run.model_validate({**event["run"], "confirmation": None}), Pending(), int(event["n"]))


def _take(folded: Folded, event: dict[str, Any], line: int, faults: list[str]) -> Folded:
    number = int(event["n"])
    _apply(folded, event)
    if number > folded.events + 1:
        folded.unsure = len(folded.run.calls) - (event["event"] == "reply")
        faults.append(f"line {line}: events {folded.events + 1} to {number - 1} before it are lost")
    folded.events = max(folded.events, number)
    return folded


def _apply(folded: Folded, event: dict[str, Any]) -> None:
    run, pending = folded.run, folded.pending
    match event["event"]:
        case "reply":
            call = LMCall.model_validate(event["call"])
            _fill(folded, event["index"])
            _add_call(run, call)
            pending.moved_on()
        case "sampled":
            _fill(folded, event["index"] + 1)
            run.calls[event["index"]] = LMCall.model_validate(event["call"])
            run.usage = Usage.model_validate(event["usage"])
            pending.sampled(event["index"])
        case "step":
            step = Step.model_validate(event["step"])
            _fill(folded, 0 if step.call is None else step.call + 1)
            run.steps.append(step)
            add_step(run.usage, step)
            pending.stepped(step)
        case "tool_started":
            pending.tool_started(event["call"], event["call_id"], event["tool"])
        case "asked":
            pending.asked(verified(event["confirmation"]), str(event["t"]) if "t" in event else None)
        case "decided":
            pending.decided(decision_of(event["decision"], event["feedback"], event.get("args")))
        case "ended":
            end = Run.model_validate({**event["run"], "steps": [], "calls": []})
            folded.run = end.model_copy(update={"steps": run.steps, "calls": run.calls})
            pending.ended = True
        case "resumed":
            pass
        case other:
            raise ValueError(f"unknown event {other!r}")
    if not pending.ended:
        run.confirmation = pending.confirmation


def _fill(folded: Folded, count: int) -> None:
    """Stand in for lost replies, so that ``Step.call`` still points at the right one and totals become unknown."""
    calls = folded.run.calls
    if count > len(calls) + folded.events:
        raise ValueError(f"reply {count} cannot be: there were not so many events")
    while len(calls) < count:
        _add_call(folded.run, LMCall(reply={}, error=dict(_LOST)))


def _add_call(run: Run, call: LMCall) -> None:
    run.calls.append(call)
    add_call(run.usage, call)

"""The spans of a run, folded from its record: the same for one under way and for one that ended long ago.

A record of an older version has no times but that of its beginning, and how long its parts took: then they are laid
end to end, and each span says so (``micro_agent.time_is_estimated``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from micro_agent.observing import attributes as made
from micro_agent.observing.attributes import Attributes
from micro_agent.run import FINISH_ASKED, MAKE_ASKED, LMCall, Run, Step
from micro_agent.run.sampling import replies
from micro_agent.run.span_ids import parsed, span_id, trace_id
from micro_agent.run.times import instant

SpanKind = Literal["internal", "client"]
_ASKS = (FINISH_ASKED, MAKE_ASKED)


@dataclass(frozen=True, slots=True)
class Event:
    """What happened at one moment of a span. Times are in nanoseconds since 1970."""

    name: str
    at: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One span as plain data. Ids are hexadecimal, times in nanoseconds since 1970.

    Attributes:
        name: ``agent.run``, ``model.step``, ``tool_wrapped.<tool>``, ``sandbox.<program>``, ``approval.wait``,
            ``gate_check``.
        trace: The trace that it is in.
        id: Its own id, the same each time it is made.
        parent: The id of the span around it; ``None`` for a run that nobody called.
        start: When it began.
        end: When it ended.
        attributes: What is known of it; what is not known is left out.
        kind: ``client`` for a request to a server.
        error: What failed, in a few words; ``None`` where nothing did.
        ok: Whether it is known to have worked.
        events: What happened during it that took no time.
    """

    name: str
    trace: str
    id: str
    parent: str | None
    start: int
    end: int
    attributes: Attributes
    kind: SpanKind = "internal"
    error: str | None = None
    ok: bool = False
    events: Sequence[Event] = field(default_factory=tuple[Event, ...])


def spans_of(run: Run, *, content: bool = False) -> list[Span]:
    """The spans of a run as it stands, children first, the run itself last.

    What a fork has copied from its parent is left out: it is in the spans of the parent. ``content`` adds what was
    asked, said, called and observed. Secrets are masked by whoever sends the spans away.
    """
    fold = SpanFold(run, content=content)
    return [*fold.more(run), *fold.rest(run)]


class SpanFold:
    """Gives the spans of a run bit by bit, as the run goes on.

    Args:
        run: As it is at the beginning.
        content: Whether they tell what was asked, said, called and observed.
        seen: Whether what the run has already was told by somebody else.
    """

    def __init__(self, run: Run, *, content: bool = False, seen: bool = False) -> None:
        self._content = content
        self._calls = self._steps = 0
        self._now = self._begin = _nanoseconds(instant(run.ts) or 0.0)
        self._named: set[tuple[object, ...]] = set()
        self._events: list[Event] = []
        self._root = span_id(run)
        if copied := run.forked_at or 0:
            self._steps = copied
            self._calls = max((step.call + 1 for step in run.steps[:copied] if step.call is not None), default=0)
        if seen:
            for _ in self.more(run):
                pass

    def more(self, run: Run) -> Iterator[Span]:
        """The spans of what has ended since the last time."""
        while self._steps < len(run.steps):
            step, number = run.steps[self._steps], self._steps
            while self._calls < len(run.calls) and _precedes(run.calls[self._calls], self._calls, step, number):
                yield from self._call(run, self._calls)
            self._steps += 1
            yield from self._step(run, step, number)

    def rest(self, run: Run) -> Iterator[Span]:
        """The spans that are left when the run has ended or paused: its own is the last."""
        yield from self.more(run)
        while self._calls < len(run.calls):
            yield from self._call(run, self._calls)
        if run.gates is not None:
            gates, ok = made.of_gates(run.gates), run.gates.get("all_passed")
            yield self._span(run, "gate_check", ("gates",), self._now, self._now, gates, ok=ok is True)
        caller = parsed(run.traceparent)
        error = None if run.status in ("completed", "running", "confirmation_required") else made.ended(run)
        yield Span(
            "agent.run", trace_id(run), self._root, caller and caller[1], self._begin, self._now,
            made.of_run(run, content=self._content), "internal", error, run.status == "completed", tuple(self._events),
        )  # fmt: skip

    def _call(self, run: Run, number: int) -> Iterator[Span]:
        self._calls += 1
        before = run.calls[number - 1] if number else None
        in_force = run.calls[number]
        came = replies(in_force)
        for index, call in enumerate(came):
            at_once = sum(one.at == call.at for one in came) if call.at is not None else 1
            begin, end = self._times(call.at, call.latency_s * at_once)
            name = ("call", number) if call is in_force else ("call", number, index)
            told = made.of_call(run, call, before, in_force=call is in_force, content=self._content)
            error = made.unread(call)
            yield self._span(
                run, "model.step", name, begin, end, told, error=error, ok=error is None, guessed=call.at is None,
                kind="client",
            )  # fmt: skip
            if call.fault is not None and call.fault.is_tool:  # made, and thrown away with the reply
                yield from self._tool(run, call.fault, ("fault", number, index), told=False)

    def _step(self, run: Run, step: Step, number: int) -> Iterator[Span]:
        if step.tool in _ASKS and step.usage is not None:
            begin, end = self._times(step.at, step.latency_s or 0.0)
            told = made.of_question(run, step, content=self._content)
            yield self._span(
                run, "model.step", ("step", number), begin, end, told, ok=True, guessed=step.at is None, kind="client"
            )  # fmt: skip
        elif step.is_tool:
            key = ("tool", step.call, step.call_id)
            name = ("tool", number) if step.call is None or key in self._named else key
            self._named.add(key)
            yield from self._tool(run, step, name)
        else:
            self._events.append(Event(step.tool, self._now, made.of_word(step, content=self._content)))

    def _tool(self, run: Run, step: Step, name: tuple[object, ...], *, told: bool = True) -> Iterator[Span]:
        own, word = span_id(run, *name), step.approval
        asked = word.get("at") if word else None
        waited = _seconds(word, "seconds")
        begin, end = self._times(asked, waited or 0.0) if asked else self._times(step.at, 0.0)
        guessed = asked is None and step.at is None
        if word is not None:
            granted = word.get("granted") is True
            yield self._span(
                run, "approval.wait", (*name, "approval"), begin, end, made.of_approval(word), own, ok=granted,
                guessed=guessed,
            )  # fmt: skip
        if step.at is not None or asked is None:
            end = max(end, self._times(step.at, step.latency_s or 0.0)[1])
        for index, program in enumerate(step.programs or ()):
            started, ended = self._times(program.get("at"), _seconds(program, "seconds") or 0.0)
            title, ran = f"sandbox.{made.program_name(program)}", made.of_program(program)
            failed = made.failed_program(program)
            yield self._span(run, title, (*name, "program", index), started, ended, ran, own, error=failed)
        self._now = max(self._now, end)
        seen = made.of_tool(step, told=told, content=self._content)
        error = None if step.ok else step.error or "failed"
        yield self._span(
            run, f"tool_wrapped.{step.tool}", name, begin, end, seen, error=error, ok=step.ok, guessed=guessed
        )  # fmt: skip

    def _times(self, at: str | None, seconds: float) -> tuple[int, int]:
        """From when to when something was, where it may be that only how long it took is known."""
        known = instant(at)
        begin = self._now if known is None else _nanoseconds(known)
        end = begin + _nanoseconds(max(0.0, seconds))
        self._now = max(self._now, end)
        return begin, end

    def _span(
        self, run: Run, name: str, what: tuple[object, ...], begin: int, end: int, told: Attributes,
        parent: str | None = None, *, error: str | None = None, ok: bool = False, guessed: bool = False,
        kind: SpanKind = "internal",
    ) -> Span:  # fmt: skip
        if guessed:
            told["micro_agent.time_is_estimated"] = True
        return Span(
            name, trace_id(run), span_id(run, *what), parent or self._root, begin, end, told, kind, error, ok
        )  # fmt: skip


def _precedes(call: LMCall, index: int, step: Step, number: int) -> bool:
    """Whether a reply came before a step: it asked for it, or was asked for when there were fewer steps."""
    if step.call is not None and index <= step.call:
        return True
    sent: Any = call.request.get("steps")
    return isinstance(sent, int) and sent <= number and (step.call is None or index <= step.call)


def _nanoseconds(seconds: float) -> int:
    """As whole microseconds: a time in seconds is not more exact as a float."""
    return round(seconds * 1_000_000) * 1000


def _seconds(data: dict[str, Any] | None, name: str) -> float | None:
    found = data.get(name) if data else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

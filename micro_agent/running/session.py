"""A run under way: what happens around the loop's effects. The journal first, then the deed, then the events.

The drivers, `drive` and `adrive`, differ in how they wait and in nothing else.
"""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic

from micro_agent.cancel import Cancel, RunInterrupted
from micro_agent.effects import Act, Answer, Approval, Confirm, Effect, Failure, Plan
from micro_agent.effects import interrupted as interruption
from micro_agent.errors import StorageError
from micro_agent.loop.agent_loop import AgentLoop
from micro_agent.models.failures import LM_ERRORS
from micro_agent.models.retry import aattempts, attempts
from micro_agent.models.scope import CallScope, Seat, calling
from micro_agent.planning.planner import Planner
from micro_agent.run import Run, Step
from micro_agent.run.sampling import most_samples
from micro_agent.running.at_once import AtOnce
from micro_agent.running.confirming import Approvals, Confirmation
from micro_agent.running.ended_by import cancelled, no_reply, no_storage
from micro_agent.running.samples import aplanned, planned
from micro_agent.storage.journal import Journal
from micro_agent.streaming import AnswerFilter
from micro_agent.tools import Outcome
from micro_agent.traces import TraceStore

OnStep = Callable[[Step], None]


@dataclass
class Session:
    """Everything that one run needs while it is under way."""

    loop: AgentLoop
    planner: Planner
    store: TraceStore | None = None
    journal: Journal | None = None
    confirm: Confirmation = "pause"
    approval_ttl_s: float = 86400.0
    """Seconds after which a question expires."""
    on_start: Callable[[], None] = lambda: None
    on_step: OnStep = lambda step: None
    on_end: Callable[[], None] = lambda: None
    answer_filter: AnswerFilter | None = None
    timeout_s: float = 120.0
    cancel: Cancel = field(default_factory=Cancel)
    _seen: tuple[int, int] = (0, 0)
    _started: bool = False
    _heard: AnswerFilter | None = None
    _unstored: StorageError | None = None

    def __post_init__(self) -> None:
        self.approvals = Approvals(self.run, self.confirm, self.journal, self.approval_ttl_s)
        self._effects, self.at_once = self.loop.effects(), AtOnce(self.run, self.approvals.noted)
        self._seen, self._seat = (len(self.run.calls), len(self.run.steps)), Seat()

    @property
    def run(self) -> Run:
        """The run under way."""
        return self.loop.run

    def close(self) -> None:
        """Let go of the run. One that has not ended can be resumed."""
        self.at_once.close()
        self._seat.leave()
        if self.journal is not None:
            self.journal.close()

    def next(self, answer: Answer | None) -> Effect | None:
        """Give the loop its answer; write down what came of it; return the next effect, ``None`` at the end."""
        self._started = False
        if answer is None:
            self.on_start()
        try:
            effect = self._effects.send(answer)  # pyright: ignore[reportArgumentType]
        except StopIteration:
            effect = None
        try:
            if self._unstored is not None and self.journal is not None:
                raise self._unstored
            self._record()
            if effect is None and self.journal is not None:
                self.journal.finish(self.run)
        except StorageError as error:
            self._cannot_store(error)
            effect = None
        if effect is None:
            self.on_end()
        return effect

    def scope(self, effect: Plan) -> CallScope:
        """The bounds of one request, its retries included. Whoever listens hears texts that may be the answer."""
        now, limit = monotonic(), self.loop.limits.max_time
        self._seat.until = inf if limit is None else now + max(0.0, limit - self.run.usage.latency_s)
        silent = effect.asks or self.loop.outputs.submit or most_samples(self.run) > 1  # no answer before it is chosen
        self._heard = None if silent else self.answer_filter
        self.again()
        until = min(now + self.timeout_s, self._seat.until)
        return CallScope(deadline=until, on_text=self._heard.feed if self._heard is not None else None, seat=self._seat)

    def again(self, *_: object) -> None:
        """A reply begins, perhaps after one that broke off before anybody had seen anything of it."""
        if self._heard is not None:
            self._heard.reset()

    def failed(self, error: Exception) -> Failure:
        """An exception of a model call, as data."""
        if self.cancel.is_set():  # it broke off the wait before another try
            return cancelled()
        return no_reply(error, self.run, self.loop.limits, late=monotonic() >= self._seat.until)

    def approval(self, effect: Confirm) -> Approval | Outcome:
        """The word on a call: one that stands already, this session's mode, or a person's."""
        return Approval("approve") if not effect.needed() else self.approvals.word(effect)

    def starting(self, effect: Act) -> Outcome | None:
        """Write down, for good, that a tool starts. Returns what stands for a call that must not be made (again)."""
        standing = self.approvals.changed(effect) or self._start(effect)
        if self.journal is not None and not effect.ready.tool.read_only:
            self.journal.sync()
        return standing

    async def astarting(self, effect: Act) -> Outcome | None:
        """The same, without holding up the event loop while the disk works."""
        quick = (self.journal is None or effect.ready.tool.read_only) and self.approvals.approved is None
        return self.starting(effect) if quick else await asyncio.to_thread(self.starting, effect)

    def _start(self, effect: Act) -> Outcome | None:
        ready = effect.ready
        if self.journal is not None:
            changes, call = not ready.tool.read_only, (effect.call, ready.call_id)
            if changes and self.journal.interrupted(*call):
                return interruption()
            self.journal.tool_started(*call, ready.tool.name, ready.args, side_effects=changes, sync=False)
        self._started = True
        return None

    def cancelled(self, effect: Effect) -> Answer:
        """The answer to an effect that was broken off, or that comes after the run was cancelled."""
        self.cancel.set()
        return cancelled(self.at_once.broken_off() if isinstance(effect, Act) and self._started else None)

    def unstored(self, error: StorageError) -> Failure:
        """What ends a run whose journal does not end, so that it can be resumed when the disk is well again."""
        self._unstored = error
        return no_storage(error)

    def _record(self) -> None:
        calls, steps = self._seen
        self._seen = len(self.run.calls), len(self.run.steps)
        if self.journal is not None:
            self.journal.sampled(self.run, calls)
            for call in self.run.calls[calls:]:
                self.journal.replied(call)
        for step in self.run.steps[steps:]:
            if self.journal is not None:
                self.journal.step(step)
            self.on_step(step)

    def _cannot_store(self, error: StorageError) -> None:
        self._effects.close()
        failure = self.unstored(StorageError(f"{error}; then resume run {self.run.id}"))
        self.run.status, self.run.termination_reason, self.run.error = failure.status, failure.reason, failure.error
        self.run.answer = self.run.model_answer = None
        assert self.store is not None, "only what is stored can fail to be stored"
        if self.journal is not None and self.journal.has_ended:
            return  # resuming gives the run as it ended, and there is one record of one end
        # Where only the journal's disk is full, the record still tells how the run ended.
        with suppress(StorageError):
            self.store.append(self.run)


def drive(session: Session) -> Run:
    """Perform a run's effects, blocking. Raises `RunInterrupted` after Ctrl-C, with the run on record.

    A run that is suspended comes back with status ``running``.
    """
    broken = False
    with closing(session):
        effect = session.next(None)
        while effect is not None and not session.cancel.suspended:
            try:
                session.cancel.performing = True
                answer = _perform(session, effect)
            except KeyboardInterrupt:
                answer, broken = session.cancelled(effect), True
            session.cancel.performing = False
            effect = session.next(answer)
    if broken:
        raise RunInterrupted(session.run)
    return session.run


async def adrive(session: Session) -> Run:
    """Perform a run's effects on the running event loop. A cancelled task leaves its run on record, then raises.

    What is left is a run that has ended, or, if it was suspended before, one that can be resumed.
    """
    broken = None
    with closing(session):
        effect = session.next(None)
        while effect is not None and not session.cancel.suspended:
            try:
                answer = await _aperform(session, effect)
            except asyncio.CancelledError as error:
                if session.cancel.suspended:
                    raise
                answer, broken = session.cancelled(effect), error
            effect = session.next(answer)
    if broken is not None:
        raise broken
    return session.run


def _perform(session: Session, effect: Effect) -> Answer:
    if session.cancel.is_set():
        return session.cancelled(effect)
    try:
        if isinstance(effect, Plan):
            with calling(scope := session.scope(effect)):
                ask = partial(attempts, deadline=scope.deadline, cancelled=session.cancel, on_retry=session.again)
                return planned(session.planner, effect, ask)
        if isinstance(effect, Confirm):
            return session.approval(effect)
        return session.starting(effect) or session.at_once.outcome(effect)
    except LM_ERRORS as error:
        return session.failed(error)
    except StorageError as error:
        return session.unstored(error)


async def _aperform(session: Session, effect: Effect) -> Answer:
    if session.cancel.is_set():
        return session.cancelled(effect)
    try:
        if isinstance(effect, Plan):
            with calling(scope := session.scope(effect)):
                ask = partial(aattempts, deadline=scope.deadline, on_retry=session.again)
                return await aplanned(session.planner, effect, ask)
        if isinstance(effect, Confirm):
            return await asyncio.to_thread(session.approval, effect)
        return await session.astarting(effect) or await session.at_once.aoutcome(effect)
    except LM_ERRORS as error:
        return session.failed(error)
    except StorageError as error:
        return session.unstored(error)

"""The runs that a server has under way: so many at once, each with its events, all of them suspended at the end."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from math import ceil
from statistics import median
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any

from micro_agent.cancel import Cancel
from micro_agent.errors import MicroAgentError, RunBusy
from micro_agent.rules.limits import Limits
from micro_agent.run import Run
from micro_agent.run.images import Image
from micro_agent.server.events import EventLog
from micro_agent.streaming import Ended, OnEvent, Started, StreamEvent, WithoutText
from micro_agent.tools.callbacks import described

if TYPE_CHECKING:
    from micro_agent import MicroAgent
    from micro_agent.traces import TraceStore

LONGEST_WAIT_S = 600
"""No client is told to come back later than after so many seconds."""

Work = Callable[[OnEvent, Cancel], Awaitable[Run]]


class PoolFull(MicroAgentError):
    """As many runs as are allowed are under way; ``retry_after_s`` is an estimate of when one of them has ended."""

    def __init__(self, running: int, retry_after_s: int) -> None:
        super().__init__(f"{running} runs are under way, which is the limit: try again in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class ShuttingDown(MicroAgentError):
    """The server is about to end. ``run_id`` is the run that was left to be resumed, ``None`` if none had begun."""

    def __init__(self, run_id: str | None = None) -> None:
        left = f"run {run_id} was left as it is; go on with it: micro-agent resume {run_id}"
        super().__init__(f"the server is shutting down: {left if run_id else 'nothing was run'}")
        self.run_id = run_id


class Live:
    """A run under way, or one that has ended just now. `RunPool` makes it, on the event loop that it belongs to.

    Args:
        log: Takes the events.
        work: Does the run, given where its events go and what ends it.
        tell: Called when the run has its id, and when it is over.
    """

    def __init__(self, log: EventLog, work: Work, tell: "Callable[[Live], None]") -> None:
        self.log = log
        self.run_id: str | None = None
        """``None`` until it has begun."""
        self.since = monotonic()
        """When it was asked for."""
        self.until: float | None = None
        """When it was over, on the same clock; ``None`` while it is under way."""
        self._run: Run | None = None
        self._failure: Exception = ShuttingDown()
        self._tell = tell
        self._cancel = Cancel()
        self._begun, self._over = asyncio.Event(), asyncio.Event()
        self.task = asyncio.ensure_future(work(self._take, self._cancel))
        """Done when nothing of the run is under way any more, whatever came of it."""
        self.task.add_done_callback(self._done)

    async def started(self) -> str:
        """The id of the run, once it has one.

        Raises:
            Exception: What kept the run from starting, such as `RunBusy`, `StorageError` or `ConfigurationError`.
        """
        await self._begun.wait()
        if self.run_id is None:
            raise self._failure
        return self.run_id

    async def ended(self) -> Run:
        """The run, once it has ended or paused. A caller who stops to wait does not end it.

        Raises:
            ShuttingDown: It was left to be resumed.
            Exception: What kept the run from starting, or a defect that broke it off.
        """
        await self._over.wait()
        if self._run is None:
            raise self._failure
        return self._run

    def cancel(self) -> None:
        """End the run as soon as that can be; it is then on record as cancelled."""
        self._cancel.set()
        self._break_off()

    async def suspend(self) -> None:
        """Leave the run as it is, to be resumed, and wait until nothing of it is under way any more."""
        self._cancel.suspend()
        self._break_off()
        await asyncio.wait({self.task})

    def _break_off(self) -> None:
        # One that has not begun yet sees for itself that it is not wanted: broken off here, it would leave no record.
        if self.run_id is not None:
            self.task.cancel()

    def _take(self, event: StreamEvent) -> None:
        self.log.add(event)
        if isinstance(event, Started):
            self.run_id = event.run_id
            self._begun.set()
            self._tell(self)
        elif isinstance(event, Ended):
            self._run = event.run
            self.log.close()
            self._close()

    def _done(self, task: "asyncio.Future[Run]") -> None:
        error = None if task.cancelled() else task.exception()
        if self._run is None:
            if error is None:
                self._failure = ShuttingDown(self.run_id)
            else:
                self._failure = error if isinstance(error, Exception) else RuntimeError(described(error))
            self.log.close(self._failure)
            self._close()

    def _close(self) -> None:
        self.until = monotonic()
        self._begun.set()
        self._over.set()
        self._tell(self)


class RunPool:
    """The runs of one server. Belongs to one event loop; every run is a task on it.

    Args:
        agents: The agent to ask, given whether tool calls were asked for (``None``: as the server is set up).
        store: Where the runs are on record.
        max_running: So many runs at once.
        limits: What a run may use unless it is said with the question; ``None``: what its agent allows.
        kept_s: For so many seconds a run that is over is remembered, for clients that come back.
        kept_runs: No more than so many are.
        resuming: Gives the agent that takes a run up again; called in a thread, as it may look for the run's model.
            ``None``: that of ``agents``, with its model, whatever the run's was.
    """

    def __init__(
        self, agents: "Callable[[bool | None], MicroAgent]", store: "TraceStore", *, max_running: int = 8,
        limits: Limits | None = None, kept_s: float = 60.0, kept_runs: int = 256,
        resuming: "Callable[[Run], MicroAgent] | None" = None,
    ) -> None:  # fmt: skip
        self.limits = limits
        self.max_running = max_running
        self._agents = agents
        self._store = store
        self._resuming = resuming
        self._kept_s, self._kept_runs = kept_s, kept_runs
        self._running: set[Live] = set()
        self._known: dict[str, Live] = {}
        self._over: deque[Live] = deque()
        self._recent: deque[float] = deque(maxlen=50)
        self.closing = False
        """Whether no run can begin any more."""

    def start(
        self, question: str, *, limits: Limits | None = None, use_tool_calls: bool | None = None, text: bool = True
    ) -> Live:
        """Begin a run.

        Args:
            question: The question.
            limits: What it may use; by default those of the pool.
            use_tool_calls: Native tool calls or JSON decisions; by default as the server is set up.
            text: Whether there are events of answer text. The model is then asked to stream.

        Raises:
            PoolFull: As many runs as are allowed are under way.
            ShuttingDown: The pool is closed.
            ConfigurationError: There is no model to ask.
        """
        self.admit()
        return self.begin(self._agents(use_tool_calls), question, limits=limits, text=text)

    def agent(self) -> "MicroAgent":
        """The agent that is asked here. Raises `ConfigurationError`."""
        return self._agents(None)

    def begin(
        self, agent: "MicroAgent", question: str, *, limits: Limits | None = None, text: bool = True, **inputs: Any
    ) -> Live:
        """Begin a run of this agent, such as one with another system prompt; ``inputs`` as `MicroAgent.ask` has them.

        Raises:
            PoolFull: As many runs as are allowed are under way.
            ShuttingDown: The pool is closed.
        """
        self.admit()
        limits = limits or self.limits

        def work(emit: OnEvent, cancel: Cancel) -> Awaitable[Run]:
            listener = emit if text else WithoutText(emit)
            return agent.aask(question, limits=limits, on_event=listener, cancel=cancel, **inputs)

        return self._open(EventLog(), work)

    def resume(self, run_id: str, *, images: Sequence[Image] = ()) -> Live:
        """Go on with a run that paused or was left. That another process holds it shows in `Live.started` alone.

        ``images`` are those of its question, where somebody still has them: no record does.

        Raises:
            RunNotFound: No such run is open.
            RunBusy: It is under way here.
            PoolFull: As many runs as are allowed are under way.
            ShuttingDown: The pool is closed.
            ConfigurationError: That is not a run id.
            StorageError: It cannot be read.
        """
        self.admit()
        before = self.live(run_id)
        if before is not None and before.until is None:
            raise RunBusy(f"run {run_id} is under way")
        left, given = self._store.peek(run_id), {(image.sha256, image.url): image for image in images}
        left.images = [given.get((image.sha256, image.url), image) for image in left.images]
        # Numbers of an earlier server may be in the hands of clients. They are lower than those that begin with the
        # time in milliseconds, so that whoever comes back with one gets all that happens from here on.
        log = before.log.continued() if before is not None else EventLog(time_ns() // 1_000_000)

        async def work(emit: OnEvent, cancel: Cancel) -> Run:
            agent = await asyncio.to_thread(self._resuming, left) if self._resuming else self._agents(None)
            return await agent.aresume(left if given else run_id, on_event=emit, cancel=cancel)

        return self._open(log, work)

    def live(self, run_id: str) -> Live | None:
        """A run that is under way or has ended just now."""
        self._forget()
        return self._known.get(run_id)

    def running(self) -> int:
        """The number of runs under way."""
        return len(self._running)

    def admit(self) -> None:
        """Refuse what would begin a run now. Raises `PoolFull` or `ShuttingDown`."""
        if self.closing:
            raise ShuttingDown
        if len(self._running) >= self.max_running:
            ages = [monotonic() - live.since for live in self._running]
            raise PoolFull(len(ages), retry_after_s(ages, self._recent))

    async def close(self, grace_s: float) -> None:
        """Begin no run any more, wait ``grace_s`` seconds for those under way, suspend what is left of them then."""
        self.closing = True
        if self._running:
            await asyncio.wait({live.task for live in self._running}, timeout=grace_s)
        await asyncio.gather(*(live.suspend() for live in self._running))

    def _open(self, log: EventLog, work: Work) -> Live:
        live = Live(log, work, self._noticed)
        self._running.add(live)
        return live

    def _noticed(self, live: Live) -> None:
        if live.run_id is not None:
            self._known[live.run_id] = live
        if live.until is None:
            return
        self._running.discard(live)
        if live.run_id is not None:
            self._recent.append(live.until - live.since)
            self._over.append(live)
            self._forget()

    def _forget(self) -> None:
        oldest = monotonic() - self._kept_s
        while self._over and (len(self._over) > self._kept_runs or (self._over[0].until or 0.0) < oldest):
            live = self._over.popleft()
            if self._known.get(live.run_id or "") is live:  # it has not been resumed since
                del self._known[live.run_id or ""]


def retry_after_s(ages: Sequence[float], recent: Sequence[float]) -> int:
    """Whole seconds until the first of the runs under way is likely to end, from 1 to `LONGEST_WAIT_S`.

    A run of some age is expected to go on as the recent ones that lasted longer did, by the median; one that has
    outlasted all of them, for as long again as it has lasted.

    Args:
        ages: Seconds that the runs under way have lasted.
        recent: Seconds that runs took which are over.
    """
    left = [median([took - age for took in recent if took > age] or [age]) for age in ages]
    return min(LONGEST_WAIT_S, max(1, ceil(min(left))))

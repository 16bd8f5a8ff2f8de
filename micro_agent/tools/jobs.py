"""Work in a thread of `micro_agent.tools.workers`, waited for no longer than it may take.

What does not come back cannot be ended: its thread is left alone with it.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any, cast

from micro_agent.tools.processes import kill_children
from micro_agent.tools.settled import settled
from micro_agent.tools.workers import Worker, run_in_worker

_QUICK_S = 0.0002
"""So long an event loop waits for a thread where it is: to be woken by the thread costs it as much."""

_SIGNALS_S = 1.0
"""So often a wait looks for signals: one that comes in the moment before it begins does not break it off."""

Work = Callable[["Job"], Any]


class TimedOut(Exception):
    """The work did not end in time; apart from TimeoutError, which a tool may raise itself."""


@dataclass(slots=True)
class Job:
    """One piece of work in a worker thread. The work must not raise: its value is all that comes of it."""

    work: Work
    finished: Callable[[], None]
    value: Any = None
    cancel: Callable[[], None] | None = None
    worker: Worker = field(init=False)

    def start(self) -> "Job":
        """Begin, with a copy of the caller's context variables."""
        context = contextvars.copy_context()
        self.worker = run_in_worker(lambda: context.run(self._run))
        return self

    def _run(self) -> None:
        try:
            self.value = self.work(self)
        finally:
            self.finished()

    def awaited(self, result: Any) -> Any:
        """Wait for what a tool gave, in the job's thread, on an event loop of its own."""
        return asyncio.run(self._own_loop(result))

    async def _own_loop(self, result: Any) -> Any:
        loop, task = asyncio.get_running_loop(), cast("asyncio.Task[Any]", asyncio.current_task())
        self.cancel = lambda: cast("None", loop.call_soon_threadsafe(task.cancel))
        return await settled(result)

    def abandon(self) -> None:
        """End what can be ended: the processes that it started, and a coroutine. Python code runs on."""
        self.worker.abandoned = True
        kill_children(self.worker.native_id or 0)
        if self.cancel is not None:
            with suppress(RuntimeError):  # its loop has closed: it came to its end just now
                self.cancel()


@dataclass(frozen=True, slots=True)
class Begun:
    """A job under way that somebody is going to wait for."""

    job: Job
    working: threading.Lock

    def value(self, timeout_s: float | None) -> Any:
        """Wait for it. Raises `TimedOut`; a KeyboardInterrupt of the wait leaves the work alone."""
        ends = inf if timeout_s is None else monotonic() + timeout_s
        try:
            while not self.working.acquire(timeout=max(0, min(ends - monotonic(), _SIGNALS_S))):
                if monotonic() >= ends:
                    raise TimedOut
        except BaseException:
            self.job.abandon()
            raise
        return self.job.value

    def abandon(self) -> None:
        """Do not wait for it any more: what can be ended is, if it is still at work."""
        if self.working.locked():
            self.job.abandon()


def begin(work: Work) -> Begun:
    """Begin some work in a thread."""
    working = threading.Lock()  # a bare lock: an Event costs as much again as the call of a quick tool
    working.acquire()
    return Begun(Job(work, working.release).start(), working)


def done(work: Work, timeout_s: float | None) -> Any:
    """Do some work and wait for it. Raises `TimedOut`; a KeyboardInterrupt of the wait leaves the work alone."""
    return begin(work).value(timeout_s)


async def adone(work: Work, timeout_s: float | None) -> Any:
    """The same without blocking the event loop."""
    loop, ended, waiting = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    working = threading.Lock()
    working.acquire()

    def finished() -> None:
        working.release()
        if waiting.is_set():
            with suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(ended.set)

    job = Job(work, finished).start()
    if working.acquire(timeout=_QUICK_S):
        return job.value
    waiting.set()
    if working.acquire(blocking=False):  # pragma: no cover (it ended before it could see that somebody waits: a race)
        return job.value
    try:
        async with asyncio.timeout(timeout_s):
            await ended.wait()
    except TimeoutError:
        job.abandon()
        raise TimedOut from None
    except BaseException:
        job.abandon()
        raise
    return job.value

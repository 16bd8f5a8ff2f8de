"""Threads for tool calls. One that has done its job waits for the next, since starting a thread costs more than a call.

There are as many as there are calls under way: a handler that never comes back keeps its own thread and takes nobody
else's. Nothing of a run is kept between two jobs.
"""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from micro_agent.tools.processes import has_children

_IDLE_S = 10.0

_idle: "deque[Worker]" = deque()


class Worker(threading.Thread):
    """A daemon thread that runs one job at a time, and ends after ``idle_s`` seconds without one."""

    def __init__(self, idle_s: float = _IDLE_S) -> None:
        super().__init__(name="micro-agent-tool", daemon=True)
        self._idle_s = idle_s
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.abandoned = False
        """Set when nobody waits for the job any more: the thread then ends with it."""

    def run(self) -> None:
        """Run jobs until none has come for a while."""
        while (job := self._next()) is not None:
            job()
            if self.abandoned:
                return
            _idle.append(self)

    def _next(self) -> Callable[[], None] | None:
        while True:
            try:
                return self._jobs.get(timeout=self._idle_s)
            except queue.Empty:
                try:
                    _idle.remove(self)
                except ValueError:
                    continue  # taken in this very moment: a job is on its way
                return None

    def take(self, job: Callable[[], None] | None) -> None:
        """Hand over a job, which must not raise; ``None``: there are no more."""
        self._jobs.put(job)


def run_in_worker(job: Callable[[], None]) -> Worker:
    """Run a job in an idle thread, or a new one; returns the thread. The job must not raise."""
    worker = _without_children() or _started()
    worker.take(job)
    return worker


def _without_children() -> Worker | None:
    """An idle thread. A process that a job left behind must not be taken for the next job's, and killed with it.

    That is looked at here and not in the thread, which would fight for the interpreter with whoever has the result.
    """
    with suppress(IndexError):
        while has_children((worker := _idle.pop()).native_id or 0):
            worker.take(None)
        return worker
    return None


def _started() -> Worker:
    worker = Worker()
    worker.start()
    return worker


os.register_at_fork(after_in_child=_idle.clear)

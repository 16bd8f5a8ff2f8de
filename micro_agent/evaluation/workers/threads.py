"""Trials asked in threads of this process."""

from collections.abc import Callable
from contextvars import copy_context
from threading import Event, Lock, Thread

from micro_agent.cancel import Cancel
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.feed import GRACE_S, LOOK_AGAIN_S, Feed
from micro_agent.evaluation.workers.tried import Tried


class Threads:
    """So many threads that each ask one trial at a time.

    Args:
        count: Of the threads.
        ask: Asks a trial and scores it; ``None`` when it was cancelled.
    """

    def __init__(self, count: int, ask: Callable[[Trial, Cancel], Tried | None]) -> None:
        self._ask, self._working = ask, count
        self._lock, self._finished = Lock(), Event()

    def run(self, feed: Feed) -> bool:
        """Ask what the feed gives; one that hangs after a cancel is left to itself."""
        for number in range(self._working):
            # In a context like this one: the span that called us is in it.
            Thread(target=copy_context().run, args=(self._work, feed), name=f"eval-{number}", daemon=True).start()
        while not self._finished.wait(LOOK_AGAIN_S):
            if feed.cancel.is_set():
                return self._finished.wait(GRACE_S)
        return True

    def _work(self, feed: Feed) -> None:
        try:
            while (trial := feed.next()) is not None:
                feed.take(self._ask(trial, feed.cancel))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            feed.fail(error)
        with self._lock:
            self._working -= 1
            if not self._working:
                self._finished.set()

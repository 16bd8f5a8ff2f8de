"""Workers in threads of this process: all of what workers are but the way to them, which is one through bytes."""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, Queue
from typing import Any, Self

from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.crew import Back, CrewExecutor, Lost
from micro_agent.evaluation.workers.worker import Setup, Worker


class LocalCrew:
    """Two workers that each ask two trials at once, unless others are asked for.

    ``dies`` says whether the worker of a trial is killed when it has asked it.
    """

    def __init__(
        self, setup: Setup, *, workers: int = 2, per_worker: int = 2, dies: Callable[[Trial], bool] | None = None
    ) -> None:
        self.sent = pickle.dumps(setup)
        self._slots = workers * per_worker
        self.dies = dies
        self.most = 0
        self.cancelled = self.closed = self.up = False
        """They are up when one has waited for them."""
        self._workers = [Worker(pickle.loads(self.sent)) for _ in range(workers)]
        self._back = Queue[tuple[Trial, Back]]()
        self._under_way = self._next = 0

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(self._slots)
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False)
        for worker in self._workers:
            worker.close()
        self.closed = True

    @property
    def free(self) -> int:
        return self._slots - self._under_way if self.up else 0

    def send(self, trial: Trial) -> None:
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        self._next += 1
        self._pool.submit(self._ask, self._workers[self._next % len(self._workers)], trial)

    def receive(self, timeout_s: float) -> Iterator[tuple[Trial, Back]]:
        self.up = True
        try:
            got = self._back.get(timeout=timeout_s)
        except Empty:
            return
        self._under_way -= 1
        yield got

    def cancel(self) -> None:
        self.cancelled = True
        for worker in self._workers:
            worker.cancel()

    def _ask(self, worker: Worker, trial: Trial) -> None:
        back: Any = pickle.loads(pickle.dumps(worker.ask(pickle.loads(pickle.dumps(trial)))))
        killed = self.dies is not None and self.dies(trial)
        self._back.put((trial, Lost("it was killed") if killed else back))


def executor(setup: Setup) -> CrewExecutor:
    """That of two workers."""
    return CrewExecutor(LocalCrew(setup))

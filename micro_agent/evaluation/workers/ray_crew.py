"""Workers that are actors of Ray: the one module that knows Ray, which is imported when they start.

What each of them does is `micro_agent.evaluation.workers.worker`, and what becomes of lost ones
`micro_agent.evaluation.workers.crew`: both know nothing of Ray.
"""

import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib import import_module
from time import monotonic, sleep
from typing import Any, Self

from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.crew import Back, Lost, Refused
from micro_agent.evaluation.workers.feed import GRACE_S, LOOK_AGAIN_S
from micro_agent.evaluation.workers.worker import Setup, Worker

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""What nobody has set: nothing phones home, and a worker sees the same GPUs as any other process."""
_STORE_BYTES = 100_000_000
"""Of the shared memory of a Ray that is started here: what comes back is small, and is taken at once."""
_PATIENCE_S = 300.0
"""Seconds without any worker that end an eval."""


class RayCrew:  # pragma: no cover (needs Ray: tests/torture/test_ray.py)
    """Actors, each a process that asks some trials at once. One that dies is started again, where there is a node.

    Args:
        setup: What each of them is told.
        address: Of a cluster, as `ray.init` takes it; ``None`` starts one here, which ends with the eval.
        workers: How many actors; ``None``: one a node.
        per_worker: Trials at once in each.
    """

    def __init__(self, setup: Setup, *, address: str | None, workers: int | None, per_worker: int) -> None:
        self._setup, self._address, self._count, self._per_worker = setup, address, workers, per_worker
        self._actors: list[Any] = []
        self._busy: dict[int, int] = {}
        """How many trials each worker has that is up."""
        self._sent: dict[Any, tuple[Trial, int]] = {}
        self._pings: dict[Any, int] = {}
        """Questions to workers that are starting whether they are up."""
        self._up_at = monotonic()

    @property
    def free(self) -> int:
        """Of all workers that are up."""
        return len(self._busy) * self._per_worker - sum(self._busy.values())

    def __enter__(self) -> Self:
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        ray = self._ray = import_module("ray")
        own = {} if self._address else {"num_cpus": self._count or 1, "object_store_memory": _STORE_BYTES}
        with _ours():
            try:
                ray.init(
                    self._address or "local", include_dashboard=None if self._address else False, log_to_driver=False,
                    logging_level="error", **own,
                )  # fmt: skip
            except ConnectionError as error:
                told = f"no Ray cluster answers at {self._address}: {error}"
                raise ConfigurationError(" ".join(told.split())) from error
        # A worker mostly waits for a server: it reserves no CPU, so that one that is started again finds its place.
        remote = ray.remote(
            num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=self._per_worker + 1,
            scheduling_strategy="SPREAD",
        )(Worker)  # fmt: skip
        count = self._count or sum(node["Alive"] for node in ray.nodes())
        self._actors = [remote.remote(self._setup) for _ in range(count)]
        self._pings = {actor.ready.remote(): index for index, actor in enumerate(self._actors)}
        return self

    def __exit__(self, *_: object) -> None:
        try:
            closing = [actor.close.remote() for actor in self._actors]
            self._ray.wait(closing, num_returns=len(closing), timeout=GRACE_S)
        finally:
            self._ray.shutdown()

    def send(self, trial: Trial) -> None:
        """Hand a trial to the worker with the fewest."""
        index = min(self._busy, key=self._busy.__getitem__)
        self._busy[index] += 1
        self._sent[self._actors[index].ask.remote(trial)] = trial, index

    def receive(self, timeout_s: float) -> Iterator[tuple[Trial, Back]]:
        """What has come back by now, all of it at once."""
        asked = [*self._sent, *self._pings]
        if not self._ray.wait(asked, timeout=timeout_s)[0]:
            return self._check_that_some_are_up()
        for ref in self._ray.wait(asked, num_returns=len(asked), timeout=0)[0]:
            if ref in self._pings:
                self._answered(ref)
            else:
                trial, index = self._sent.pop(ref)
                yield trial, self._got(ref, index)

    def cancel(self) -> None:
        """Tell all workers."""
        for actor in self._actors:
            actor.cancel.remote()

    def _got(self, ref: Any, index: int) -> Back:
        errors = self._ray.exceptions
        if index in self._busy:
            self._busy[index] -= 1
        try:
            return self._ray.get(ref)
        except errors.RayTaskError as error:  # it could not even be called: the package is not there, say
            return Refused(f"a worker cannot be used: {_last_line(error)}", setup=True)
        except errors.RayError as error:
            if self._busy.pop(index, None) is not None:  # the first of those that are lost with it
                self._pings[self._actors[index].ready.remote()] = index
            return Lost(_last_line(error))

    def _answered(self, ping: Any) -> None:
        """A worker is up; or it is not yet, and is asked again a little later."""
        index = self._pings.pop(ping)
        try:
            self._ray.get(ping)
        except self._ray.exceptions.RayError as error:
            if getattr(error, "actor_init_failed", False):  # the package cannot be imported there, say: for good
                raise ConfigurationError(f"a worker cannot be started: {_last_line(error)}") from error
            sleep(LOOK_AGAIN_S)
            self._pings[self._actors[index].ready.remote()] = index
            self._check_that_some_are_up()
        else:
            self._busy[index] = 0

    def _check_that_some_are_up(self) -> None:
        if self._busy:
            self._up_at = monotonic()
        elif monotonic() > self._up_at + _PATIENCE_S:
            raise MicroAgentError(f"no worker has come up for {_PATIENCE_S:g} seconds: look at `ray status`")


def _last_line(error: Exception) -> str:  # pragma: no cover (needs Ray: tests/torture/test_ray.py)
    return str(error).strip().rpartition("\n")[2].strip()


@contextmanager
def _ours() -> Generator[None]:  # pragma: no cover (needs Ray: tests/torture/test_ray.py)
    """Keep what this process does at a signal and with an error: Ray puts its own handlers there."""
    hook, terminated = sys.excepthook, signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        sys.excepthook = hook
        signal.signal(signal.SIGTERM, terminated)

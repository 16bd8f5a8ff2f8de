"""The seam between an eval and whoever asks its trials."""

from typing import Protocol

from micro_agent.cancel import Cancel
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.tried import Tried

GRACE_S = 1.0
"""Seconds that runs under way have to end after a cancel. One that waits for a server is then left to itself."""
LOOK_AGAIN_S = 0.1
"""Seconds between two looks at whether an eval is cancelled."""


class Feed(Protocol):
    """An eval, as an executor sees it. Its methods may be called from any thread."""

    cancel: Cancel
    """When it is set, runs under way are to end."""

    def next(self) -> Trial | None:
        """A trial to ask now; ``None``: no other one starts, and what is under way still counts."""
        ...

    def again(self, trial: Trial, why: str) -> None:
        """A trial was lost with the worker that asked it, and is given out once more, as long as that helps."""
        ...

    def take(self, tried: Tried | None) -> None:
        """Write down what came of a trial. ``None``: it was cancelled."""
        ...

    def fail(self, error: BaseException) -> None:
        """End the eval with an error once what is under way has ended."""
        ...


class Executor(Protocol):
    """Asks the trials of a feed, some at a time."""

    def run(self, feed: Feed) -> bool:
        """Ask until the feed gives no more and all have come back; at most `GRACE_S` once it is cancelled.

        Returns:
            Whether all have come back.
        """
        ...

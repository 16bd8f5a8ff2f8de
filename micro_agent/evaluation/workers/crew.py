"""Trials asked by workers, which are processes here or elsewhere: a bounded number in flight, lost ones asked again."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from micro_agent.errors import ConfigurationError, MicroAgentError
from micro_agent.evaluation.trials import Trial
from micro_agent.evaluation.workers.feed import GRACE_S, LOOK_AGAIN_S, Feed
from micro_agent.evaluation.workers.tried import Tried


@dataclass(frozen=True, slots=True)
class Refused:
    """A worker cannot ask: it is not set up as the driver is, or it met a defect. One line, secrets masked."""

    message: str
    setup: bool
    """Whether settings, tools or files are what is wrong."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker died, or can no longer be reached; what became of the trial, nobody knows."""

    why: str


Back = Tried | Refused | Lost | None
"""What comes back for a trial; ``None``: it was cancelled."""


class Crew(AbstractContextManager["Crew"], Protocol):
    """Workers and the way to them: all that differs between means of transport. They start and end with the context."""

    @property
    def free(self) -> int:
        """How many trials workers that are up can take now, beside those that they have."""
        ...

    def send(self, trial: Trial) -> None:
        """Hand a trial to a worker that is up and free."""
        ...

    def receive(self, timeout_s: float) -> Iterable[tuple[Trial, Back]]:
        """What has come back, as soon as something has; nothing after ``timeout_s``.

        Raises:
            MicroAgentError: No worker can be had.
        """
        ...

    def cancel(self) -> None:
        """Have the runs under way end."""
        ...


class CrewExecutor:
    """Keeps a crew busy. A lost trial is given out again, and as nothing of it came back, none is recorded twice."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew

    def run(self, feed: Feed) -> bool:
        """Ask until the feed gives no more and everything is back."""
        with self._crew as crew:
            under_way = 0
            end: float | None = None
            while True:
                while crew.free and (trial := feed.next()) is not None:
                    crew.send(trial)
                    under_way += 1
                if not under_way and (crew.free or (feed.cancel.is_set() and feed.next() is None)):
                    return True
                if end is None and feed.cancel.is_set():
                    crew.cancel()
                    end = monotonic() + GRACE_S
                if end is not None and monotonic() > end:
                    return False
                for trial, back in crew.receive(LOOK_AGAIN_S):
                    under_way -= 1
                    _handed_over(feed, trial, back)


def _handed_over(feed: Feed, trial: Trial, back: Back) -> None:
    if isinstance(back, Lost):
        feed.again(trial, back.why)
    elif isinstance(back, Refused):
        feed.fail((ConfigurationError if back.setup else MicroAgentError)(back.message))
    else:
        try:
            feed.take(back)
        except Exception as error:  # noqa: BLE001 - raised again by the runner, when the rest is written
            feed.fail(error)

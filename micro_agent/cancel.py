"""Ending a run from outside."""

import threading

from micro_agent.run import Run


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run; ``run`` is on record, with termination reason ``cancelled``."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"run {run.id} was cancelled")
        self.run = run


class Cancel(threading.Event):
    """Set it from anywhere to end a run at its next effect; ``performing`` tells whether an effect is under way.

    A run that is suspended instead does not end: it is left on record as it is, and can be resumed. The task of one
    that is awaited is cancelled after that, which breaks off the effect under way.
    """

    performing: bool = False
    suspended: bool = False
    _broke_in: bool = False

    def suspend(self) -> None:
        """Leave the run at its next effect, to be resumed by whoever takes it up."""
        self.suspended = True

    def interrupt(self, *_: object) -> None:
        """A SIGINT handler: cancels, and breaks into the effect under way, once, and never into the bookkeeping."""
        self.set()
        if self.performing and not self._broke_in:
            self._broke_in = True
            raise KeyboardInterrupt

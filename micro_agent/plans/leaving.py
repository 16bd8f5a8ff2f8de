"""Leaving a plan in the midst of a run, as a kill does, so that it goes on from there."""

from micro_agent.cancel import Cancel


class LeftInTheMidst(SystemExit):
    """An effect was broken off. A `SystemExit`, since nothing between there and here takes that for a failure."""


class Leaving(Cancel):
    """Ctrl-C and SIGTERM leave the run under way as it stands, to be resumed: a plan goes on with it, not anew."""

    def interrupt(self, *_: object) -> None:
        """Break into the effect under way, never into the bookkeeping. What a kill leaves is left by this."""
        self.suspend()
        if self.performing:
            raise LeftInTheMidst

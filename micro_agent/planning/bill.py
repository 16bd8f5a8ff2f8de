"""Which calls of a model were paid for: DSPy counts no usage of a reply that its cache held."""

from typing import Any

from micro_agent.models.prices import Price, cost
from micro_agent.run import LMCall


class Bill:
    """Stands where DSPy has its usage tracker, and passes on what it is told.

    Args:
        tracker: The tracker of the caller, ``None`` where nobody counts.
    """

    def __init__(self, tracker: Any = None) -> None:
        self._tracker, self.calls = tracker, 0

    def add_usage(self, lm: str, usage: dict[str, Any]) -> None:
        """Count one call that a server answered."""
        self.calls += 1
        if self._tracker:
            self._tracker.add_usage(lm, usage)

    def cost(self, call: LMCall, price: Price | None, *, cached: bool) -> float | None:
        """US dollars that a call cost, ``None`` if unknown: nothing where the cache that it may come from had it."""
        if cached and not self.calls and call.input_tokens is not None:
            return 0.0
        return cost(price, call.input_tokens, call.output_tokens)

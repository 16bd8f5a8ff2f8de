"""What an optimization has cost so far, and how one ends early."""

from dataclasses import dataclass
from typing import Literal

from micro_agent.errors import MicroAgentError

Reason = Literal["cancelled", "limit_cost", "unreached", "uneven"]
GO_ON = "what is done is kept, --resume goes on"


class NotFinished(MicroAgentError):
    """It cannot go on for now: somebody cancelled it, the money is spent, or no model answers. Nothing was saved."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(f"{message}; {GO_ON}")
        self.reason: Reason = reason


class Halt(BaseException):
    """Carries an error out of a compilation at once: DSPy counts an `Exception` as one more failed example."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Spent:
    """Runs, model calls and US dollars. The cost is unknown (``None``) as soon as one part of it is."""

    runs: int = 0
    lm_calls: int = 0
    cost_usd: float | None = 0.0

    def add(self, lm_calls: int, cost_usd: float | None, *, runs: int = 1) -> None:
        """Count a run, or with ``runs=0`` calls outside of runs."""
        self.runs += runs
        self.lm_calls += lm_calls
        self.cost_usd = None if self.cost_usd is None or cost_usd is None else self.cost_usd + cost_usd


def left_to_spend(limit: float | None, spent: float | None) -> float | None:
    """What is left of a limit in US dollars; ``None`` without a limit.

    Raises:
        NotFinished: Nothing is left, or nobody can know.
    """
    if limit is None:
        return None
    if spent is None:
        raise NotFinished(
            "limit_cost",
            f"the cost so far is unknown, so the limit of {limit:g} USD cannot be held: set the prices of the model, "
            "OPENAI_INPUT_PRICE_PER_1K and OPENAI_OUTPUT_PRICE_PER_1K (0 for a local one), or leave the limit out",
        )
    if spent >= limit:
        raise NotFinished("limit_cost", f"{spent:g} USD were spent; the limit is {limit:g} USD")
    return limit - spent

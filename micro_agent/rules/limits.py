"""The limits of a run: steps, tokens, cost and time. The one rule that always holds.

A figure that is unknown cannot be held to a limit: the run stops and says so, rather than going on without a bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from micro_agent.errors import ConfigurationError
from micro_agent.rules.verdict import BeforePlan, Event, Stop
from micro_agent.run import MALFORMED_DECISION, NO_ACTION, POLICY_VIOLATION, VALIDATION_ERROR, Run, Step

COUNTED_MARKERS = frozenset({POLICY_VIOLATION, VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION})
"""Steps that the loop adds for a decision of the model which came to nothing. Each counts like a tool step."""


@dataclass(frozen=True)
class Limits:
    """What a run may use at most. ``None`` is no limit.

    Raises:
        ConfigurationError: A limit is not a positive, finite number, or ``max_steps`` or ``max_tokens`` is not whole.
    """

    max_steps: int = 6
    """Decisions of the model: tool steps, violations, malformed and empty replies."""
    max_tokens: int | None = None
    """Input and output tokens of all calls together."""
    max_cost: float | None = None
    """US dollars."""
    max_time: float | None = None
    """Seconds spent waiting for the model and for tools; the time that a person takes to confirm does not count."""

    def __post_init__(self) -> None:
        _require_positive("max_steps", self.max_steps, whole=True)
        for name, value in (("max_tokens", self.max_tokens), ("max_cost", self.max_cost), ("max_time", self.max_time)):
            if value is not None:
                _require_positive(name, value, whole=name == "max_tokens")

    def check(self, run: Run, event: Event) -> Stop | None:
        """Stop the run before its next decision when it has reached one of the limits."""
        if not isinstance(event, BeforePlan):
            return None
        return self._steps(run) or self._tokens(run) or self._cost(run) or self._time(run)

    def _steps(self, run: Run) -> Stop | None:
        used = sum(1 for step in run.steps if _counts(step))
        if used < self.max_steps:
            return None
        return Stop("max_steps", f"{used} steps were taken without an answer; max_steps is {self.max_steps}")

    def _tokens(self, run: Run) -> Stop | None:
        if self.max_tokens is None:
            return None
        used = _total([tokens for call in run.calls for tokens in (call.input_tokens, call.output_tokens)])
        if used is None:
            return Stop(
                "max_tokens",
                "The number of tokens used is unknown, because the server does not report it, so max_tokens "
                f"({self.max_tokens}) cannot be held. Use a server that reports usage, or limit max_steps or max_time.",
            )
        if used < self.max_tokens:
            return None
        return Stop("max_tokens", f"{used} tokens were used; max_tokens is {self.max_tokens}")

    def _cost(self, run: Run) -> Stop | None:
        if self.max_cost is None:
            return None
        spent = _total([call.cost_usd for call in run.calls])
        if spent is None:
            return Stop(
                "max_cost",
                f"The cost so far is unknown, so max_cost ({self.max_cost:g} USD) cannot be held. Set the prices of "
                "the model with OPENAI_INPUT_PRICE_PER_1K and OPENAI_OUTPUT_PRICE_PER_1K (0 for a local model).",
            )
        if spent < self.max_cost:
            return None
        return Stop("max_cost", f"{spent:g} USD were spent; max_cost is {self.max_cost:g} USD")

    def _time(self, run: Run) -> Stop | None:
        if self.max_time is None:
            return None
        spent = sum(call.latency_s for call in run.calls) + sum(step.latency_s or 0.0 for step in run.steps)
        if spent < self.max_time:
            return None
        return Stop("max_time", f"{spent:.1f} s were spent on the model and tools; max_time is {self.max_time:g} s")


def _counts(step: Step) -> bool:
    return step.is_tool or step.tool in COUNTED_MARKERS


def _total(figures: Sequence[float | None]) -> float | None:
    """The sum, or ``None`` when one of the figures is unknown."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def _require_positive(name: str, value: object, *, whole: bool) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
    if not number or (whole and isinstance(value, float)):
        raise ConfigurationError(f"{name} must be a positive {'whole ' if whole else ''}number, not {value!r}")

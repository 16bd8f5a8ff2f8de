"""The limits of a run: steps, tokens, cost, time and size. The one rule that always holds.

A figure that is unknown cannot be held to a limit: the run stops and says so, rather than going on without a bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain

from micro_agent.errors import ConfigurationError
from micro_agent.rules.verdict import BeforePlan, Event, Stop
from micro_agent.run import MALFORMED_DECISION, NO_ACTION, POLICY_VIOLATION, VALIDATION_ERROR, LMCall, Run, Step, Usage
from micro_agent.run.sampling import requests

COUNTED_MARKERS = frozenset({POLICY_VIOLATION, VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION})
"""Steps that the loop adds for a decision of the model which came to nothing. Each counts like a tool step."""


MAX_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """What a run may use at most. ``None`` is no limit.

    Raises:
        ConfigurationError: A limit is not a positive, finite number, or a count is not whole.
    """

    max_steps: int = 6
    """Decisions of the model: tool steps, violations, malformed and empty replies."""
    max_tokens: int | None = None
    """Input and output tokens of all calls together, those of agents that tools asked included. So is ``max_cost``."""
    max_cost: float | None = None
    """US dollars."""
    max_time: float | None = None
    """Seconds spent waiting for the model and for tools; the time that a person takes to confirm does not count."""
    max_bytes: int | None = MAX_BYTES
    """Bytes of replies and of what tools returned (``Usage.recorded_bytes``): memory, and the size of the record."""

    def __post_init__(self) -> None:
        _require_positive("max_steps", self.max_steps, whole=True)
        for name in ("max_tokens", "max_cost", "max_time", "max_bytes"):
            if (value := getattr(self, name)) is not None:
                _require_positive(name, value, whole=name in ("max_tokens", "max_bytes"))

    def check(self, run: Run, event: Event) -> Stop | None:
        """Stop the run before its next decision when it has reached one of the limits."""
        if not isinstance(event, BeforePlan):
            return None
        return self._steps(run) or self._tokens(run) or self._cost(run) or self._time(run) or self._bytes(run)

    def steps_left(self, run: Run) -> int:
        """How many more steps the run may take."""
        return self.max_steps - sum(1 for step in run.steps if _counts(step))

    def _steps(self, run: Run) -> Stop | None:
        used = self.max_steps - self.steps_left(run)
        if used < self.max_steps:
            return None
        return Stop("max_steps", f"{used} steps were taken without an answer; max_steps is {self.max_steps}")

    def _tokens(self, run: Run) -> Stop | None:
        if self.max_tokens is None:
            return None
        used = _total([tokens for part in _parts(run) for tokens in (part.input_tokens, part.output_tokens)])
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
        spent = _total([part.cost_usd for part in _parts(run)])
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
        faults = (call.fault for call in requests(run) if call.fault is not None)
        steps = sum(step.latency_s or 0.0 for step in chain(run.steps, faults))
        spent = sum(call.latency_s for call in requests(run)) + steps
        if spent < self.max_time:
            return None
        return Stop("max_time", f"{spent:.1f} s were spent on the model and tools; max_time is {self.max_time:g} s")

    def _bytes(self, run: Run) -> Stop | None:
        if self.max_bytes is None:
            return None
        held = run.usage.recorded_bytes
        if held is None:
            told = "The size of this run is unknown, because an older version recorded it"
            return Stop(
                "max_bytes", f"{told}, so max_bytes ({self.max_bytes}) cannot be held. Limit max_steps instead."
            )
        if held < self.max_bytes:
            return None
        return Stop("max_bytes", f"{held} bytes of replies and results are on record; max_bytes is {self.max_bytes}")


def limits_of(run: Run) -> Limits:
    """The limits that stand in the record of a run. One that came later than its record did not hold.

    Raises:
        ConfigurationError: This version does not know one of them.
    """
    if unknown := sorted(set(run.limits) - {field.name for field in fields(Limits)}):
        raise ConfigurationError(f"run {run.id} has limits that this version does not know ({', '.join(unknown)})")
    return Limits(**{"max_bytes": None, **run.limits})  # pyright: ignore[reportArgumentType]


def _parts(run: Run) -> list[LMCall | Usage]:
    """What was used: by the run's own calls, and by the agents that its tools asked."""
    return [*requests(run), *(step.usage for step in run.steps if step.usage is not None)]


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

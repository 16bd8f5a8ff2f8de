"""What many runs have used together. Nothing in it depends on the order in which they come."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from micro_agent.run import Run
from micro_agent.run.sampling import requests

OF_CALLS = ("input_tokens", "output_tokens", "cost_usd")
_LARGEST = 1e15
"""Sums of floats up to here are exact to the last digit, however many there are (`math.fsum`)."""


def known(run: Run, name: str) -> tuple[float, int]:
    """What is known of a run's tokens or cost, and of how many of its model calls it is not."""
    total = getattr(run.usage, name)
    if total is not None:
        return total, 0
    parts = [(1, getattr(call, name)) for call in requests(run)]
    parts += [(step.usage.lm_calls, getattr(step.usage, name)) for step in run.steps if step.usage is not None]
    said = [(calls, part) for calls, part in parts if part is not None]
    return sum(part for _, part in said), run.usage.lm_calls - sum(calls for calls, _ in said)


def _counts() -> dict[str, int]:
    return dict.fromkeys(OF_CALLS, 0)


def _floats() -> "array[float]":
    return array("d")


@dataclass(slots=True)
class Totals:
    """Sums over runs. Tokens and cost are those that are known; ``unknown`` says of how many calls they are not."""

    runs: int = 0
    status: Counter[str] = field(default_factory=Counter[str])
    reasons: Counter[str] = field(default_factory=Counter[str])
    lm_calls: int = 0
    tool_calls: int = 0
    tokens: dict[str, int] = field(default_factory=_counts)
    unknown: dict[str, int] = field(default_factory=_counts)
    costs: "array[float]" = field(default_factory=_floats)
    """Of each run that cost something, in US dollars."""
    beyond: float = 0.0
    """The costs that are no numbers to add up: infinite, too large, not a number."""
    seconds: "array[float]" = field(default_factory=_floats)

    def add(self, run: Run) -> None:
        """Count a run."""
        self.count(1, run.status, run.termination_reason, run.usage.lm_calls, run.usage.tool_calls)
        self.seconds.append(run.usage.latency_s)
        for name in OF_CALLS:
            total, missing = known(run, name)
            self.unknown[name] += missing
            if name != "cost_usd":
                self.tokens[name] += int(total)
            elif abs(total) <= _LARGEST:
                self.costs.append(total)
            else:
                self.beyond += total

    def count(self, runs: int, status: str, reason: str | None, lm_calls: int, tool_calls: int) -> None:
        """Count so many runs that ended alike, with their calls together."""
        self.runs += runs
        self.status[status] += runs
        self.reasons[reason or "under way"] += runs
        self.lm_calls += lm_calls
        self.tool_calls += tool_calls

    def figures(self, costs: Iterable[float] = (), rest: "Middle | None" = None) -> dict[str, Any]:
        """The totals by name. What is known of no call is ``None``; so is the median of no runs.

        ``costs`` are more of them, ``rest`` is how long the runs took that are counted and not in ``seconds``.
        """
        cost = math.fsum(chain(self.costs, costs)) + self.beyond
        sums: dict[str, float] = {**self.tokens, "cost_usd": cost}
        calls = self.lm_calls
        return {
            "runs": self.runs, "status": _most_first(self.status), "termination_reason": _most_first(self.reasons),
            "lm_calls": calls, "tool_calls": self.tool_calls,
            **{name: None if calls and self.unknown[name] == calls else sums[name] for name in OF_CALLS},
            "unknown": self.unknown, "median_latency_s": _median(self.seconds, rest or Middle()),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Middle:
    """The middle of many numbers: ``before`` are smaller, ``after`` are larger."""

    before: int = 0
    near: Sequence[float] = ()
    after: int = 0


def _median(seconds: Iterable[float], rest: Middle) -> float | None:
    near = sorted(chain((second for second in seconds if not math.isnan(second)), rest.near))
    if not near:
        return None
    count = rest.before + len(near) + rest.after
    return (near[(count - 1) // 2 - rest.before] + near[count // 2 - rest.before]) / 2


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

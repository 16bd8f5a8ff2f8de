"""Whether compiled demos are kept, why, and the evidence that goes into their file."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from micro_agent.evaluation.figures import Comparison, Rate


@dataclass(frozen=True, slots=True)
class Verdict:
    """``keep`` and one sentence that says why, or why not."""

    keep: bool
    why: str


UNCHANGED = Verdict(False, "not saved: training made nothing that differs from what the agent has today")


def verdict(comparison: Comparison, *, force: bool = False) -> Verdict:
    """Keep what is not worse: the difference is at least zero, and its interval does not lie wholly below zero.

    With few tasks that is weak evidence either way, and the sentence says so. ``force`` keeps whatever came of it.
    """
    if comparison.difference is None or comparison.low is None or comparison.high is None:
        return Verdict(force, f"{_word(force)}: no held-out task was asked in both arms")
    p_value = 1.0 if comparison.p_value is None else comparison.p_value
    figures = (
        f"{100 * comparison.difference:+.1f} points on {comparison.tasks} held-out tasks "
        f"(95 % interval {100 * comparison.low:+.1f} to {100 * comparison.high:+.1f}, p = {p_value:.4f})"
    )
    if comparison.high < 0:
        return Verdict(force, f"{_word(force)}: worse than today, {figures}")
    if comparison.difference < 0:
        return Verdict(force, f"{_word(force)}: the rate fell, {figures}")
    if comparison.low > 0:
        weak = "" if p_value < 0.05 else "; the evidence of a gain is weak"
        return Verdict(True, f"saved: better than today, {figures}{weak}")
    return Verdict(True, f"saved: not worse than today, {figures}; no gain is shown")


def _word(force: bool) -> str:
    return "saved because of --force" if force else "not saved"


def versions() -> dict[str, str]:
    """The versions that demos were made with."""
    return {"micro_agent": version("micro-agent"), "dspy": version("dspy")}


def figures_of(comparison: Comparison) -> dict[str, Any]:
    """The figures of a comparison that justify, or do not justify, a file of demos."""
    return {
        "today": _rate(comparison.a_rate),
        "compiled": _rate(comparison.b_rate),
        "difference": comparison.difference,
        "interval_95": [comparison.low, comparison.high],
        "method": comparison.method,
        "p_value": comparison.p_value,
        "test": comparison.test,
        "gained": [flip.task for flip in comparison.gained],
        "lost": [flip.task for flip in comparison.lost],
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {"rate": rate.value, "interval_95": [rate.low, rate.high], "solved": rate.hits, "tasks": rate.n}

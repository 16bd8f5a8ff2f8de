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


def verdict(comparison: Comparison, *, force: bool = False, allow_equal: bool = False) -> Verdict:
    """Keep what is better: the rate rose, and at worst (the lower end of the interval) one held-out task is lost by it.

    With few tasks that is weak evidence, and the sentence says so. ``allow_equal`` keeps what is not worse: the rate
    has not fallen, whatever the interval. ``force`` keeps whatever came of it.
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
    if round(comparison.difference, 9) == 0:  # with epochs it is a mean of shares
        return Verdict(allow_equal or force, f"{_word(force, allow_equal)}: the rate is that of today, {figures}")
    if comparison.difference < 0:
        return Verdict(force, f"{_word(force)}: the rate fell, {figures}")
    one_task = 1 / comparison.tasks
    if comparison.low < -one_task:
        doubt = f"the interval allows a loss of more than one task ({100 * one_task:.1f} points)"
        return Verdict(allow_equal or force, f"{_word(force, allow_equal)}: the rate rose, {figures}; {doubt}")
    weak = "" if p_value < 0.05 else "; the evidence of a gain is weak"
    return Verdict(True, f"saved: better than today, {figures}{weak}")


def _word(force: bool, allow_equal: bool = False) -> str:
    option = "--allow-equal" if allow_equal else "--force" if force else None
    return f"saved because of {option}" if option else "not saved"


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

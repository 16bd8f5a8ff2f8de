"""Histograms: how many values fall between which edges. Edges are round numbers, or even steps of a logarithm."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

MOST = 24
"""About the number of bars that still tell apart on a phone."""
_WIDE = 30
"""Above this ratio of the largest to the middle value, even bins would show one bar and a void."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """``counts[i]`` values lie from ``edges[i]`` to ``edges[i + 1]``; ``logarithmic`` says how the edges are spaced."""

    edges: list[float]
    counts: list[int]
    logarithmic: bool


def histogram(values: Sequence[float]) -> Histogram | None:
    """Count finite values in bins. ``None`` when there are none, or when all are the same: there is nothing to draw."""
    ordered = sorted(values)
    if not ordered or math.isclose(ordered[0], ordered[-1], rel_tol=1e-6):
        return None
    middle = ordered[len(ordered) // 2]
    logarithmic = ordered[0] > ordered[-1] / 10**MOST and ordered[-1] > _WIDE * middle
    edges = _even_ratios(ordered[0], ordered[-1]) if logarithmic else _even_steps(ordered[0], ordered[-1])
    counts = [0] * (len(edges) - 1)
    for value in ordered:
        counts[min(max(bisect_right(edges, value) - 1, 0), len(counts) - 1)] += 1
    return Histogram(edges, counts, logarithmic)


def _even_steps(low: float, high: float) -> list[float]:
    if 0 < low < high / 3:  # near enough to nothing for the axis to begin there
        low = 0.0
    rough = (high - low) / MOST
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= rough * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _even_ratios(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    each = max(1, min(10, round(MOST / decades)))
    first, last = math.floor(math.log10(low) * each), math.ceil(math.log10(high) * each)
    return [10.0 ** (number / each) for number in range(first, last + 1)]

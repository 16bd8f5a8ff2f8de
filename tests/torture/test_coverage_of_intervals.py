"""How often the intervals of the evals hold the true value: at length, and printed for docs/design/statistics.md.

``python -m pytest -m torture -s tests/torture/test_coverage_of_intervals.py``
"""

from collections.abc import Callable, Iterable
from itertools import product
from math import comb
from random import Random

import pytest

from micro_agent.evaluation.statistics import (
    Interval,
    clustered_difference,
    paired_interval,
    wilson,
    wilson_clustered,
)

pytestmark = pytest.mark.torture

ROUNDS = 2000
LIKENESS = (0.01, 0.2, 0.5, 0.9)
SIZES = ((10, 3), (20, 5), (50, 3), (50, 5), (200, 4))


def say(name: str, covered: Iterable[float]) -> tuple[float, float]:
    """Print and give the mean and the least of the shares of intervals that held."""
    shares = list(covered)
    mean, least = sum(shares) / len(shares), min(shares)
    print(f"\n{name}: {len(shares)} settings, mean {mean:.3f}, least {least:.3f}", end="")  # noqa: T201 - the figures are quoted
    return mean, least


@pytest.mark.parametrize("n", [10, 20, 50, 120, 500])
def test_wilson(n: int) -> None:
    intervals = [wilson(hits, n) for hits in range(n + 1)]
    rates = [per_mille / 1000 for per_mille in range(5, 996, 5)]
    mean, least = say(f"wilson, n = {n}", (_held(intervals, n, rate) for rate in rates))
    assert 0.945 < mean < 0.965
    assert least > 0.83  # its known dips, next to 0 and 1: Brown, Cai and DasGupta 2001


def _held(intervals: list[Interval], n: int, rate: float) -> float:
    return sum(
        comb(n, hits) * rate**hits * (1 - rate) ** (n - hits)
        for hits, (low, high) in enumerate(intervals)
        if low <= rate <= high
    )


@pytest.mark.parametrize("n", [10, 20, 50, 80])
def test_paired(n: int) -> None:
    intervals = {(a, b): paired_interval(n - a - b, a, b, 0) for a in range(n + 1) for b in range(n + 1 - a)}
    shares = (0.01, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
    mean, least = say(f"paired, n = {n}", (_held_pair(intervals, n, a, b) for a, b in product(shares, shares)))
    assert 0.94 < mean < (0.975 if n > 10 else 0.99)
    assert least > 0.93


def _held_pair(intervals: dict[tuple[int, int], Interval], n: int, only_a: float, only_b: float) -> float:
    return sum(
        comb(n, a) * comb(n - a, b) * only_a**a * only_b**b * (1 - only_a - only_b) ** (n - a - b)
        for (a, b), (low, high) in intervals.items()
        if low <= only_b - only_a <= high
    )


@pytest.mark.parametrize(("tasks", "epochs"), SIZES)
def test_clustered_rate(tasks: int, epochs: int) -> None:
    def held(rate: float, likeness: float, of: Callable[[list[int]], Interval]) -> float:
        random = Random(f"{tasks} {epochs} {rate} {likeness}")
        drawn = (_hits(random, _chances(random, tasks, rate, likeness), epochs) for _ in range(ROUNDS))
        return sum(low <= rate <= high for low, high in map(of, drawn)) / ROUNDS

    settings = list(product((0.5, 0.8, 0.95), LIKENESS))
    name = f"{tasks} tasks x {epochs} epochs"
    clustered = [held(*s, lambda hits: wilson_clustered([(h, epochs) for h in hits])) for s in settings]
    mean, least = say(f"clustered rate, {name}", clustered)
    _, naive = say(
        "  the same without clustering", (held(*s, lambda h: wilson(sum(h), tasks * epochs)) for s in settings)
    )
    assert 0.94 < mean < 0.975
    assert least > 0.89
    assert naive < 0.85


@pytest.mark.parametrize(("tasks", "epochs"), SIZES)
def test_clustered_difference(tasks: int, epochs: int) -> None:
    def held(rate: float, likeness: float, changed: float) -> float:
        random, true, count = Random(f"{tasks} {epochs} {rate} {likeness} {changed}"), changed * (0.5 - rate), 0
        for _ in range(ROUNDS):
            of_a = _chances(random, tasks, rate, likeness)
            of_b = [random.random() if random.random() < changed else chance for chance in of_a]
            a, b = _hits(random, of_a, epochs), _hits(random, of_b, epochs)
            low, high, _p = clustered_difference([(y - x) / epochs for x, y in zip(a, b, strict=True)])
            count += low <= true <= high
        return count / ROUNDS

    settings = product((0.5, 0.8, 0.95), (0.2, 0.5), (0.0, 0.1, 0.5))
    mean, least = say(f"clustered difference, {tasks} tasks x {epochs} epochs", (held(*s) for s in settings))
    assert 0.94 < mean < 0.98
    assert least > 0.85


def _chances(random: Random, tasks: int, rate: float, likeness: float) -> list[float]:
    """Success rates of tasks, Beta distributed; ``likeness`` is the correlation of two trials of a task."""
    scale = 1 / likeness - 1
    return [random.betavariate(rate * scale, (1 - rate) * scale) for _ in range(tasks)]


def _hits(random: Random, chances: list[float], epochs: int) -> list[int]:
    return [sum(random.random() < chance for _ in range(epochs)) for chance in chances]

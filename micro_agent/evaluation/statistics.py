"""The formulas behind the figures of evals: plain functions on numbers, standard library only.

Rates are shares from 0 to 1. Intervals are two-sided and of 95 % unless ``confidence`` says otherwise. A task asked
more than once is a cluster: its trials say less than as many trials of different tasks. Why each formula was chosen,
and how often its intervals hold what they should: docs/design/statistics.md.
"""

from collections.abc import Callable, Iterator, Sequence
from math import comb, floor, fsum, sqrt
from typing import Protocol

from micro_agent.evaluation.distributions import (
    bisect,
    normal_quantile,
    student_t_quantile,
    student_t_two_sided,
)

CONFIDENCE = 0.95

Interval = tuple[float, float]


class PerTask(Protocol):
    """Of each task a sum over its trials and their number: a list, or what needs less memory."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[float, float]]: ...


def wilson(hits: float, n: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval for a rate of ``hits`` in ``n`` independent trials. Neither needs to be whole.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference", JASA 22, 209-212.

    Raises:
        ValueError: There are no trials, or not between 0 and ``n`` hits.
    """
    if not 0 <= hits <= n or n <= 0:
        raise ValueError(f"{hits} hits of {n} is not a rate")
    return _wilson(hits / n, n, confidence)


def _wilson(rate: float, n: float, confidence: float) -> Interval:
    z2 = normal_quantile((1 + confidence) / 2) ** 2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = sqrt(z2 * rate * (1 - rate) / n + (z2 / (2 * n)) ** 2) / (1 + z2 / n)
    # The ends are exact at 0 and 1, and rounding never leaves the rate outside its own interval.
    return 0.0 if rate == 0 else min(centre - half, rate), 1.0 if rate == 1 else max(centre + half, rate)


def wilson_clustered(per_task: PerTask, confidence: float = CONFIDENCE, *, trials: int | None = None) -> Interval:
    """Wilson's interval for a rate over tasks that were asked several times: ``(hits, trials)`` of each task.

    It is `wilson` at the effective number of trials; with one trial a task it is `wilson` itself.

    Args:
        per_task: Hits and trials of each task; a share and 1 of each if all tasks are to weigh the same.
        confidence: The share of such intervals that hold the true rate.
        trials: How many trials there were, where the counts of ``per_task`` do not add up to it.
    """
    total = fsum(n for _, n in per_task)
    rate = fsum(hits for hits, _ in per_task) / total
    return _wilson(rate, effective_trials(per_task, confidence, trials=trials), confidence)


def effective_trials(per_task: PerTask, confidence: float = CONFIDENCE, *, trials: int | None = None) -> float:
    """How many independent trials tell as much as these clustered ones; the arguments are those of `wilson_clustered`.

    The trials over the design effect (the variance of the rate by its tasks over that of as many independent trials),
    less for the variance being estimated from few tasks. It lies between what is left when the trials of a task always
    agree (Kish's number: the tasks, if all have the same number of trials) and the number of trials. Where the tasks
    do not vary, nothing is known of the design effect, and the lower bound is taken.

    Source: Korn and Graubard 1998, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24, 193-201; with Wilson's interval in Franco, Little, Louis and
    Slud 2019, Journal of Survey Statistics and Methodology 7, 334-364. The bound: Kish 1965, "Survey
    Sampling", the design effect at a correlation of 1.
    """
    total = fsum(n for _, n in per_task)
    least = total**2 / fsum(n * n for _, n in per_task)
    most = total if trials is None else float(trials)
    rate = fsum(hits for hits, _ in per_task) / total
    variance, independent = _variance_of_mean(per_task), rate * (1 - rate) / most
    # A variance this small beside the other is what rounding leaves of none.
    if variance is None or variance <= 1e-9 * independent:
        return least
    upper = (1 + confidence) / 2
    few = student_t_quantile(upper, most - 1) / student_t_quantile(upper, len(per_task) - 1)
    return max(least, min(most, most * independent / variance * few**2))


def clustered_standard_error(per_task: PerTask) -> float | None:
    """The standard error of a mean over trials, clustered by task; ``None`` below two tasks.

    With one trial a task it is the usual one, the deviation over the square root of n.

    Args:
        per_task: The sum of a task's values and their number, for each task.

    Source: Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640, with the factor k / (k - 1) for k clusters.
    """
    variance = _variance_of_mean(per_task)
    return None if variance is None else sqrt(variance)


def _variance_of_mean(per_task: PerTask) -> float | None:
    tasks = len(per_task)
    if tasks < 2:
        return None
    total = fsum(n for _, n in per_task)
    mean = fsum(value for value, _ in per_task) / total
    return tasks / (tasks - 1) * fsum((value - mean * n) ** 2 for value, n in per_task) / total**2


def mcnemar_exact(b: int, c: int) -> float:
    """The two-sided p-value of McNemar's test on the pairs that differ, ``b`` one way and ``c`` the other.

    The exact form: the binomial test of ``b`` in ``b + c`` at one half; without such pairs it is 1.

    Source: McNemar 1947, "Note on the sampling error of the difference between correlated proportions or percentages",
    Psychometrika 12, 153-157.
    """
    differ = b + c
    term = tail = 1
    for i in range(min(b, c)):
        term = term * (differ - i) // (i + 1)
        tail += term
    return min(1.0, 2 * tail / 2**differ)


def paired_interval(
    both: float, only_a: float, only_b: float, neither: float, confidence: float = CONFIDENCE
) -> Interval:
    """Tango's score interval for the difference of two paired rates, b minus a.

    It stays within -1 and 1, and has a width also where no pair differs. The counts need not be whole.

    Source: Tango 1998, "Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design", Statistics in Medicine 17, 891-908.

    Raises:
        ValueError: There are no pairs.
    """
    n = both + only_a + only_b + neither
    if n <= 0:
        raise ValueError("no pairs, no interval")
    z2 = normal_quantile((1 + confidence) / 2) ** 2
    estimate = (only_b - only_a) / n

    def holds(difference: float) -> bool:
        only_a_share = _share_of_only_a(difference, only_a, only_b, n)
        return n * (estimate - difference) ** 2 <= z2 * (2 * only_a_share + difference * (1 - difference))

    return bisect(holds, estimate, -1.0), bisect(holds, estimate, 1.0)


def _share_of_only_a(difference: float, only_a: float, only_b: float, n: float) -> float:
    """The likeliest probability of "only a" given the difference: the root of Tango's quadratic, without cancelling."""
    b = (2 * n - only_b + only_a) * difference - only_b - only_a
    minus_c = only_a * difference * (1 - difference)
    root = sqrt(max(0.0, b * b + 8 * n * minus_c))
    return (root - b) / (4 * n) if b <= 0 else 2 * minus_c / (b + root)


def clustered_difference(
    per_task_differences: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Mean of the differences of the tasks' success rates: low, high and two-sided p-value, by Student's t.

    The tasks are the sample; what the trials of a task vary by is in the tasks' differences already. Where these are
    `all_alike`, t knows no width: the interval is then `paired_interval` with one pair a task, and the test the
    sign test, which is `mcnemar_exact` on the tasks.

    Source: Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640.

    Raises:
        ValueError: There are no tasks.
    """
    tasks = len(per_task_differences)
    if all_alike(per_task_differences):
        total = fsum(per_task_differences)
        gained, lost = max(0.0, total), max(0.0, -total)
        low, high = paired_interval(0, lost, gained, tasks - gained - lost, confidence)
        return low, high, mcnemar_exact(tasks if total else 0, 0)
    mean, error = _mean_and_error(per_task_differences)
    half = student_t_quantile((1 + confidence) / 2, tasks - 1) * error
    return max(-1.0, mean - half), min(1.0, mean + half), student_t_two_sided(mean / error, tasks - 1)


def all_alike(values: Sequence[float]) -> bool:
    """Whether values do not vary, but for rounding; fewer than two never do."""
    return len(values) < 2 or max(values) - min(values) <= 1e-9 * max(abs(max(values)), abs(min(values)))


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Student's t interval for the mean of independent values; ``None`` where they are `all_alike`.

    Source: Student 1908, "The probable error of a mean", Biometrika 6, 1-25.
    """
    if all_alike(values):
        return None
    mean, error = _mean_and_error(values)
    half = student_t_quantile((1 + confidence) / 2, len(values) - 1) * error
    return mean - half, mean + half


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    mean = fsum(values) / n
    return mean, sqrt(fsum((value - mean) ** 2 for value in values) / (n * (n - 1)))


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that at least one of ``k`` trials succeeds, unbiased, from ``c`` successes in ``n`` trials.

    Source: Chen et al. 2021, "Evaluating Large Language Models Trained on Code", arXiv 2107.03374, equation 1. It is
    computed in whole numbers and divided once, so nothing is lost.

    Raises:
        ValueError: ``k`` is not between 1 and ``n``, or ``c`` not between 0 and ``n``.
    """
    ways = _ways(n, c, k)
    return (ways - comb(n - c, k)) / ways


def pass_hat_k(n: int, c: int, k: int) -> float:
    """The chance that all of ``k`` trials succeed (pass^k), unbiased, from ``c`` successes in ``n`` trials.

    Source: Yao et al. 2024, "tau-bench", arXiv 2406.12045.

    Raises:
        ValueError: ``k`` is not between 1 and ``n``, or ``c`` not between 0 and ``n``.
    """
    ways = _ways(n, c, k)
    return comb(c, k) / ways


def _ways(n: int, c: int, k: int) -> int:
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"{k} of {n} trials with {c} successes cannot be drawn")
    return comb(n, k)


def quantile(values: Sequence[float], p: float) -> float:
    """The quantile at ``p`` from 0 to 1, interpolated between the two nearest values: type 7, numpy's ``linear``.

    Source: Hyndman and Fan 1996, "Sample quantiles in statistical packages", The American Statistician 50, 361-365.
    """
    return quantile_at(sorted(values).__getitem__, len(values), p)


def quantile_at(value_at: Callable[[int], float], n: int, p: float) -> float:
    """The same of ``n`` values, given what gives the one at a rank in their order, from 0."""
    position = p * (n - 1)
    below = floor(position)
    low, high = value_at(below), value_at(min(below + 1, n - 1))
    return low + (position - below) * (high - low)

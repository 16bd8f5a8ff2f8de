"""The formulas of the evals against scipy, published examples, brute force, and how often their intervals hold."""

from itertools import combinations, product
from math import comb, log, sqrt
from random import Random

import numpy as np
import pytest
import scipy  # which imports its parts when they are first used
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.evaluation.distributions import normal_quantile, student_t_quantile, student_t_two_sided
from micro_agent.evaluation.statistics import (
    Interval,
    all_alike,
    clustered_difference,
    clustered_standard_error,
    effective_trials,
    mcnemar_exact,
    mean_interval,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    quantile,
    wilson,
    wilson_clustered,
)

Z2 = 1.959963984540054**2
LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
COUNTS = st.integers(0, 60)
CLUSTERS = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1, max_size=40
)


# ---- one rate


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_examples_of_newcombe_1998(hits: int, n: int, low: float, high: float) -> None:
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


@given(hits=COUNTS, misses=COUNTS, level=st.sampled_from(LEVELS))
def test_wilson_agrees_with_scipy(hits: int, misses: int, level: float) -> None:
    n = hits + misses + 1
    theirs = scipy.stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    assert wilson(hits, n, level) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(hits=COUNTS, misses=COUNTS)
def test_wilson_holds_the_rate_shrinks_with_n_and_mirrors(hits: int, misses: int) -> None:
    n = hits + misses + 1
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    more_low, more_high = wilson(4 * hits, 4 * n)
    assert more_high - more_low < high - low
    assert wilson(n - hits, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)
    assert (low == 0) == (hits == 0)
    assert wilson(n, n)[1] == 1


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_rate_is_refused(hits: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{hits} hits of {n} is not a rate"):
        wilson(hits, n)


# ---- one rate, tasks asked several times


@given(hits=st.lists(st.integers(0, 1), min_size=1, max_size=50))
def test_one_trial_a_task_is_plain_wilson(hits: list[int]) -> None:
    assert wilson_clustered([(hit, 1) for hit in hits]) == pytest.approx(wilson(sum(hits), len(hits)), abs=1e-12)


@given(per_task=CLUSTERS)
def test_the_clustered_interval_lies_between_those_of_the_tasks_and_of_the_trials(
    per_task: list[tuple[int, int]],
) -> None:
    hits, n = sum(hits for hits, _ in per_task), sum(n for _, n in per_task)
    least = n**2 / sum(trials**2 for _, trials in per_task)
    effective = effective_trials(per_task)
    assert least - 1e-9 <= effective <= n + 1e-9
    low, high = wilson_clustered(per_task)
    assert 0 <= low <= hits / n <= high <= 1
    narrowest = wilson(hits, n)
    assert high - low >= narrowest[1] - narrowest[0] - 1e-12
    flipped = wilson_clustered([(trials - hits, trials) for hits, trials in per_task])
    assert flipped == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_trials_that_agree_within_their_task_count_as_one() -> None:
    assert wilson_clustered([(5, 5)] * 30 + [(0, 5)] * 20) == pytest.approx(wilson(30, 50))


@pytest.mark.parametrize("hits", [0, 2, 4])
def test_tasks_that_do_not_vary_count_as_one_trial_each(hits: int) -> None:
    assert wilson_clustered([(hits, 4)] * 25) == pytest.approx(wilson(25 * hits / 4, 25))
    assert wilson_clustered([(hits, 4)]) == pytest.approx(wilson(hits / 4, 1))


@pytest.mark.parametrize("hits", [1, 2])
def test_shares_whose_digits_differ_by_rounding_do_not_vary(hits: int) -> None:
    shares = [(hits / 3, 1.0), (1 - (3 - hits) / 3, 1.0)] * 10
    assert effective_trials(shares, trials=60) == pytest.approx(20)


def test_trials_like_independent_ones_count_in_full() -> None:
    spread = [(2, 4)] * 8 + [(1, 4), (3, 4)] * 8
    assert wilson_clustered(spread) == pytest.approx(wilson(48, 96))


def test_the_effective_number_is_that_of_korn_and_graubard() -> None:
    per_task = np.array([(3, 3), (2, 3), (0, 3), (1, 3), (3, 3), (3, 3), (0, 3), (3, 3), (2, 3), (3, 3)])
    shares = per_task[:, 0] / 3
    rate = shares.mean()
    design_effect = (shares.var(ddof=1) / 10) / (rate * (1 - rate) / 30)
    few = scipy.stats.t.ppf(0.975, 29) / scipy.stats.t.ppf(0.975, 9)
    expected = 30 / design_effect * few**2
    assert 10 < expected < 30
    counts = [(int(hits), int(n)) for hits, n in per_task]
    assert effective_trials(counts) == pytest.approx(expected)
    assert effective_trials([(share, 1) for share in shares.tolist()], trials=30) == pytest.approx(expected)


@given(per_task=st.lists(st.lists(st.floats(-50, 50), min_size=3, max_size=3), min_size=2, max_size=20))
def test_the_clustered_standard_error_is_that_of_the_means_of_tasks(per_task: list[list[float]]) -> None:
    expected = scipy.stats.sem([sum(values) / 3 for values in per_task])
    assert clustered_standard_error([(sum(values), 3) for values in per_task]) == pytest.approx(expected, abs=1e-9)


def test_the_standard_error_of_one_task_is_unknown() -> None:
    assert clustered_standard_error([(3.0, 5)]) is None


# ---- the difference of two paired rates


@given(b=COUNTS, c=COUNTS)
def test_mcnemar_agrees_with_the_binomial_test_of_scipy(b: int, c: int) -> None:
    expected = scipy.stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_gives_the_example_of_armitage_and_berry_and_stands_large_counts() -> None:
    assert mcnemar_exact(12, 2) == pytest.approx(0.0129, abs=5e-5)
    assert mcnemar_exact(4900, 5100) == pytest.approx(scipy.stats.binomtest(4900, 10000).pvalue, rel=1e-9)


@pytest.mark.parametrize(
    ("both", "only_a", "only_b", "neither", "level", "low", "high"),
    [
        (43, 0, 1, 0, 0.90, -0.037, 0.096),  # Tango 1998, disinfection of contact lenses; his difference is a minus b
        (4, 9, 3, 16, 0.95, -0.390, 0.027),  # Tango 1998
        (53, 16, 8, 9, 0.95, -0.207, 0.020),  # Agresti and Min 2005
        (1, 1, 7, 12, 0.95, 0.026, 0.517),  # Fagerland, Lydersen and Laake 2014, airway reactivity
    ],
)
def test_the_paired_interval_gives_published_examples(
    both: int, only_a: int, only_b: int, neither: int, level: float, low: float, high: float
) -> None:
    assert paired_interval(both, only_a, only_b, neither, level) == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(("only_a", "only_b", "n"), [(3, 9, 40), (1, 2, 12), (20, 31, 400), (0, 4, 30)])
def test_the_paired_interval_ends_where_the_score_test_begins_to_reject(only_a: int, only_b: int, n: int) -> None:
    for difference in paired_interval(n - only_a - only_b, only_a, only_b, 0):

        def minus_likelihood(share: float, difference: float = difference) -> float:
            cells = ((only_a, share), (only_b, share + difference), (n - only_a - only_b, 1 - 2 * share - difference))
            return -sum(count * log(chance) for count, chance in cells if count)

        bounds = (max(0.0, -difference) + 1e-12, (1 - difference) / 2 - 1e-12)
        minimum = scipy.optimize.minimize_scalar
        found = minimum(minus_likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-12})
        variance = (2 * found.x + difference - difference**2) / n
        assert ((only_b - only_a) / n - difference) ** 2 / variance == pytest.approx(Z2, rel=1e-5)


def test_without_pairs_that_differ_the_interval_has_a_width() -> None:
    assert paired_interval(30, 0, 0, 20) == pytest.approx((-Z2 / (50 + Z2), Z2 / (50 + Z2)))
    assert paired_interval(0, 0, 6, 0) == pytest.approx((6 / (6 + Z2) * 2 - 1, 1))


@given(both=COUNTS, only_a=COUNTS, only_b=COUNTS)
def test_the_paired_interval_holds_the_difference_shrinks_with_n_and_mirrors(
    both: int, only_a: int, only_b: int
) -> None:
    n = both + only_a + only_b + 1
    low, high = paired_interval(both, only_a, only_b, 1)
    assert -1 <= low <= (only_b - only_a) / n <= high <= 1
    assert paired_interval(both, only_b, only_a, 1) == pytest.approx((-high, -low), abs=1e-9)
    more_low, more_high = paired_interval(4 * both, 4 * only_a, 4 * only_b, 4)
    assert more_high - more_low < high - low


def test_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        paired_interval(0, 0, 0, 0)
    with pytest.raises(ValueError, match="no pairs"):
        clustered_difference([])


# ---- the difference, tasks asked several times


@settings(deadline=None)
@given(differences=st.lists(st.sampled_from([-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=60))
def test_the_clustered_difference_is_the_t_test_of_scipy_on_tasks(differences: list[float]) -> None:
    low, high, p_value = clustered_difference(differences)
    assert -1 <= low <= np.mean(differences) <= high <= 1
    assert low < high
    mirrored = clustered_difference([-difference for difference in differences])
    assert mirrored == pytest.approx((-high, -low, p_value), abs=1e-9)
    if len(set(differences)) > 1:
        theirs = scipy.stats.ttest_1samp(differences, 0.0)
        limits = theirs.confidence_interval(0.95)
        assert p_value == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-300)
        assert (low, high) == pytest.approx((max(-1, limits.low), min(1, limits.high)), abs=1e-9)


def test_differences_that_do_not_vary_are_taken_as_one_pair_a_task() -> None:
    assert clustered_difference([0.0] * 50) == pytest.approx((*paired_interval(50, 0, 0, 0), 1.0))
    assert clustered_difference([1.0] * 8) == pytest.approx((*paired_interval(0, 0, 8, 0), 2 * 0.5**8))
    assert clustered_difference([-1.0] * 8) == pytest.approx((*paired_interval(0, 8, 0, 0), 2 * 0.5**8))
    low, high, p_value = clustered_difference([1 - 2 / 3, 1 / 3] * 5)  # these two differ in their last digit
    assert low < 1 / 3 < high
    assert high - low > 0.3
    assert p_value == pytest.approx(2 * 0.5**10)
    assert clustered_difference([0.5])[2] == 1


def test_the_interval_of_a_mean_is_the_one_of_scipy_and_unknown_without_variation() -> None:
    values = [0.3, -1.2, 4.5, 0.0, 2.2]
    theirs = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert mean_interval(values, 0.9) == pytest.approx((theirs.low, theirs.high))
    assert mean_interval([0.25] * 9) is None
    assert mean_interval([0.25]) is None
    assert all_alike([])


# ---- repeated trials, quantiles, distributions


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_and_pass_hat_k_are_the_shares_of_all_draws(n: int) -> None:
    for c, k in product(range(n + 1), range(1, n + 1)):
        draws = list(combinations([True] * c + [False] * (n - c), k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-15)
        assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-15)


def test_pass_at_k_is_stable_for_many_trials() -> None:
    expected = 1 - float(np.prod(1.0 - 100 / np.arange(9991, 10001)))  # the numpy form in Chen et al. 2021
    assert pass_at_k(10000, 10, 100) == pytest.approx(expected, rel=1e-9)
    assert pass_at_k(10**5, 1, 1) == pytest.approx(1e-5, rel=1e-15)
    assert pass_hat_k(4000, 3000, 2000) == pytest.approx(float(comb(3000, 2000) / comb(4000, 2000)), rel=1e-12)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
def test_more_trials_than_there_are_cannot_be_drawn(n: int, c: int, k: int) -> None:
    for chance in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="cannot be drawn"):
            chance(n, c, k)


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), p=st.floats(0, 1))
def test_quantiles_are_those_of_numpy(values: list[float], p: float) -> None:
    assert quantile(values, p) == pytest.approx(float(np.quantile(values, p)), abs=1e-6)


def test_the_quantile_of_students_t_agrees_with_scipy() -> None:
    for df in (*range(1, 31), 50, 99, 100, 333, 500, 999, 1000):
        for p in (0.001, 0.025, 0.4, 0.5, 0.6, 0.9, 0.95, 0.975, 0.995, 0.9995):
            theirs = float(scipy.stats.t.ppf(p, df))
            assert abs(student_t_quantile(p, df) - theirs) <= 1e-9 * max(1, abs(theirs)), (p, df)


def test_the_tails_of_students_t_agree_with_scipy() -> None:
    for df in (1, 2, 3, 10, 100, 1000):
        for t in (0.0, 1e-9, 0.1, 1.0, -2.0, 5.0, 40.0, 1e3):
            theirs = 2 * float(scipy.stats.t.sf(abs(t), df))
            assert student_t_two_sided(t, df) == pytest.approx(theirs, rel=1e-9, abs=1e-300)
    assert student_t_two_sided(1e200, 5) == 0


def test_the_normal_quantile_agrees_with_scipy() -> None:
    for p in (1e-6, 0.025, 0.5, 0.9, 0.999):
        assert normal_quantile(p) == pytest.approx(float(scipy.stats.norm.ppf(p)), abs=1e-9)


# ---- how often the intervals hold what they should; tests/torture/test_coverage_of_intervals.py does it at length


def test_wilson_holds_the_rate_in_95_of_100() -> None:
    intervals = [wilson(hits, 50) for hits in range(51)]
    rates = [percent / 100 for percent in range(2, 99)]
    covered = [
        sum(comb(50, hits) * p**hits * (1 - p) ** (50 - hits) for hits, i in enumerate(intervals) if i[0] <= p <= i[1])
        for p in rates
    ]
    assert 0.945 < sum(covered) / len(covered) < 0.96
    assert min(covered) > 0.9


def test_the_paired_interval_holds_the_difference_in_95_of_100() -> None:
    n = 25
    tables = [(a, b) for a in range(n + 1) for b in range(n + 1 - a)]
    intervals = {(a, b): paired_interval(n - a - b, a, b, 0) for a, b in tables}
    covered = [_paired_coverage(intervals, n, *shares) for shares in product((0.02, 0.1, 0.2), (0.02, 0.1, 0.3))]
    assert 0.94 < sum(covered) / len(covered) < 0.975
    assert min(covered) > 0.92


def _paired_coverage(intervals: dict[tuple[int, int], Interval], n: int, only_a: float, only_b: float) -> float:
    return sum(
        comb(n, a) * comb(n - a, b) * only_a**a * only_b**b * (1 - only_a - only_b) ** (n - a - b)
        for (a, b), (low, high) in intervals.items()
        if low <= only_b - only_a <= high
    )


@pytest.mark.parametrize(("rate", "likeness"), [(0.7, 0.5), (0.9, 0.2)])
def test_the_clustered_intervals_hold_in_95_of_100(rate: float, likeness: float) -> None:
    random, rounds, tasks, epochs = Random(f"{rate} {likeness}"), 700, 30, 4
    of_rate = of_difference = too_narrow = 0
    for _ in range(rounds):
        chances = _chances(random, tasks, rate, likeness)
        a, b = ([sum(random.random() < p for _ in range(epochs)) for p in chances] for _ in range(2))
        low, high = wilson_clustered([(hits, epochs) for hits in a])
        of_rate += low <= rate <= high
        low, high = wilson(sum(a), tasks * epochs)
        too_narrow += low <= rate <= high
        low, high, _p = clustered_difference([(y - x) / epochs for x, y in zip(a, b, strict=True)])
        of_difference += low <= 0 <= high
    noise = 3 * sqrt(0.05 * 0.95 / rounds)
    assert 0.95 - noise < of_rate / rounds < 0.985
    assert 0.95 - noise < of_difference / rounds < 0.985
    assert too_narrow / rounds < 0.95 - noise, "without clustering the interval is too narrow: the test can tell"


def _chances(random: Random, tasks: int, rate: float, likeness: float) -> list[float]:
    """Success rates of tasks, Beta distributed; ``likeness`` is the correlation of two trials of a task."""
    scale = 1 / likeness - 1
    return [random.betavariate(rate * scale, (1 - rate) * scale) for _ in range(tasks)]

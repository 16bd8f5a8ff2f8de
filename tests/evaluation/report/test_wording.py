"""How figures are said: short, exact enough, and unknown where they are unknown."""

import math

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.evaluation.report import wording
from micro_agent.evaluation.report.bins import histogram
from tests.each import each


@each(
    ("said", "text"),
    [
        (wording.percent(0.7429), "74.3 %"),
        (wording.percent(None), "unknown"),
        (wording.percent(math.nan), "unknown"),
        (wording.points(0.067), "+6.7 points"),
        (wording.points(-0.004), "−0.4 points"),
        (wording.points(None), "unknown"),
        (wording.interval(0.1, 0.25, wording.percent), "10.0 to 25.0 %"),
        (wording.interval(-0.1, 0.25, wording.points), "−10.0 to +25.0 points"),
        (wording.interval(0.05, 1.5, wording.seconds), "50 ms to 1.50 s"),
        (wording.interval(0.001, 2, wording.dollars), "$0.00100 to $2.00"),
        (wording.interval(None, 1, wording.percent), "unknown"),
        (wording.count(1234), "1,234"),
        (wording.count(2.345), "2.35"),
        (wording.count(1234.56), "1,234.6"),
        (wording.count(None), "unknown"),
        (wording.seconds(1.236), "1.24 s"),
        (wording.seconds(12.34), "12.3 s"),
        (wording.seconds(1234.5), "1,234 s"),
        (wording.seconds(0), "0 s"),
        (wording.seconds(0.0341), "34 ms"),
        (wording.seconds(0.00041), "0.4 ms"),
        (wording.seconds(-0.55), "−0.55 s"),
        (wording.seconds(None), "unknown"),
        (wording.dollars(0), "$0"),
        (wording.dollars(0.000123456), "$0.000123"),
        (wording.dollars(12.345), "$12.35"),
        (wording.dollars(-0.5), "−$0.500"),
        (wording.dollars(None), "unknown"),
        (wording.signed(wording.dollars)(0.5), "+$0.500"),
        (wording.signed(wording.dollars)(-0.5), "−$0.500"),
        (wording.signed(wording.dollars)(None), "unknown"),
        (wording.p_value(0.0123), "p = 0.012"),
        (wording.p_value(0.00001), "p < 0.001"),
        (wording.p_value(None), "p unknown"),
        (wording.plural(1, "task"), "1 task"),
        (wording.plural(1200, "task"), "1,200 tasks"),
        (wording.moment("2026-11-02T09:05:00.125Z"), "2 November 2026, 09:05 UTC"),
        (wording.moment("yesterday"), "yesterday"),
    ],
)
def test_a_figure_is_said(said: str, text: str) -> None:
    assert said.replace("\N{NO-BREAK SPACE}", " ") == text


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=60))
def test_a_histogram_counts_every_value_once_in_a_bin_that_holds_it(values: list[float]) -> None:
    binned = histogram(values)
    if binned is None:
        assert math.isclose(min(values), max(values), rel_tol=1e-6)
        return
    assert sum(binned.counts) == len(values)
    assert binned.edges == sorted(set(binned.edges))
    assert binned.edges[0] <= min(values) * (1 + 1e-9)
    assert binned.edges[-1] >= max(values) * (1 - 1e-9)
    assert len(binned.counts) <= 60


def test_bins_are_round_numbers_and_a_long_tail_is_drawn_on_a_logarithmic_scale() -> None:
    even = histogram([0.2, 1.1, 3.9, 4.7])
    assert even is not None
    assert not even.logarithmic
    assert even.edges[:3] == [0.0, 0.2, 0.4]
    tail = histogram([0.1] * 50 + [0.2] * 50 + [90.0])
    assert tail is not None
    assert tail.logarithmic


def test_there_is_no_histogram_of_nothing_or_of_one_value() -> None:
    assert histogram([]) is None
    assert histogram([2.0, 2.0, 2.0]) is None

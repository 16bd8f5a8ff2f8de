"""What is kept for the reply, and what a server's own counts teach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.context.budget import GENEROUS, Budget, Calibration, reserve_of


def taught(*counts: tuple[int, int], schema_tokens: int = 0) -> Calibration:
    learned = Calibration(schema_tokens)
    for number, (estimated, counted) in enumerate(counts):
        learned.take(estimated, counted, first=number == 0)
    return learned


@pytest.mark.parametrize(
    ("length", "max_tokens", "kept"),
    [(8192, 1024, 1024), (8192, None, 1024), (2048, 1024, 512), (8192, 100_000, 2048), (3, None, 1)],
)
def test_a_reply_is_kept_its_bound_but_at_most_a_quarter(length: int, max_tokens: int | None, kept: int) -> None:
    assert reserve_of(length, max_tokens) == kept


def test_without_a_count_the_estimate_stands() -> None:
    assert taught().needed(1000) == 1000


def test_a_count_is_the_truth_for_what_it_counted_and_the_rest_goes_by_the_estimate() -> None:
    assert taught((6289, 1650), schema_tokens=3500).needed(7289) == 2650
    assert taught((300, 200), (900, 640), (1500, 1010)).needed(2000) == 1510
    assert taught((300, 700)).needed(1000) == 1400, "a template that we do not see"


def test_a_vocabulary_that_splits_finer_is_seen_in_what_was_added_and_holds_for_what_is_new() -> None:
    learned = taught((300, 300), (1300, 2300))
    assert (learned.needed(1300), learned.needed(1400)) == (2300, 2500)


def test_a_first_request_that_needs_far_more_than_estimated_tells_of_what_is_new() -> None:
    assert taught((1000, 2512)).needed(1100) == 2712


def test_one_step_does_not_more_than_triple_what_is_new_and_is_forgotten_after_some_more() -> None:
    learned = taught((300, 300), (400, 1300))
    assert learned.needed(500) == 1600
    for more in range(1, 5):
        learned.take(400 + 100 * more, 1300 + 80 * more, first=False)
    assert learned.needed(900) == 1720


def test_after_a_trim_a_request_goes_on_from_the_head_and_the_question() -> None:
    learned = taught((300, 200), (2300, 1200))
    assert learned.trimmed().needed(800) == 700


def test_counts_without_what_was_cached_are_not_believed() -> None:
    learned = taught((1000, 800), (2000, 700), (3000, 700))
    assert (learned.whole, learned.needed(3000)) == (False, 3000)
    assert learned.largest(5000) == 5000
    assert taught((1000, 20), (2000, 700)).needed(2000) == 2000, "what was cached before the run began"


@pytest.mark.parametrize(
    "counts",
    [
        ((300, 5000),),  # no count of this prompt
        ((3000, 100), (3100, 3000)),  # the cached part left out, then not: no growth of 29
        ((3000, 3000), (3010, 3060)),  # a few tokens are no rate
    ],
)
def test_counts_that_cannot_be_believed_teach_no_rate(counts: tuple[tuple[int, int], ...]) -> None:
    learned = taught(*counts)
    assert learned.needed(5000) - learned.needed(4000) == 1000


def test_where_the_estimate_says_that_nothing_fits_the_least_is_hoped_for_until_a_count_says_otherwise() -> None:
    hopeful = Calibration(schema_tokens=1000, generous=True)
    assert (hopeful.needed(5000), hopeful.largest(2000)) == (GENEROUS * 4000, 5000)
    hopeful.take(5000, 900, first=True)
    assert hopeful.needed(5000) == 5000, "what was sent may have been cut by the server"


@given(
    st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 9000)), max_size=8),
    st.integers(1, 8000),
    st.integers(0, 500),
    st.booleans(),
)
def test_what_is_believed_is_what_is_needed_and_a_budget_keeps_to_it(
    grown: list[tuple[int, int]], more: int, schema_tokens: int, generous: bool
) -> None:
    learned, estimated, counted = Calibration(schema_tokens, generous), schema_tokens, 0
    for added, counts in grown:
        estimated, counted = estimated + added, counts
        believed = learned.take(estimated, counted, first=learned.latest is None)
        assert not believed or learned.needed(estimated) >= counted
    budget = Budget(16_000, 1000, learned)
    assert learned.needed(budget.most) <= 15_001
    assert learned.needed(budget.utmost) <= 16_000 - budget.least_reply + 1
    assert budget.most <= budget.utmost
    assert learned.needed(estimated + more) <= learned.needed(estimated + more + 1)
    assert learned.least(estimated + more) <= learned.needed(estimated + more)
    assert 1 <= budget.room(estimated + more) <= 16_000

"""What is kept for the reply, and what a server's own counts teach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.context.budget import Budget, Calibration, reserve_of
from micro_agent.run import LMCall


def counted(estimated: int | None, tokens: int | None) -> LMCall:
    return LMCall(reply={}, request={} if estimated is None else {"tokens": estimated}, input_tokens=tokens)


def taught(*counts: tuple[int | None, int | None]) -> Calibration:
    learned = Calibration()
    for estimated, tokens in counts:
        learned.take(counted(estimated, tokens))
    return learned


@pytest.mark.parametrize(
    ("length", "max_tokens", "kept"),
    [(8192, 1024, 1024), (8192, None, 1024), (2048, 1024, 512), (8192, 100_000, 2048), (3, None, 1)],
)
def test_a_reply_is_kept_its_bound_but_at_most_a_quarter(length: int, max_tokens: int | None, kept: int) -> None:
    assert reserve_of(length, max_tokens) == kept


def test_a_server_that_counts_less_changes_nothing() -> None:
    assert taught((300, 200), (900, 640), (1500, 1010)).needed(1000) == 1000


def test_a_template_that_we_do_not_see_is_added() -> None:
    assert taught((300, 700)).needed(1000) == 1400


def test_a_vocabulary_that_splits_finer_is_seen_in_what_was_added() -> None:
    learned = taught((300, 300), (1300, 2300))
    assert (learned.growth, learned.needed(1300)) == (2.0, 2600)


def test_one_step_does_not_triple_what_is_needed_more_than_once() -> None:
    assert taught((300, 300), (400, 1300)).growth == 3.0


@pytest.mark.parametrize(
    "counts",
    [
        ((None, 500),),  # a record of an older version
        ((300, None),),  # no count
        ((300, 5000),),  # no count of this prompt
        ((3000, 100), (3100, 3000)),  # the cached part left out, then not: no growth of 29
        ((3000, 3000), (3010, 3060)),  # a few tokens are no rate
        ((3000, 2900), (1000, 900), (1100, 1100)),  # a trim between
    ],
)
def test_counts_that_cannot_be_believed_teach_no_growth(counts: tuple[tuple[int | None, int | None], ...]) -> None:
    learned = taught(*counts)
    assert learned.growth <= 2.0
    assert learned.needed(1000) <= 2050


@given(st.lists(st.tuples(st.integers(100, 5000), st.integers(1, 12_000)), max_size=8), st.integers(100, 8000))
def test_nothing_that_was_believed_is_forgotten(counts: list[tuple[int, int]], estimated: int) -> None:
    learned = taught(*counts)
    believed = [(guess, count) for guess, count in counts if count <= 3 * guess + 512]
    assert all(learned.needed(guess) >= count for guess, count in believed)
    assert learned.needed(estimated) >= estimated
    budget = Budget(16_000, 1000, learned)
    assert learned.needed(budget.most) + 1000 <= 16_001
    assert budget.most <= budget.utmost
    assert budget.room(estimated) >= 1

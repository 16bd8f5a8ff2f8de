"""Which of several replies is taken, whatever they are worth: in order, always in the end, nothing that was tried."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.sampling.choosing import ENOUGH, Sample, best, wanted, why

MOST = st.integers(1, 6)
EXTRA = st.integers(0, 3)


@st.composite
def _samples(draw: st.DrawFn, *, tried: bool = True) -> list[Sample]:
    """Replies that say the same change something alike."""
    drawn = draw(st.lists(st.tuples(st.sampled_from("abc"), *[st.booleans()] * 4), min_size=1, max_size=8))
    changes = draw(st.frozensets(st.sampled_from("abc")))
    return [
        Sample(says, usable, grounded, tried and was_tried, says in changes, early and says not in changes)
        for says, usable, grounded, was_tried, early in drawn
    ]


SAMPLES, UNTRIED = _samples(), _samples(tried=False)


def of(says: str, **but: bool) -> Sample:
    return replace(Sample(says, usable=True, grounded=True), **but)


@given(UNTRIED, MOST, EXTRA)
def test_when_there_are_enough_one_is_taken(samples: list[Sample], most: int, extra: int) -> None:
    index = best(samples, most, extra)
    assert index is None or 0 <= index < len(samples)
    assert index is not None or len(samples) < most + extra


@given(SAMPLES, MOST, EXTRA)
def test_what_was_tried_is_taken_no_more_nor_what_says_the_same(samples: list[Sample], most: int, extra: int) -> None:
    index = best(samples, most, extra)
    tried = {one.says for one in samples if one.tried}
    if index is None:
        return
    assert not samples[index].tried
    assert samples[index].says not in tried or index == len(samples) - 1


@given(UNTRIED, MOST, EXTRA)
def test_the_choice_is_in_order(samples: list[Sample], most: int, extra: int) -> None:
    """Usable, grounded, frequent, first."""
    index = best(samples, most, extra)
    if index is None or most == 1:
        return
    taken = samples[index]
    usable = [one for one in samples if one.usable]
    if not usable:
        assert index == len(samples) - 1
        return
    assert taken.usable
    late = [one for one in usable if not one.early] or usable
    grounded = [one for one in late if one.grounded]
    assert not grounded or taken in grounded
    count = [one.says for one in usable].count
    rivals = grounded or usable
    assert count(taken.says) == max(count(one.says) for one in rivals)
    assert taken.says not in [one.says for one in samples[:index] if one in rivals and one.usable]


@given(SAMPLES, MOST, EXTRA)
def test_asked_again_it_is_the_same(samples: list[Sample], most: int, extra: int) -> None:
    (index,) = {best(list(samples), most, extra) for _ in range(10)}
    if index is not None:
        assert why(samples, index)["index"] == index


@given(UNTRIED, MOST, EXTRA)
def test_it_comes_to_an_end(samples: list[Sample], most: int, extra: int) -> None:
    """Whatever comes, no more are asked for than may be."""
    there = samples[:1]
    while best(there, most, extra) is None:
        more = wanted(there, most)
        assert more >= 1
        assert len(there) + more <= max(most + extra, ENOUGH)
        there += [samples[len(there) % len(samples)] for _ in range(more)]


@pytest.mark.parametrize(
    ("samples", "most", "index"),
    [
        ([of("a")], 1, 0),
        ([of("a")], 2, None),
        ([of("a"), of("a")], 5, 0),
        ([of("a"), of("b")], 5, None),
        ([of("a"), of("b"), of("b")], 5, 1),
        ([of("a"), of("b")], 2, 0),
        ([of("a", usable=False), of("a")], 5, None),
        ([of("a", grounded=False), of("a", grounded=False)], 5, None),
        ([of("a", grounded=False), of("b")], 2, 1),
        ([of("a", early=True), of("a", early=True)], 5, 0),
        ([of("a", early=True), of("a", early=True), of("b")], 3, 2),
        ([of("a", tried=True)], 1, None),
        ([of("a", tried=True), of("a")], 1, 1),
        ([of("a", tried=True), of("b", usable=False)], 1, 1),
        ([of("a", tried=True), of("a"), of("b")], 3, 2),
    ],
)
def test_so_many_decide(samples: list[Sample], most: int, index: int | None) -> None:
    assert best(samples, most) == index


LOOSE, OTHER, KNOWN = (of("a", grounded=False, effects=True), of("b", grounded=False, effects=True),
                       of("c", effects=True))  # fmt: skip


@pytest.mark.parametrize(
    ("samples", "most", "index"),
    [
        ([KNOWN], 1, 0),
        ([LOOSE], 1, None),
        ([LOOSE, KNOWN], 1, 1),
        ([LOOSE, LOOSE], 1, 0),
        ([LOOSE, OTHER], 1, None),
        ([LOOSE, OTHER, OTHER], 1, 1),
        ([LOOSE, OTHER, of("d", grounded=False, effects=True)], 1, 0),
        ([LOOSE, of("said"), of("said")], 1, 0),
        ([of("read", grounded=False)], 1, 0),
        ([LOOSE, OTHER, LOOSE, OTHER], 3, None),
        ([LOOSE, OTHER, LOOSE, LOOSE], 3, 0),
    ],
)
def test_before_something_changes_more_are_asked_for(samples: list[Sample], most: int, index: int | None) -> None:
    assert best(samples, most, 2) == index


@pytest.mark.parametrize(("there", "most", "more"), [(1, 5, 1), (2, 5, 1), (3, 5, 2), (3, 9, 6), (5, 5, 1), (3, 1, 1)])
def test_single_ones_as_long_as_one_may_decide_then_the_rest(there: int, most: int, more: int) -> None:
    assert wanted([of("a")] * there, most) == more


def test_the_record_says_what_was_wrong_with_the_others() -> None:
    samples = [of("a", usable=False), of("b", grounded=False), of("c"), of("b"), of("c")]
    assert why(samples, 2) == {"index": 2, "agree": 2, "unusable": [0], "ungrounded": [1]}
    assert why(samples, 0)["agree"] == 1

"""Repairs marked in the reply that they were made in: what the model wrote can still be read off."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from micro_agent.page.marks import marked

WORDS = st.text(alphabet="ab{}\"',… ", max_size=30)
REPAIRS = st.lists(st.fixed_dictionaries({"kind": st.just("k"), "before": WORDS, "after": WORDS}), max_size=4)


@given(WORDS, REPAIRS)
def test_without_what_was_added_it_is_the_reply(text: str, repairs: list[dict[str, Any]]) -> None:
    pieces = marked(text, repairs)
    assert "".join(piece.text for piece in pieces if piece.mark != "added") == text
    assert all(piece.text for piece in pieces)


def test_repairs_that_go_on_one_with_another_are_one() -> None:
    repairs = [
        {"kind": "closing_brackets", "before": "{'a': 1,", "after": "{'a': 1,}"},
        {"kind": "python_literal", "before": "{'a': 1,}", "after": '{"a": 1}'},
    ]
    assert [tuple(piece) for piece in marked("So: {'a': 1, yes", repairs)] == [
        ("So: ", None), ("{", None), ("'", "removed"), ('"', "added"), ("a", None), ("'", "removed"), ('"', "added"),
        (": 1", None), (",", "removed"), ("}", "added"), (" yes", None),
    ]  # fmt: skip


def test_several_places_are_marked_and_one_that_is_not_there_is_not() -> None:
    repairs = [{"before": "x", "after": "y"}, {"before": "gone", "after": ""}, {"before": "z", "after": "z!"}, {}]
    assert [tuple(piece) for piece in marked("x and z", repairs)] == [
        ("x", "removed"), ("y", "added"), (" and ", None), ("z", None), ("!", "added"),
    ]  # fmt: skip


def test_of_a_long_repair_the_place_is_marked() -> None:
    repairs = [{"before": "{begin…end}", "after": "{begin…END}"}]
    found = marked("a {begin of it, and its end} b", repairs)
    assert [tuple(piece) for piece in found] == [
        ("a ", None), ("{begin of it, and its end}", "repaired"), (" b", None),
    ]  # fmt: skip

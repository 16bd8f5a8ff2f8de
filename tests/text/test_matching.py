"""Searching with somebody else's expression: as `re` does, and never for long."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.errors import MicroAgentError
from micro_agent.text.matching import readable, search

SLOW = "(a|aa)+$", "a" * 80 + "b"


@pytest.mark.parametrize(
    "pattern",
    [SLOW[0], "(?:a|aa)" * 60 + "$", "a*" * 30 + "$", "(a*)*$", "(?x)(?:a|aa) *$", r"(?=(?:a|aa)+$)",
     r"(?:(a|aa)\1?){2,60}$", r"^([a-z]+\.?)+@example\.com$", r"(?:(?=(?:(?=a*b?)a)*)a)*c"],
)  # fmt: skip
@pytest.mark.parametrize("text", [SLOW[1], "a" * 30_000 + "b"])
def test_no_form_of_expression_escapes_the_limit(pattern: str, text: str) -> None:
    """One that did not end would hang the test."""
    assert search(pattern, text, limit_s=0.02) in (None, False, search(pattern, "b"))


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){10}", "(?:(?:a{60000}){60000}){3}", "|".join(["abc"] * 5000)])
def test_what_would_take_all_memory_to_compile_is_not_compiled(pattern: str) -> None:
    assert not readable(pattern)
    assert search(f"(?=a)(b|a)+{pattern}", "a") is None


PIECES = st.sampled_from([
    "a", "b", ".", "*", "+", "?", "|", "(", ")", "(?:", "[ab]", "[^]a]", r"\b", r"\w", r"\1", "{2}", "^", "$", r"\*",
    "(?=",
])  # fmt: skip


@settings(max_examples=120)
@given(
    pieces=st.lists(PIECES, max_size=8),
    flags=st.sampled_from(["", "(?i)", "(?x)"]),
    text=st.text("abAB] \n*", max_size=8),
)
def test_a_search_finds_what_python_finds(pieces: list[str], flags: str, text: str) -> None:
    pattern = flags + "".join(pieces)
    try:
        expected = re.search(pattern, text) is not None
    except re.error:
        return
    assert readable(pattern)
    assert search(pattern, text) == expected


def test_a_text_that_no_terminal_would_show_can_be_searched() -> None:
    assert search("(\ud800)+$", "a\n\u2028\ud800")


@pytest.mark.parametrize(("pattern", "text"), [(r"^\p{L}+$", "Zürich"), (r"^(?<year>\d{4})-\d\d$", "2026-11")])
def test_what_re_cannot_read_and_ecmascript_can_is_read(pattern: str, text: str) -> None:
    assert readable(pattern)
    assert search(pattern, text)
    assert search(pattern, "?") is False


@pytest.mark.parametrize("pattern", ["(", "(((", r"(?<=a+)(b|", "(" * 4000 + ")" * 4000])
def test_what_nobody_can_read_is_said(pattern: str) -> None:
    assert not readable(pattern)
    with pytest.raises(MicroAgentError, match="cannot read the regular expression"):
        search(pattern, "a")

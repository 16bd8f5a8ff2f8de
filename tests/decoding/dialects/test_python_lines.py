"""Calls in Python's syntax without markup that lack a bracket or a quote, and what announces one."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
Calls = list[tuple[str, dict[str, str]]]
FOUND: Calls = [("search_code", {"pattern": "x"})]
TWICE: Calls = [*FOUND, ("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[search_code(pattern='x'), now()", TWICE),
        ("[search_code(pattern='x'", FOUND),
        ("search_code(pattern='x'", FOUND),
        ("[search_code( # one\npattern='x')", FOUND),
        ("```\n[search_code(pattern='x')\n```", FOUND),
        ("functools[search_code(pattern='x')]", FOUND),
        ("search_code(pattern=New York)", [("search_code", {"pattern": "New York"})]),
        ("Here it is: [search_code(pattern='x')]", FOUND),
        ("Sure, I'll look: search_code(pattern='x')", FOUND),
        ("Call: search_code(pattern='x')<bot_end>", FOUND),
        ("Call: search_code(pattern='x')<bot_end> \nThought: It looks.", FOUND),
        ("search_code(pattern=text)", "malformed"),
        ("[delete(path='x')", "unknown_tool"),
        ("search_code(pattern='x", "malformed"),
        ("search_code('x', '", "malformed"),
        ("[search_code(pattern='x), now()", "malformed"),
        ("search_code(pattern, max_results)", "malformed"),
    ],
)
def test_only_brackets_are_put_in(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_nothing_is_put_in_where_the_token_limit_ended_the_text(read: Read) -> None:
    assert read("[search_code(pattern='x')", "length") == "cut_off"

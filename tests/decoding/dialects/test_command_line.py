"""Calls written like a command."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
FIND = [("search_code", {"pattern": "a b", "max_results": 3})]


@pytest.mark.parametrize(
    "text",
    [
        'search_code pattern="a b" max_results=3',
        "/search_code pattern='a b', max_results=3",
        '`search_code --pattern "a b" --max-results=3`',
        '```\n$ search_code --max_results 3 --pattern "a b"\n```',
    ],
)
def test_a_command_of_a_tool_is_a_call(text: str, read: Read) -> None:
    assert read(text) == FIND


@pytest.mark.parametrize(
    "text",
    [
        "search_code pattern=x and more",
        "search_code pattern=x depth=3",
        "search_code pattern=x pattern=y",
        "search_code pattern='x",
        "rm path=/",
        "search_code pattern=x\nThat is all.",
        "now is the time",
        "Use search_code pattern=x",
    ],
)
def test_anything_else_is_the_answer(text: str, read: Read) -> None:
    assert read(text) == (text,)


def test_it_must_be_whole_and_of_a_tool_that_is_known(read: Read) -> None:
    assert read("search_code pattern=x", finish="length") == "cut_off"
    assert read("search_code pattern=x", tools=None) == ("search_code pattern=x",)

"""Calls told in square brackets: made where they stand for themselves, prose inside a sentence."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
FOUND = [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    "text",
    [
        "[Calling tool: calculator($ARGS)]",
        "[Tool call: calculator $ARGS]",
        "[TOOL: $CALL]",
        "[call: `calculator` with arguments: $ARGS]",
        "[TOOL_CALL: calculator, $ARGS]",
        "[Using the tool calculator | $ARGS]",
        "**[tool: calculator $ARGS]**",
        "\U0001f527 [Invoking function calculator $ARGS]",
        '[Calling tool: calculator(expression="1+1")]',
        '[Run: calculator(expression="1+1")]',
        "[Tool call: calculator $ARGS]\n[Tool result: 2]\nIt is 2.",
    ],
)
def test_what_stands_for_itself_is_made(text: str, read: Read) -> None:
    assert read(text) == FOUND
    assert read(f"I look it up. {text}") == FOUND
    assert read(f"I look it up:\n{text}") == FOUND


@pytest.mark.parametrize(
    "text",
    [
        'I used [Calling tool: calculator(expression="1+1")] and it said 2.',
        'I would write [Calling tool: calculator(expression="1+1")] if you allow it.',
        'I would write [call: calculator(expression="1+1")]',
        "Here is how: [call: calculator(expression)]",
        "See [tool: hammer] for more.",
        "[Tool result: 2]",
        "[call: 555-1234]",
        '[Called calculator(expression="1+1") -> 2]',
    ],
)
def test_what_is_spoken_of_is_the_answer(text: str, read: Read) -> None:
    assert read(text) == (text,)


def test_a_name_that_is_no_tool_is_not_run(read: Read) -> None:
    assert read("[Tool call: rm $ARGS]") != FOUND
    assert read("[Tool call: calculator $ARGS]", tools=None) != FOUND
    assert read("I would write [Tool call: calculator $ARGS] for that.") != FOUND


def test_two_of_them_are_both_made(read: Read) -> None:
    more = ("search_code", {"pattern": "x"})
    assert read("[Tool call: calculator $ARGS]\n[Tool call: search_code $MORE]") == [*FOUND, more]


def test_one_that_has_no_end_is_not_run(read: Read) -> None:
    assert read('[Tool call: calculator {"expression": "1+') == "malformed"
    assert read('[Tool call: calculator {"expression": "1+1', "length") == "cut_off"

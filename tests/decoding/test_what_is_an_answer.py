"""An answer says something, is clean, and is not a tool call in disguise."""

import json
from collections.abc import Sequence

import pytest

from micro_agent.decoding import Final, decode_text
from micro_agent.tools import Tool
from tests.decoding.outcomes import reason
from tests.each import each

CALL = '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}'


def final(answer: object) -> str:
    return json.dumps({"final": {"answer": answer}})


@each(
    "text",
    [
        final(None),
        final({}),
        final("  "),
        '{"final": {}}',
        '{"final": null}',
        '{"tool": {}}',
        '{"tool": null, "final": null}',
        '{"tool": {"name": "", "args": {}}}',
        "{}",
        "[]",
        "null",
        '""',
        "```json\n```",
        "```json\n{}\n```",
        "...",
        "…",
        final("<text>"),
        final("<answer>"),
        final("<your answer here>"),
        "[Your final answer here]".lower(),
        final("..."),
        '{"tool": {"name": "<tool name>", "args": {<arguments>}}} or {"final": {"answer": "<text>"}}',
    ],
)
def test_nothing_is_no_answer(text: str, tools: Sequence[Tool]) -> None:
    assert reason(text, tools) in ("empty", "malformed")


@pytest.mark.parametrize(
    "answer",
    [
        CALL,
        '{"name": "calculator", "arguments": {"expression": "1+1"}}',
        '{"name": "get_booking", "arguments": {"id": 3}}',
        f"<tool_call>{CALL}</tool_call>",
        'calculator(expression="1+1")',
        'Action: calculator\nAction Input: {"expression": "1+1"}',
    ],
)
def test_a_call_in_the_place_of_the_answer_is_asked_for_again(answer: str, tools: Sequence[Tool]) -> None:
    assert reason(final(answer), tools) == "malformed"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (final("<think>2 and 2</think>It is 4."), "It is 4."),
        (final("It is 4.<|im_end|>"), "It is 4."),
        ('{"final": {"answer": {"final": {"answer": "It is 4."}}}}', "It is 4."),
        (final(final("It is 4.")), "It is 4."),
        ("assistant\n\nIt is 4.", "It is 4."),
    ],
)
def test_the_answer_is_the_words_alone(text: str, answer: str, tools: Sequence[Tool]) -> None:
    found = decode_text(text, tools)
    assert isinstance(found, Final)
    assert found.answer == answer


@pytest.mark.parametrize(
    "answer",
    [
        "0",
        "No.",
        "none",
        '{"a": []}',
        '{"name": "Bob"}',
        "<b>4</b>",
        "now() gives the time.",
        '{"final": null, "note": "x"}',
        "[1, 2]",
        "assistant",
        "It is <text>.",
        "`",
    ],
)
def test_short_or_odd_answers_stay(answer: str, tools: Sequence[Tool]) -> None:
    for text in (answer, final(answer)):
        found = decode_text(text, tools)
        assert isinstance(found, Final)
        assert found.answer == answer


@pytest.mark.parametrize(("value", "answer"), [(0, "0"), (False, "false"), ([], "[]"), ({"a": 1}, '{"a": 1}')])
def test_values_that_are_no_texts_are_answers(value: object, answer: str, tools: Sequence[Tool]) -> None:
    found = decode_text(final(value), tools)
    assert isinstance(found, Final)
    assert found.answer == answer

"""Thought, action, input."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Thought: I add.\nAction: calculator\nAction Input: $ARGS", ADD),
        ("Thought: I add.\nAction: calculator ($ARGS)", ADD),
        (
            "Action: calculator\nAction Input: $ARGS\nObservation: 2\nThought: Again.\nAction: now"
            "\nAction Input: {}\nFinal Answer: 2",
            ADD,
        ),
        ("Action: calculator\nAction Input: 1+1", ADD),
        ('Action: calculator\nAction Input: "1+1"\nObservation: 2', ADD),
        ("**Action:** `calculator`\n**Action Input:** $ARGS", ADD),
        ("Action: calculator\nAction Input:\n```json\n$ARGS\n```", ADD),
        ("Action: calculator\nAction Input: {'expression': '1+1'}\nFinal Answer: 2", ADD),
        ("Tool: calculator\nInput: $ARGS", ADD),
        ("✿FUNCTION✿: calculator\n✿ARGS✿: $ARGS\n✿RESULT✿", ADD),
        ("Action: now\nObservation: 12:00", NOW),
        ("Action: now\nAction Input: None", NOW),
        ("Action: calculator[1+1]", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Thought: I know.\nFinal Answer: Rome\nis it.", ("Rome\nis it.",)),
        ("Action: None\nFinal Answer: Rome", ("Rome",)),
        ("Action: Final Answer\nAction Input: Rome", ("Rome",)),
        ("Action: rm\nAction Input: {}", "unknown_tool"),
        ("Action: Buy milk.", ("Action: Buy milk.",)),
        ("Thought: Rome.", ("Thought: Rome.",)),
        ('Action: calculator\nAction Input: {"expr', "malformed"),
        ('Action: calculator\nAction Input: {"expression": 1+1}\nObservation: 2', "malformed"),
        ('Action: calculator\nAction Input: "1+', "malformed"),
        ("Action: search_code it is", "malformed"),
        ("Action: store\nAction Input: text", "bad_arguments"),
        ('Tool: hammer\nInput: {"x": 1}', ('Tool: hammer\nInput: {"x": 1}',)),
        ("Final Answer:", ("Final Answer:",)),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_what_the_token_limit_cut_off_is_not_run(read: Read) -> None:
    for text in ("Action: calculator\nAction Input: 1+", "Action: now", "Action: calculator[1+1]", "Final Answer: Ro"):
        assert read(text, finish="length") == "cut_off"
    assert read('Action: rm\nAction Input: {"path": "/"}', tools=None) == [("rm", {"path": "/"})]
    assert read("Action: rm\nAction Input: /", tools=None) == "bad_arguments"

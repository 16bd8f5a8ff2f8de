"""Cohere's list after ``Action:`` and between action markers."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('Action:\n```json\n[{"tool_name": "calculator", "parameters": $ARGS}]\n```', ADD),
        (
            '<|START_THINKING|>so<|END_THINKING|><|START_ACTION|>[\n{"tool_call_id": "0",'
            ' "tool_name": "calculator", "parameters": $ARGS},\n{"tool_call_id": "1", "tool_name":'
            ' "search_code", "parameters": $MORE}\n]<|END_ACTION|>',
            BOTH,
        ),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|START_ACTION|>[{"tool_name": "rm", "parameters": {}}]<|END_ACTION|>', "unknown_tool"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

"""Phi-4 mini and FireFunction."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|tool_call|>$CALL<|/tool_call|>", ADD),
        ("<|tool_calls|>[$CALL, $OTHER]<|/tool_calls|>", BOTH),
        (" functools[$CALL]<|end|>", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('functools[{"name": "rm", "arguments": {}}]', "unknown_tool"),
        ("In Python, functools[1] is nothing.", ("In Python, functools[1] is nothing.",)),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

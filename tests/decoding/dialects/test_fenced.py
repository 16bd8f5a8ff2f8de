"""Fences that say that they hold a call."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("```tool_call\n$CALL\n```", ADD),
        ("```tool_code\n$CALL\n$OTHER\n```", BOTH),
        ("```function_call\ncalculator($ARGS)\n```\nDone.", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('```tool_call\n{"name": "rm", "arguments": {}}\n```', "unknown_tool"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

"""Granite's list of calls."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|tool_call|>[$CALL, $OTHER]", BOTH),
        ("<tool_call>[$CALL]", ADD),
        ("<|tool_call|> [$CALL]<|end_of_text|>", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|tool_call|>[{"name": "calculator", "arg', "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

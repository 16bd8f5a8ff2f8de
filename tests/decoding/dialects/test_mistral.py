"""Calls behind ``[TOOL_CALLS]``, the name in the marker or not."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[TOOL_CALLS][$CALL, $OTHER]", BOTH),
        ("[TOOL_CALLS] $CALL</s>", ADD),
        ("[TOOL_CALLS]calculator$ARGS", ADD),
        ("[TOOL_CALLS]calculator[ARGS]$ARGS[TOOL_CALLS]search_code[ARGS]$MORE", BOTH),
        ("[TOOL_CALLS]calculator[CALL_ID]000000001[ARGS]$ARGS", ADD),
        ("[TOOL_CALLS]calculator$ARGS, search_code$MORE", BOTH),
        ("[TOOL_REQUEST]$CALL[END_TOOL_REQUEST]", ADD),
        ("[unused11][$CALL][unused12]", ADD),
        ("[TOOL_CALLS][{'name': 'calculator', 'arguments': {'expression': '1+1'}}]", ADD),
        ("[TOOL_CALLS][$CALL", ADD),
        ("[TOOL_CALLS]calculator[ARGS]$ARGS[TOOL_RESULTS]2[/TOOL_RESULTS][TOOL_CALLS]search_code$MORE", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('[TOOL_CALLS]rm{"path": "/"}', "unknown_tool"),
        ('[TOOL_CALLS]calculator[ARGS]{"expr', "malformed"),
        ("[TOOL_CALLS]calculator$ARGS[TOOL_CALLS]search", "malformed"),
        ("[TOOL_CALLS]now[ARGS]", "malformed"),
        ("[TOOL_CALLS]I cannot do that", "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

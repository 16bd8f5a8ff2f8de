"""Calls as JSON in tags."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<tool_call>\n$CALL\n</tool_call>", ADD),
        ("<tool_call>$CALL", ADD),
        ("<tools> $CALL </tool", ADD),
        ("<TOOLCALL>[$CALL]</TOOLCALL><SPECIAL_12>", ADD),
        ("<tool_call>$CALL</tool_call> and then <tool_call>$OTHER</tool_call> Done.", BOTH),
        ("<tool_calls>[$CALL, $OTHER]</tool_calls>", BOTH),
        ("<tool_calls>\n$CALL\n$OTHER\n</tool_calls>", BOTH),
        ("<function_call> $CALL <function_call> $OTHER", BOTH),
        ("<tool_call>$CALL<tool_call>\nI wait.", ADD),
        ("<longcat_tool_call>$CALL</longcat_tool_call>", ADD),
        ("<|tool_call_start|>[$CALL]<|tool_call_end|>", ADD),
        ("<tool_call>```json\n$CALL\n```</tool_call>", ADD),
        ("```xml\n<tool_call>$CALL</tool_call>\n```", ADD),
        ("<tool_call>$CALL}</tool_call>", ADD),
        ('<tool_call>{"name": "calculator", "arguments": $ARGS</tool_call>', ADD),
        ("<tool_call>{'name': 'calculator', 'arguments': {'expression': '1+1'}}</tool_call>", ADD),
        ("<tool_call>calculator\n$ARGS</tool_call>", ADD),
        ("<tool_call>calculator($ARGS)</tool_call>", ADD),
        ("<tool_call>name: calculator\narguments: $ARGS\n</tool_call>", ADD),
        ('<tool_call>{"calculator": $ARGS}</tool_call>', ADD),
        ("<tools>now</tools>", NOW),
        ('<tool_call>"{\\"name\\": \\"now\\", \\"arguments\\": {}}"</tool_call>', NOW),
        ('<tool_call>{\\"name\\": \\"now\\", \\"arguments\\": {}}</tool_call>', NOW),
        (
            '<tool_call>{"name": "store", "arguments": {"x": "</tool_call><tool_call>"}}</tool_call>',
            [("store", {"x": "</tool_call><tool_call>"})],
        ),
        ('<tool_call>{"name": "calculator", "arguments": "{\\"expression\\": \\"1+1\\"}"}</tool_call>', ADD),
        ("<tool_call>request $CALL</tool_call>", ADD),
        (
            "<tool_call>$CALL</tool_call><|im_end|>\n<tool_response>2</tool_response>\n<tool_call>$OTHER</tool_call>",
            ADD,
        ),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<tool_call>{"name": "rm", "arguments": {}}</tool_call>', "unknown_tool"),
        ('<tool_call>rm({"path": "/"})</tool_call>', "unknown_tool"),
        ('<tool_call>{"name": "calculator", "arguments": {}}</tool_call>', "bad_arguments"),
        ('<tool_call>{"name": "calculator", "arguments": {"expression": "1+', "malformed"),
        ('<tool_call>{"name": "calculator", "arguments": {"expression": 1 1}}</tool_call>', "malformed"),
        ('<tool_call>{"city": "Rome"}</tool_call>', "malformed"),
        ("<tool_call>[]</tool_call>", "malformed"),
        ('<tool_call>"x"</tool_call>', "malformed"),
        ("<tool_call>{a b</tool_call>", "malformed"),
        ('<tool_call>{"name": "calculator", "arguments": {"expression": "1+1}}</tool_call>', "malformed"),
        ('<tool_call>{"name": "calculator", "arguments": {"expression": "1+1</tool_call>', "malformed"),
        ("<tool_call>[{]}</tool_call>", "malformed"),
        ('<tool_call>$CALL</tool_call><tool_call>{"name": "search_code", "arguments": {"patter', "malformed"),
        ("<tool_call>$CALL</tool_call>\n<tool_call>", "malformed"),
        ("<tool_call>$CALL</tool_call><tool_call>I wait.</tool_call>", "malformed"),
        ('<tool_call>$CALL\n{"name": "search_code", "arguments": {"patter', "malformed"),
        ('<tool_call>{"final": {"answer": "Rome"}}</tool_call>', ("Rome",)),
        ('<tool_call>$CALL\n{"result": 2}</tool_call>', ADD),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_with_unknown_tools_only_what_is_whole_counts(read: Read) -> None:
    assert read('<tool_call>{"name": "rm", "arguments": {"path": "/"}}', tools=None) == [("rm", {"path": "/"})]
    assert read('<tool_call>{"name": "rm", "arguments": {"path": "/"}', tools=None) == "malformed"
    assert read('<tool_call>{"rm": {"path": "/"}}</tool_call>', tools=None) == "malformed"
    assert read("<tools>rm</tools>", tools=None) == ("<tools>rm</tools>",)

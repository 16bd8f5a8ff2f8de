"""Texts with more of something than any call has: read as far as that is cheap, and never half."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import ToolCall
from micro_agent.tools import Tool
from tests.decoding.outcomes import calls, reason

PAIR = "<arg_key>timezone</arg_key><arg_value>utc</arg_value>"
PARAMETER = "<parameter=timezone>utc</parameter>"
DOUBLED = (
    "[&a [x,x,x,x,x,x,x,x], "
    + ", ".join(
        f"&{name} [{','.join([f'*{before}'] * 8)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]"
)
"""A list of YAML in which each item repeats the one before it: 8 to the power of 9 texts."""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"<tool_call>now{PAIR * 300}", "malformed"),
        ("<now>" + "<timezone>utc</timezone>" * 300 + "</now>", "malformed"),
        ("<function=now>" + PARAMETER * 300, "malformed"),
        ('<tool name="store">' + "".join(f'<arg name="a{i}">utc</arg>' for i in range(300)), "malformed"),
        ('<tool name="now"><timezone>' + "</timezone>x" * 3000, "malformed"),
        ("<TOOL_CALL> " * 1500, "malformed"),
        ("[calculator(expression=" + "1," * 20_000 + ")]", "malformed"),
        ("store(x=[" + "[]," * 3000 + "])", "malformed"),
        (f"<function=add><parameter=values>{DOUBLED}</parameter></function>", "bad_arguments"),
        ("\n".join(f"<function_calls>now(timezone='{i}')</function_calls>" for i in range(40)), "ambiguous"),
    ],
)
def test_too_much_is_not_run(text: str, why: str, tools: Sequence[Tool]) -> None:
    assert reason(text, tools) == why


def test_many_values_are_read(tools: Sequence[Tool]) -> None:
    text = "<|tool_call>call:add{values:[" + "1," * 3000 + "1]}<tool_call|>"
    assert calls(text, tools) == [ToolCall("add", {"values": [1] * 3001})]

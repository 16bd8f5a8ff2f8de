"""Kimi's sections."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.calculator:0"
            "<|tool_call_argument_begin|>$ARGS<|tool_call_end|>"
            "<|tool_call_begin|>functions.search_code:1<|tool_call_argument_begin|>$MORE"
            "<|tool_call_end|><|tool_calls_section_end|>",
            BOTH,
        ),
        (
            "<|tool_calls_section_begin|> <|tool_call_begin|>\ncalculator "
            "<|tool_call_argument_begin|> $ARGS <|tool_call_end|>",
            ADD,
        ),
        ("functions.calculator:0<|tool_call_argument_begin|>$ARGS", ADD),
        (
            "<|tool_call_section_begin|><|tool_call_begin|>functions.calculator:0"
            "<|tool_call_argument_begin|>$ARGS<|tool_call_end|><|tool_call_section_end|>"
            "<|tool_call_section_begin|><|tool_call_begin|>functions.search_code:1"
            "<|tool_call_argument_begin|>$MORE<|tool_call_end|><|tool_call_section_end|>",
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
        (
            "<|tool_call_begin|>functions.calculator:0<|tool_call_argument_begin|>$ARGS"
            "<|tool_call_end|><|tool_call_begin|>functions.sea",
            "malformed",
        ),
        ("<|tool_call_begin|>functions.rm:0<|tool_call_argument_begin|>{}<|tool_call_end|>", "unknown_tool"),
        (
            "<|tool_call_begin|>calculator:0<|tool_call_argument_begin|>$ARGS<|tool_call_end|>"
            "<|tool_calls_section_end|>Now the other.<|tool_call_begin|>search_code:1"
            "<|tool_call_argument_begin|>$MORE<|tool_call_end|>",
            [*ADD, ("search_code", {"pattern": "x"})],
        ),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

"""What a model thinks aloud is never the decision and never in the answer."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import Final, ToolCall, ToolCalls, decode_text
from micro_agent.decoding.thinking import without_thinking
from micro_agent.tools import Tool

CALL = '{"tool": {"name": "now", "args": {}}}'


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>so</think> Rome", "Rome"),
        ("<think>a</think>One <think>b</think>two", "One two"),
        ("Rome <think>and so on", "Rome"),
        ("so it is\n</think>\n\nRome", "Rome"),
        ("<THINK>a</Think>Rome", "Rome"),
        ("<thinking>a</thinking><reasoning>b</reasoning>Rome", "Rome"),
        ("<think>a <think>b</think> c</think>Rome", "Rome"),
        ("<think>a</think>b</think>Rome", "Rome"),
        ("<think>a</think>Rome</think>\n", "Rome"),
        ("a</think>b</think>", "b"),
        ("only thought</think>", ""),
        ("<think>only thought", ""),
        ("Use `<think>` and `</think>`.", "Use `<think>` and `</think>`."),
        ('<think>{"a": "b"}</think>{"a": "<think>"}', '{"a": "<think>"}'),
        ('{"a": "</think>"} and {"b": 1} Rome', '{"a": "</think>"} and {"b": 1} Rome'),
        ('x {"a": 1} y</think>Rome', "Rome"),
        ('{not json <think>} so</think> Rome', "{not json  Rome"),
        ("<think>a</think>`code`", "`code`"),
        ("no tag", "no tag"),
    ],
)  # fmt: skip
def test_thinking_is_set_aside(text: str, rest: str) -> None:
    assert without_thinking(text) == rest


def test_a_call_in_a_thought_is_not_made(tools: Sequence[Tool]) -> None:
    assert decode_text(f"<think>Perhaps {CALL}</think>Rome", tools) == Final("Rome")


def test_a_call_after_a_thought_is_made_and_its_arguments_may_speak_of_tags(tools: Sequence[Tool]) -> None:
    text = '{"name": "store", "arguments": {"text": "</think> <think>"}}'
    decision = decode_text(f"I store it. {CALL}</think>{text}", tools)
    assert decision == ToolCalls([ToolCall("store", {"text": "</think> <think>"})])

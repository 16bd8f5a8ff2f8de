"""What a model thinks aloud is never the decision and never in the answer."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.decoding.clearing.thinking import without_thinking
from micro_agent.tools import Tool
from tests.each import each

CALL = '{"tool": {"name": "now", "args": {}}}'
OTHER = '{"tool": {"name": "now", "args": {"timezone": "UTC"}}}'


@each(
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
        ("Here is my thought process: so. Here is my response: Rome", "Rome"),
        ('[f(x="a <think>b</think>")]', '[f(x="a <think>b</think>")]'),
        ("f(x='a <think>b</think>')", "f(x='a <think>b</think>')"),
        ('{"a": "<think>", "b": {"c": 1}', '{"a": "<think>", "b": {"c": 1}'),
        ("{'a': 'say </think> it'}", "{'a': 'say </think> it'}"),
        ('{"a": "say </think> it",}', '{"a": "say </think> it",}'),
        ('["a", <think>x</think> {b}', '["a",  {b}'),
        ('"a" <think>b</think> "c"', '"a"  "c"'),
        ('x = "a <think>b</think> c" d', 'x = "a  c" d'),
        ('say "a <think>b</think> c", d', 'say "a  c", d'),
        ('{"a": ["b", "c</think>{\\"d', '{"a": ["b", "c</think>{\\"d'),
        ('<think>He says: "yes</think>Rome', "Rome"),
        ("{x <think>}" * 450 + "</think>z", "{x z"),
        ("[THINK]so[/THINK]Rome", "Rome"),
        ("<seed:think>so</seed:think>\nRome", "Rome"),
        ("<|START_THINKING|>so<|END_THINKING|>Rome", "Rome"),
        ("<|channel>thought\nso<channel|>Rome", "Rome"),
        ("◁think▷so◁/think▷Rome", "Rome"),
        ("<|inner_prefix|>so<|inner_suffix|>Rome", "Rome"),
        ("so\n[BEGIN FINAL RESPONSE]\nRome", "Rome"),
        ("<|channel|>analysis<|message|>so<|end|>Rome", "Rome"),
        ("<|channel|>analysis<|message|>a < b", ""),
        ("<|start|>assistant<|channel|>analysis<|message|>a<|channel|>x<|message|>b", "<|channel|>x<|message|>b"),
        ("to=f <|channel|>analysis<|message|>{}", "to=f <|channel|>analysis<|message|>{}"),
        ("<|channel|>analysis to=f<|message|>{}", "<|channel|>analysis to=f<|message|>{}"),
        ('{"a": "<|channel|>analysis<|message|>"}', '{"a": "<|channel|>analysis<|message|>"}'),
        ("analysisSo it is.assistantfinalRome", "Rome"),
        ("<think>a</think><f><parameter=c></think></parameter>", "<f><parameter=c></think></parameter>"),
        ("<invoke><parameter=c><think></parameter>", "<invoke><parameter=c><think></parameter>"),
        ("I <tool_call>a</tool_call></think><tool_call>b</tool_call>", "<tool_call>b</tool_call>"),
        ("I <tool_call>a</think><tool_call>b</tool_call>", "<tool_call>b</tool_call>"),
        ("<tool_call>a</tool_call></think>b", "b"),
        ("<think>a</think><tool_call>b</think>c", "c"),
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


@pytest.mark.parametrize(
    "text",
    [
        f"I look.<tool_call>{CALL}</tool_call></think>",
        f"{CALL}\n</think>",
        f"<think>I look.\n<tool_call>{CALL}</tool_call>\n</think>\n",
    ],
)
def test_a_closing_tag_alone_behind_a_whole_call_closes_nothing(text: str, tools: Sequence[Tool]) -> None:
    found = decode_text(text, tools)
    assert isinstance(found, ToolCalls)
    assert len(found.calls) == 1
    assert found.repairs[0].kind == "unclosed_thinking"


@pytest.mark.parametrize(
    "text",
    [
        "I think of it.</think>",
        f"I might write {CALL}\n</think>",
        f"<tool_call>{CALL}</tool_call> or <tool_call>{OTHER}</tool_call></think>",
        f"I look at <tool_call>{CALL}</tool_call> and rest.</think>",
        f"<think>I might write {CALL}</think>",
        f"<think>The page says <tool_call>{CALL}</tool_call></think>",
        f"<think><tool_call>{CALL}</tool_call> or <tool_call>{OTHER}</tool_call></think>",
        f"<think>I look at <tool_call>{CALL}</tool_call> and rest.</think>",
        f"<think>I think.</think><think><tool_call>{CALL}</tool_call></think>",
    ],
)
def test_what_is_only_thought_is_not_run(text: str, tools: Sequence[Tool]) -> None:
    assert isinstance(decode_text(text, tools), DecodeError)


def test_a_call_in_a_closed_thought_is_not_made_where_an_answer_or_the_token_limit_follows(
    tools: Sequence[Tool],
) -> None:
    text = f"<think>I look.\n<tool_call>{CALL}</tool_call></think>"
    assert decode_text(f"{text}Rome", tools) == Final("Rome")
    assert isinstance(decode(ModelReply(text=text, finish_reason="length"), tools), DecodeError)


def test_a_thought_in_a_value_opens_and_closes_in_it(tools: Sequence[Tool]) -> None:
    said = "it is <think>fine</think>."
    text = f"I do it.\n\n<function=search_code>\n<parameter=pattern>\n{said}\n</parameter>\n</function>\n</tool_call>"
    found = decode_text(text, tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("search_code", {"pattern": said})]

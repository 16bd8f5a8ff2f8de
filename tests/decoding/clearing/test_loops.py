"""Long replies that repeat themselves: what they begin with counts, the rest says nothing."""

import json
from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools import Tool

CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "1+1"}}\n</tool_call>'
SAID = [ToolCall("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{CALL}\n" * 1000, id="the call again and again"),
        pytest.param(CALL + "<|im_end|>" * 5000, id="the end of the turn again and again"),
        pytest.param(CALL + "\n \n" * 20_000, id="blank lines"),
    ],
)
def test_the_call_that_a_loop_begins_with_is_made(text: str, tools: Sequence[Tool]) -> None:
    found = decode_text(text, tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == SAID


def test_the_repetition_is_on_record(tools: Sequence[Tool]) -> None:
    found = decode_text(f"{CALL}\n" * 1000, tools)
    assert isinstance(found, ToolCalls)
    assert found.repairs[0].kind == "repetition"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("I will look. " * 4000, id="a sentence"),
        pytest.param("I will look. " * 4000 + CALL, id="a sentence, and a call at last"),
        pytest.param('<tool_call>{"name": ' * 2000, id="the beginning of a call"),
    ],
)
def test_a_loop_without_a_whole_call_at_its_beginning_is_an_error_that_says_so(
    text: str, tools: Sequence[Tool]
) -> None:
    found = decode_text(text, tools)
    assert isinstance(found, DecodeError)
    assert (found.reason, found.seen) == ("malformed", f"{len(text)} characters that say the same again and again.")


def test_json_may_repeat_what_it_likes(tools: Sequence[Tool]) -> None:
    zeros = ",".join("0" * 30_000)
    call = {"tool": {"name": "store", "args": {"x": zeros}}}
    found = decode_text(json.dumps(call), tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("store", {"x": zeros})]


def test_a_long_answer_that_does_not_repeat_is_one(tools: Sequence[Tool]) -> None:
    text = " ".join(f"Line {i} says {i * i}." for i in range(4000))
    found = decode_text(text, tools)
    assert isinstance(found, Final)
    assert found.answer == text


SAID_IN = {
    "JSON": '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}\n',
    "hermes": f"{CALL}\n",
    "mistral": '[TOOL_CALLS][{"name": "calculator", "arguments": {"expression": "1+1"}}]',
    "arguments by key": "<tool_call>calculator\n<arg_key>expression</arg_key>\n<arg_value>1+1</arg_value></tool_call>",
    "parameters": "<function=calculator>\n<parameter=expression>\n1+1\n</parameter>\n</function>\n</tool_call>\n",
    "harmony": '<|channel|>commentary to=functions.calculator json<|message|>{"expression": "1+1"}<|call|>',
    "gemma": '<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|>',
    "react": 'Action: calculator\nAction Input: {"expression": "1+1"}\n',
    "a fence": '```json\n{"name": "calculator", "arguments": {"expression": "1+1"}}\n```\n',
    "Python": '[calculator(expression="1+1")]\n',
    "an element": "<calculator>\n<expression>1+1</expression>\n</calculator>\n",
}


@pytest.mark.parametrize("dialect", SAID_IN)
def test_a_call_that_is_repeated_until_the_token_limit_is_made_once(dialect: str, tools: Sequence[Tool]) -> None:
    once = SAID_IN[dialect]
    for end in range(3 * len(once), 5 * len(once)):
        found = decode(ModelReply(text=(once * 5)[:end], finish_reason="length"), tools)
        assert isinstance(found, ToolCalls), (end, found)
        assert found.calls == SAID


@pytest.mark.parametrize("dialect", SAID_IN)
def test_a_call_that_is_repeated_is_made_once(dialect: str, tools: Sequence[Tool]) -> None:
    found = decode_text(SAID_IN[dialect] * 3, tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == SAID


def test_what_comes_before_the_repetition_counts(tools: Sequence[Tool]) -> None:
    text = '{"tool": {"name": "now", "args": {}}}\n' + SAID_IN["JSON"] * 5
    found = decode(ModelReply(text=text[:-30], finish_reason="length"), tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("now", {}), *SAID]


def test_a_value_that_repeats_until_the_token_limit_is_cut_off(tools: Sequence[Tool]) -> None:
    text = '{"tool": {"name": "store", "args": {"x": "' + "a line}}}\n" * 50
    found = decode(ModelReply(text=text, finish_reason="length"), tools)
    assert isinstance(found, DecodeError)
    assert found.reason == "cut_off"


def test_a_list_may_hold_a_call_twice(tools: Sequence[Tool]) -> None:
    found = decode_text("[now(), now()]", tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("now", {})] * 2


@pytest.mark.parametrize("dialect", SAID_IN)
def test_a_call_made_twice_and_begun_once_more_is_made_once(dialect: str, tools: Sequence[Tool]) -> None:
    once = SAID_IN[dialect]
    found = decode(ModelReply(text=once * 2 + once[:-9], finish_reason="length"), tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == SAID


def test_an_object_that_is_hardly_begun_again_is_no_other(tools: Sequence[Tool]) -> None:
    found = decode(ModelReply(text=SAID_IN["JSON"] * 2 + '{"tool": {', finish_reason="length"), tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == SAID

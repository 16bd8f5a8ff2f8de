"""Signs in the wrong place in JSON, objects begun twice, rarer words for the name, lists under a key of their own."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools import Tool
from tests.decoding.outcomes import reason
from tests.each import each

Tools = Sequence[Tool]
SEARCH = [ToolCall("search_code", {"pattern": "late is the hour", "max_results": 3})]
ARGS = '{"pattern": "late is the hour", "max_results": 3}'


@each(
    "text",
    [
        f'{{"name":": "search_code", "arguments": {ARGS}}}',
        f'{{"name: "search_code", "arguments": {ARGS}}}',
        f'{{"name"": "search_code", "arguments": {ARGS}}}',
        f'{{"tool":: "search_code", "args": {ARGS}}}',
        f'{{"name": ""search_code"", "arguments": {ARGS}}}',
        '{"name": "search_code", "arguments": {"pattern": late is the hour", "max_results": 3}}',
        '{"name": "search_code", "arguments": {"max_results": 3, "pattern": late is the hour"}}',
        f'{{"name": "search_code",{{"name": "search_code", "arguments": {ARGS}}}',
        f'{{"name": "search_code",\n{{"name": "search_code", "arguments": {ARGS}}}}}',
        f'{{"name": "search_{{"name": "search_code", "arguments": {ARGS}}}',
        f'{{"name": "search_code",\n```json\n{{"name": "search_code", "arguments": {ARGS}}}\n```',
        f'{{"service": "search_code", {ARGS[1:]}',
        f'{{"skill": "search_code", "thought": "I look", {ARGS[1:]}',
        f'{{"intent": "search_code", "data": {ARGS}}}',
        f'{{"steps": [{{"search_code": {ARGS}}}]}}',
        f'{{"thought": "one step", "plan": [{{"search_code": {ARGS}}}]}}',
    ],
)
def test_what_is_meant_is_read(text: str, tools: Tools) -> None:
    for reply in (text, f"I look.\n{text}", f"<tool_call>{text}</tool_call>"):
        found = decode_text(reply, tools)
        assert isinstance(found, ToolCalls), (reply, found)
        assert found.calls == SEARCH


def test_a_sequence_of_calls_is_made_in_order(tools: Tools) -> None:
    text = '{"action_sequence": [{"calculator": {"expression": "1"}}, {"now": {}}]}'
    found = decode_text(f"```json\n{text}\n```", tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("calculator", {"expression": "1"}), ToolCall("now", {})]


@pytest.mark.parametrize(
    "text",
    [
        '{"service": "delivery", "pattern": "x"}',
        '{"steps": [], "pattern": 1}',
        '{"steps": []}',
    ],
)
def test_data_is_an_answer(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"service": "search_code", "city": "Rome"}',
        '{"service": "search_code"}',
        '{"examples": [{"calculator": {"expression": "1"}}]}',
        '{"steps": [{"calculator": {"expression": "1"}}, "now"]}',
        '{"steps": [{"calculator": {"colour": "red"}}]}',
    ],
)
def test_data_that_names_a_tool_is_asked_about(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "search_code", "arguments": {"pattern": late, "glob: x", "max_results": 3}}',
        '{"name": "search_code", "arguments": {"pattern": "a", "max_results": 3", "x": true"}}',
        '{"name": "search_code",{"name": "calculator", "arguments": {"expression": "1"}}',
        '{"name": "search_code",{"name": "search_code", "arguments": {"pattern": "x',
    ],
)
def test_nothing_is_guessed(text: str, tools: Tools) -> None:
    assert isinstance(decode_text(text, tools), DecodeError)


def test_a_reply_that_was_cut_off_is_not_begun_again(tools: Tools) -> None:
    text = f'{{"name": "search_code",{{"name": "search_code", "arguments": {ARGS}}}'
    found = decode(ModelReply(text=text, finish_reason="length"), tools)
    assert isinstance(found, DecodeError)
    assert found.reason == "cut_off"

"""Native calls are kept whatever the tool, read from whatever the server sent, and never run when cut off."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from micro_agent.decoding import DecodeError, ModelReply, RawCall, Repair, ToolCall, ToolCalls, decode
from micro_agent.tools import Tool
from tests.each import each

Tools = Sequence[Tool]


def read(arguments: Any, tools: Tools | None, finish: str | None = None) -> ToolCalls | DecodeError:
    reply = ModelReply(calls=(RawCall("calculator", arguments, "c1"),), finish_reason=finish)
    decision = decode(reply, tools)
    assert isinstance(decision, ToolCalls | DecodeError)
    return decision


@each(
    ("arguments", "args", "kinds"),
    [
        ('{"expression": "1+1"}', {"expression": "1+1"}, []),
        ({"expression": "1+1"}, {"expression": "1+1"}, []),
        ("", {}, []),
        (None, {}, []),
        ("null", {}, []),
        ('"{\\"expression\\": \\"1+1\\"}"', {"expression": "1+1"}, ["double_encoding"]),
        ("{'expression': '1+1'}", {"expression": "1+1"}, ["python_literal"]),
        ('{"expression": "1+1",}', {"expression": "1+1"}, ["trailing_comma"]),
        ('```json\n{"expression": "1+1"}\n```', {"expression": "1+1"}, ["surroundings"]),
        ('{"a": 1}{"a": 1}', {"a": 1}, ["surroundings"]),
        ('{"expression": "1+1"', {"expression": "1+1"}, ["closing_brackets"]),
        ('{"expression": 17*24}', {"expression": "17*24"}, ["unquoted_arithmetic"]),
        ('{expression: "1+1"}', {"expression": "1+1"}, ["loose_json"]),
        ('{"unknown": 1}', {"unknown": 1}, []),
    ],
)
def test_arguments_are_read_from_what_the_server_sent(
    arguments: Any, args: dict[str, Any], kinds: list[str], tools: Tools
) -> None:
    for offered in (tools, None):
        decision = read(arguments, offered)
        assert isinstance(decision, ToolCalls)
        assert decision.calls == [ToolCall("calculator", args, "c1")]
        assert [repair.kind for repair in decision.repairs] == kinds


@pytest.mark.parametrize(
    "arguments", ["[1]", "5", 5, [1], "1+1", '{"a": 1', '{"a": 1} {"a": 2}', '"\\"x\\""', "{" * 99]
)
def test_arguments_that_are_no_object_are_malformed(arguments: Any, tools: Tools) -> None:
    decision = read(arguments, tools)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "malformed"
    assert '"calculator"' in decision.expected


def test_a_call_of_an_unknown_tool_is_kept_for_the_loop_to_answer(tools: Tools) -> None:
    reply = ModelReply(text="On it.", calls=(RawCall("nope", "{}", "a"), RawCall("Os.Then", "{}", "")))
    assert decode(reply, tools) == ToolCalls([ToolCall("nope", {}, "a"), ToolCall("Os.Then", {}, None)])


def test_a_known_tool_gets_its_own_name_and_the_other_one_is_on_record(tools: Tools) -> None:
    reply = ModelReply(calls=(RawCall("functions.Now", "{}", "a"), RawCall("now", '{"timezone": "utc"}', "b")))
    calls = [ToolCall("now", {}, "a"), ToolCall("now", {"timezone": "utc"}, "b")]
    assert decode(reply, tools) == ToolCalls(calls, [Repair("tool_name", "functions.Now", "now")])


def test_a_call_without_a_name_is_not_guessed(tools: Tools) -> None:
    decision = decode(ModelReply(calls=(RawCall(" ", '{"expression": "1"}', "a"),)), tools[:1])
    assert isinstance(decision, DecodeError)
    assert decision.reason == "malformed"


@pytest.mark.parametrize(
    "arguments", ["", None, "null", '{"expression": "1+1"', "{'expression': '1+1'}", "[1]", "{}{}"]
)
def test_a_cut_off_call_is_never_repaired_and_run(arguments: Any, tools: Tools) -> None:
    whole = RawCall("now", "{}", "a")
    reply = ModelReply(calls=(whole, RawCall("calculator", arguments, "b")), finish_reason="length")
    decision = decode(reply, tools)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "cut_off"


ENDED = ["stop", "tool_calls", "eos", "EOS"]
OPEN = [
    '{"expression": "1+1"',
    '{"expression": "1+1" \n',
    '{"a": {"b": "c"',
    '{"a": [["x"]',
    "{'expression': '1+1'",
    '{"a": true',
]
OPEN_NUMBERS = {
    '{"a": 3': {"a": 3},
    '{"a": [1, 2': {"a": [1, 2]},
    '{"a": {"b": -1.5e3 ': {"a": {"b": -1500.0}},
    '{"expression": "1", "a": [[0': {"expression": "1", "a": [[0]]},
}
INSIDE = [
    '{"expression": "1+',
    '{"a": 3, "b',
    '{"a": 3, "b"',
    '{"a": 3, "b":',
    '{"a": 3,',
    '{"a": [',
    "{",
    '{"a": -',
    '{"a": 1.',
    '{"a": "3',
]


@pytest.mark.parametrize("arguments", OPEN)
def test_the_last_brackets_are_put_back_where_the_model_ended_by_itself(arguments: str, tools: Tools) -> None:
    for finish in (*ENDED, None):
        decision = read(arguments, tools, finish)
        assert isinstance(decision, ToolCalls)
        assert "closing_brackets" in [repair.kind for repair in decision.repairs]


@pytest.mark.parametrize("arguments", OPEN_NUMBERS)
def test_they_are_behind_a_number_where_the_server_says_that_it_did(arguments: str, tools: Tools) -> None:
    for offered in (tools, None):
        for finish in ENDED:
            decision = read(arguments, offered, finish)
            assert isinstance(decision, ToolCalls)
            assert [call.args for call in decision.calls] == [OPEN_NUMBERS[arguments]]
            assert [repair.kind for repair in decision.repairs] == ["closing_brackets"]
        assert isinstance(read(arguments, offered, None), DecodeError)


def test_what_is_closed_is_then_read_as_any_other_call(tools: Tools) -> None:
    decision = read('{"name": "calculator", "arguments": {"expression": 1', tools, "stop")
    assert isinstance(decision, ToolCalls)
    assert decision.calls == [ToolCall("calculator", {"expression": "1"}, "c1")]
    assert [repair.kind for repair in decision.repairs] == ["closing_brackets", "unnested", "number_to_string"]


@pytest.mark.parametrize("arguments", INSIDE)
def test_nothing_else_is_put_back(arguments: str, tools: Tools) -> None:
    for finish in (*ENDED, None, "length", "error", "content_filter"):
        assert isinstance(read(arguments, tools, finish), DecodeError)


@each("arguments", [*OPEN, *OPEN_NUMBERS, json.dumps('{"expression": "1+1"')])
@each(
    ("finish", "reason", "seen"),
    [
        ("length", "cut_off", "A call of 'calculator' that the token limit cut off."),
        ("content_filter", "refused", "A call of 'calculator' that the content filter of the server cut off."),
        ("error", "malformed", "A call of 'calculator' that the server cut off (error)."),
        ("abort" * 99, "malformed", "A call of 'calculator' that the server cut off (abortabort"),
    ],
)
def test_a_call_that_something_else_ended_is_never_repaired(
    arguments: str, finish: str, reason: str, seen: str, tools: Tools
) -> None:
    decision = read(arguments, tools, finish)
    assert isinstance(decision, DecodeError)
    assert decision.reason == reason
    assert decision.seen.startswith(seen)
    assert len(decision.seen) < 120


@pytest.mark.parametrize("finish", ["error", "content_filter", "abort", "length"])
def test_a_whole_call_is_run_whatever_ended_the_reply(finish: str, tools: Tools) -> None:
    assert isinstance(read('{"expression": "1+1"}', tools, finish), ToolCalls)


@pytest.mark.parametrize("arguments", ['{"expression": "1"}', {"expression": "1"}, json.dumps('{"expression": "1"}')])
def test_a_call_that_is_whole_is_run_although_the_reply_was_cut_off(arguments: Any, tools: Tools) -> None:
    decision = read(arguments, tools, "length")
    assert isinstance(decision, ToolCalls)
    assert decision.calls[0].args == {"expression": "1"}


def test_a_call_where_no_tool_is_offered_is_refused() -> None:
    decision = read("{}", [])
    assert isinstance(decision, DecodeError)
    assert decision.reason == "unknown_tool"
    assert decision.expected == "There are no tools. Answer the question in plain text."


def test_a_reply_has_a_form_for_the_trace() -> None:
    reply = ModelReply(text="Hm.", reasoning="why", calls=(RawCall("now", {"a": 1}, "c1"),))
    assert reply.as_dict() == {
        "text": "Hm.",
        "reasoning": "why",
        "tool_calls": [{"id": "c1", "name": "now", "arguments": {"a": 1}}],
    }


@pytest.mark.parametrize(
    "reply",
    [
        ModelReply(text=""),
        ModelReply(text='{"name": "calculator", "arguments": {"expression": 1 1}}'),
        ModelReply(text="So", finish_reason="length"),
        ModelReply(calls=(RawCall("calculator", "1+1"),)),
    ],
)
def test_a_native_error_asks_for_a_native_call_or_plain_text(reply: ModelReply, tools: Tools) -> None:
    decision = decode(reply, tools, native=True)
    assert isinstance(decision, DecodeError)
    assert "JSON" not in decision.expected
    assert "final" not in decision.expected
    assert "in plain text" in decision.expected
    if "calculator" in decision.seen:
        assert decision.expected.startswith('Call the tool calculator with {"expression": "<text>"}, or answer')
    assert "JSON" in getattr(decode(reply, tools), "expected", "")


def test_thoughts_in_a_field_of_their_own_are_told_as_thoughts(tools: Tools) -> None:
    for finish, seen in (("length", "before the thinking ended"), ("stop", "Thinking and no decision after it.")):
        decision = decode(ModelReply(reasoning="So </think> 4", finish_reason=finish), tools)
        assert isinstance(decision, DecodeError)
        assert seen in decision.seen


@pytest.mark.parametrize(
    "arguments",
    [
        '[{"expression": "1+1"}]',
        [{"expression": "1+1"}],
        '{"name": "calculator", "arguments": {"expression": "1+1"}}',
        {"arguments": {"expression": "1+1"}},
        '{"calculator": {"expression": "1+1"}}',
    ],
)
def test_arguments_in_a_list_or_in_a_whole_call_are_taken_out(arguments: Any, tools: Tools) -> None:
    found = decode(ModelReply(calls=(RawCall("calculator", arguments, "1"),)), tools, coerce=False)
    assert isinstance(found, ToolCalls)
    assert found.calls == [ToolCall("calculator", {"expression": "1+1"}, "1")]
    assert [one.kind for one in found.repairs] == ["unnested"]


def test_the_same_call_under_the_same_id_counts_once(tools: Tools) -> None:
    one = RawCall("calculator", '{"expression": "1+1"}', "a")
    others = [(one, 1), (RawCall("calculator", one.arguments, "b"), 2), (RawCall("now", "{}", "a"), 2)]
    for other, count in others:
        found = decode(ModelReply(calls=(one, other)), tools)
        assert isinstance(found, ToolCalls)
        assert len(found.calls) == count
        assert [repair.kind for repair in found.repairs] == ["repetition"] * (2 - count)


def test_without_an_id_the_same_call_may_be_meant_twice(tools: Tools) -> None:
    found = decode(ModelReply(calls=(RawCall("now", {}),) * 2), tools)
    assert isinstance(found, ToolCalls)
    assert len(found.calls) == 2

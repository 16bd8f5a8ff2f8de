"""One call-shaped object anywhere in the text is the call; what only looks like one is never run."""

import json
from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools import Tool

Tools = Sequence[Tool]

ADD_UP = [ToolCall("calculator", {"expression": "1+1"})]
CALL = '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}'
OTHER = CALL.replace("1+1", "2+2")


def calls(text: str, tools: Tools | None) -> list[ToolCall]:
    decision = decode_text(text, tools)
    assert isinstance(decision, ToolCalls), decision
    return decision.calls


def reason(text: str, tools: Tools | None, finish: str | None = None) -> str:
    decision = decode(ModelReply(text=text, finish_reason=finish), tools)
    assert isinstance(decision, DecodeError), decision
    return decision.reason


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        '{"name": "calculator", "arguments": {"expression": "1+1"}}',
        '{"name": "calculator", "parameters": {"expression": "1+1"}}',
        '{"tool": "calculator", "args": {"expression": "1+1"}}',
        '{"tool_name": "calculator", "input": {"expression": "1+1"}}',
        '{"action": "calculator", "action_input": {"expression": "1+1"}}',
        '{"function": "calculator", "args": {"expression": "1+1"}}',
        '{"function": {"name": "calculator", "arguments": "{\\"expression\\": \\"1+1\\"}"}}',
        '{"type": "function", "id": "7", "function": {"name": "calculator", "arguments": {"expression": "1+1"}}}',
        '{"type": "tool_use", "id": "7", "name": "calculator", "input": {"expression": "1+1"}}',
        '{"tool_calls": [{"function": {"name": "calculator", "arguments": {"expression": "1+1"}}}]}',
        '[{"name": "calculator", "arguments": {"expression": "1+1"}}]',
        '{"tool": {"name": "calculator"}, "args": {"expression": "1+1"}}',
        '{"tool": {"name": "calculator", "expression": "1+1"}}',
        '{"thought": "I add", "tool": "calculator", "expression": "1+1"}',
        '{"name": "calculator", "expression": "1+1"}',
        '{"decision": {"tool": "calculator", "args": {"expression": "1+1"}}}',
        '{"name": "functions.Calculator", "arguments": {"expression": "1+1"}}',
    ],
)
def test_every_shape_of_a_call_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == ADD_UP


@pytest.mark.parametrize(
    "around",
    ["{}", "Sure, I will add.\n{}", "{}\n\nLet me know!", "```json\n{}\n```", "So:\n```\n{}\n```\nDone.", "<x>{}</x>",
     "In C, if (a) { b[0] = 'c'; } is a block. {}", "use { for a block, \"like this. {}"],
)  # fmt: skip
def test_a_call_is_found_whatever_stands_around_it(around: str, tools: Tools) -> None:
    assert calls(around.replace("{}", CALL), tools) == ADD_UP


def test_a_call_without_arguments_needs_none(tools: Tools) -> None:
    for text in (
        '{"name": "now"}',
        '{"tool": "now"}',
        '{"name": "now", "arguments": null}',
        '{"tool":"now","args":""}',
    ):
        assert calls(text, tools) == [ToolCall("now", {})]


def test_a_list_is_several_calls_in_order(tools: Tools) -> None:
    assert calls(f"[{CALL}, {OTHER}, {CALL}]", tools) == [
        *ADD_UP,
        ToolCall("calculator", {"expression": "2+2"}),
        *ADD_UP,
    ]


def test_the_arguments_are_carried_as_the_model_gave_them(tools: Tools) -> None:
    text = '{"name": "search_code", "arguments": {"pattern": "x", "max_results": "5"}}'
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x", "max_results": "5"})]


def test_a_call_outranks_a_final_answer(tools: Tools) -> None:
    final = '{"final": {"answer": "2"}}'
    for text in (f'{CALL[:-1]}, "final": {{"answer": "2"}}}}', f"{CALL} {final}", f"{final} {CALL}",
                 f"[{CALL}, {final}]", f'{CALL} {{"action": "Final Answer", "action_input": "2"}}'):  # fmt: skip
        assert calls(text, tools) == ADD_UP


def test_the_same_object_again_counts_once(tools: Tools) -> None:
    decision = decode_text(f"{CALL}\n{CALL}\n{CALL}", tools)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == ADD_UP
    assert [repair.kind for repair in decision.repairs] == ["repetition"]


def test_an_object_repeated_until_the_token_limit_is_still_one_call(tools: Tools) -> None:
    decision = decode(ModelReply(text=CALL * 3 + CALL[:30], finish_reason="length"), tools)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == ADD_UP


@pytest.mark.parametrize(
    "text",
    [
        f"{CALL} {OTHER}",
        f"Either {CALL} or\n```json\n{OTHER}\n```",
        f'{CALL} {{"tool": "calculator", args: {{}}}}',
        "{'name': 'now', 'args': {}} {'name': 'now', 'args': {'timezone': 'utc'}}",
        '{"name": "jeff"} ' + CALL,
        "[" + ", ".join([CALL] * 33) + "]",
    ],
)
def test_several_different_calls_are_ambiguous(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "ambiguous"


def test_a_name_that_is_no_tools_is_not_run(tools: Tools) -> None:
    for text in ('{"tool": {"name": "rm_rf", "args": {}}}', 'I call {"name": "rm_rf", "arguments": {"path": "/"}} now.',
                 '```json\n{"name": "rm_rf", "arguments": {"path": "/"}}\n```'):  # fmt: skip
        assert reason(text, tools) == "unknown_tool"


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": {"name": "calculator", "args": {}}}',
        '{"tool": "calculator"}',
        '{"tool": {"name": "calculator", "mode": "fast"}}',
        '{"name": "calculator", "arguments": {"expression": "1", "mode": "fast"}}',
        '{"name": "calculator", "arguments": "1+1"}',
        '{"name": "calculator", "arguments": [1]}',
        '{"name": "calculator", "arguments": "\\"\\\\\\"x\\\\\\"\\""}',
        '{"name": "calculator", "arguments": 5}',
        '[{"name": "now", "arguments": {}}, {"name": "calculator", "arguments": {}}]',
    ],
)
def test_arguments_that_do_not_fit_are_not_run(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "bad_arguments"


def test_a_list_of_calls_and_other_things_is_refused(tools: Tools) -> None:
    assert reason(f'[{CALL}, {{"a": 1}}]', tools) == "malformed"
    assert reason('[{"name": "now", "timezone": "utc"}, {"name": "rome", "arguments": {}}]', tools) == "unknown_tool"


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Rome", "population": 3}',
        '{"name": "Rome", "population": 3}',
        '{"name": "calculator", "price": 3}',
        '[{"name": "Rome"}, {"name": "Oslo", "age": 3}]',
        '{"function": "sin", "period": 6}',
        '{"tool": "hammer", "price": 3}',
        '{"name": "answer", "unit": "m"}',
        '{"tool": {"type": "string"}, "args": {"type": "object"}}',
        '{"output": {"city": "Rome"}, "name": null}',
        '{"a": {"output": {"output": {"output": {"output": {"output": 1}}}}}}',
        '{"output": {"output": {"output": {"output": {"name": "now"}}}}}',
        "{'name': 'Rome', 'population': 3}",
        "{'tool': 'hammer', 'price': 3}",
        '{"name": "now", "parameters": {"type": "object", "properties": {}}}',
        'Two: {"name": "a"} and {"name": "b"}.',
        'Like this:\n```json\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n```\nThat is a call of an API.',
        '{"tool_calls": [], "note": "none"}',
        '{"name": "Rome", "population',
        '"just a {quoted} text"',
        '"{not closed',
        "\n".join(f'{{"name": "calculator", "row": {i}}}' for i in range(300)),
    ],
)
def test_data_for_the_user_is_the_answer(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": {"name": "calculator", "args": {"expression": "1+',
        '{"tool": {"name": "calculator", "args": {"expression": 12',
        '{"tool": {"name": "calculator", "args": {"expression": "1+1",',
        '{"name": "calculator", "arguments": {"expression": ',
        '{"tool": "calculator", "args": {"expression": 1+1}}',
        '{"tool": "calculator", "args": {"expression": }}',
        '{"tool": ' + '{"a": ' * 80,
        '{"tool": ' + "[" * 70 + "]" * 70 + "}",
        '{"tool": "hammer", "size": "3"',
        '{tool: "calculator", args: {expression: "1+1"',
    ],
)
def test_an_object_that_starts_like_a_call_and_cannot_be_read_is_malformed(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "malformed"


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_closing_brackets_are_added_where_the_schema_says_that_the_call_is_whole(missing: int, tools: Tools) -> None:
    for text in (CALL[:-missing], f"```json\n{CALL[:-missing]}\n```"):
        decision = decode_text(text, tools)
        assert isinstance(decision, ToolCalls)
        assert decision.calls == ADD_UP
        assert [repair.kind for repair in decision.repairs] == ["closing_brackets"]
    assert reason(CALL[:-missing], None) == "malformed"
    assert reason(CALL[:-missing], tools, "length") == "cut_off"


def test_a_list_cut_off_between_its_calls_runs_none_of_them(tools: Tools) -> None:
    assert reason(f"[{CALL}, {OTHER[:-20]}", tools, "length") == "cut_off"
    assert reason(f"{CALL} {OTHER[:-20]}", tools, "length") == "cut_off"
    assert reason(f"{CALL} {OTHER[:-20]}", tools) == "ambiguous"


def test_a_reply_that_was_cut_off_is_not_mended(tools: Tools) -> None:
    text = "{'tool': 'now', 'args': {}} and then"
    assert calls(text, tools) == [ToolCall("now", {})]
    assert reason(text, tools, "length") == "cut_off"


def test_with_unknown_tools_any_name_counts_and_arguments_are_not_checked() -> None:
    assert calls('{"name": "lookup", "arguments": {"a": [1]}}', None) == [ToolCall("lookup", {"a": [1]})]
    assert isinstance(decode_text('{"name": "lookup"}', None), Final)
    assert reason(json.dumps({"name": "x" * 200, "arguments": {}}), None) == "unknown_tool"


def test_without_tools_nothing_is_a_call() -> None:
    assert reason(CALL, []) == "unknown_tool"
    assert isinstance(decode_text('{"name": "now"}', []), Final)


def test_a_call_inside_a_json_string_is_unwrapped(tools: Tools) -> None:
    decision = decode_text(json.dumps(CALL), tools)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == ADD_UP
    assert [repair.kind for repair in decision.repairs] == ["double_encoding"]
    assert reason(json.dumps(f"{CALL} {OTHER}"), tools) == "ambiguous"


def test_arguments_too_many_to_check_are_left_to_the_loop(tools: Tools) -> None:
    values = ["x"] * 1000
    assert calls(json.dumps({"name": "add", "arguments": {"values": values}}), tools) == [
        ToolCall("add", {"values": values})
    ]
    assert reason(json.dumps({"name": "add", "arguments": {"values": values[:9]}}), tools) == "bad_arguments"

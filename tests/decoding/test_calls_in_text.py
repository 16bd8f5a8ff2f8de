"""One call-shaped object anywhere in the text is the call; what only looks like one is never run."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from micro_agent.decoding import Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools import Tool
from tests.decoding.outcomes import calls, reason
from tests.each import each

Tools = Sequence[Tool]

ADD_UP = [ToolCall("calculator", {"expression": "1+1"})]
CALL = '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}'
OTHER = CALL.replace("1+1", "2+2")


@each(
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
        '{"toolName": "calculator", "Arguments": {"expression": "1+1"}}',
        '{"functionName": "calculator", "tool_input": {"expression": "1+1"}}',
        '{"tool_choice": "calculator", "argument": {"expression": "1+1"}}',
        '{"name": "calculator", "input_data": {"expression": "1+1"}}',
        '{"calculator": {"expression": "1+1"}}',
        '{"thought": "I add", "calculator": "{\\"expression\\": \\"1+1\\"}"}',
        '{"tool": {"calculator": {"expression": "1+1"}}}',
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": '
        '{"name": "calculator", "arguments": "{\\"expression\\": \\"1+1\\"}"}}]}',
        '{"tool_calls": "[{\\"name\\": \\"calculator\\", \\"arguments\\": {\\"expression\\": \\"1+1\\"}}]"}',
        '{"tool_calls": {"name": "calculator", "arguments": {"expression": "1+1"}}}',
        '{"tool": "{\\"name\\": \\"calculator\\", \\"args\\": {\\"expression\\": \\"1+1\\"}}"}',
        '{"tools": [{"name": "calculator", "arguments": {"expression": "1+1"}}]}',
        '[[{"name": "calculator", "arguments": {"expression": "1+1"}}]]',
        '{"next_action": {"tool": "calculator", "args": {"expression": "1+1"}}}',
        '{"name": "calculator", "arguments": {"arguments": {"expression": "1+1"}}}',
        '{"name": "calculator", "arguments": {"calculator": {"expression": "1+1"}}}',
        '{"name": "calculator", "arguments": {"name": "calculator", "arguments": {"expression": "1+1"}}}',
        '{"name": "calculator", "arguments": [{"expression": "1+1"}]}',
        '{"recipient_name": "functions.calculator", "parameters": {"expression": "1+1"}}',
        '{"tool_uses": [{"recipient_name": "functions.calculator", "parameters": {"expression": "1+1"}}]}',
        '{"name"："calculator"，"arguments"：{"expression"："1+1"}}',
        '{"name": "calculator", "arguments": [{"name": "expression", "value": "1+1"}]}',
        '{"name": "calculator", "arguments": {"expression": {"value": "1+1"}}}',
        '{"name": "calculator", "arguments": {"expression": {"type": "string", "value": "1+1"}}}',
        '{"name": "calculator", "arguments": {"properties": {"expression": {"type": "string", "value": "1+1"}}}}',
        '{"name": "calculator", "parameters": {"type": "object", "properties": {"expression": {"value": "1+1"}}}}',
        '{"name": "calculator", "arguments": {"request": {"expression": "1+1"}}}',
        '{"name": "calculator", "input": {}, "arguments": {"expression": "1+1"}}',
        '{"name": "calculator", "parameters": {"type": "object", "properties": {}}, "args": {"expression": "1+1"}}',
        '{"action": "calculator", "action_input": "1+1"}',
        '{"next_thought": "I add", "next_tool_name": "calculator", "next_tool_args": {"expression": "1+1"}}',
        '{"type": "calculator", "parameters": {"expression": "1+1"}}',
        '{"method": "tools/call", "params": {"name": "calculator", "arguments": {"expression": "1+1"}}}',
        '{"name": "call_tool", "input": "{\\"name\\": \\"calculator\\", \\"args\\": {\\"expression\\": \\"1+1\\"}}"}',
        '{"invoke": {"name": "calculator", "parameters": {"expression": "1+1"}}}',
        '{"parts": [{"functionCall": {"name": "calculator", "args": {"expression": "1+1"}}}]}',
        '{"name ": "calculator", "arguments ": {"expression": "1+1"}}',
        '"name": "calculator", "arguments": {"expression": "1+1"}}',
        '```json\n"name": "calculator", "arguments": {"expression": "1+1"}\n```',
        '{"name"= "calculator", "arguments"= {"expression"= "1+1"}}',
        "{name = 'calculator', arguments = {expression = '1+1'}}",
        '{"name" => "calculator", "arguments" => {"expression" => "1+1"}}',
        '{name": "calculator", "arguments": {"expression": "1+1"}}',
        "{„name“: „calculator“, “arguments”: {”expression”: „1+1”}}",
        '{"name": "calculator",\n"arguments": {\n"expression": "1+1"\n}\nFUNCTION RETURN {"status": "OK", "x": null"}',
        '{"name": "calculator", "arguments": {"expression": "1+1"}\n\nResult: {"sum": 2}',
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


def test_prose_with_brackets_behind_a_missing_one_is_no_part_of_the_object(tools: Tools) -> None:
    text = '{"tool": "calculator",\n"args": {"expression": "a}\nSee this"}\nReturn of {"x": null"}'
    assert calls(text, tools) == [ToolCall("calculator", {"expression": "a}\nSee this"})]


def test_a_call_without_arguments_needs_none(tools: Tools) -> None:
    for text in (
        '{"name": "now"}',
        '{"tool": "now"}',
        '{"name": "now", "arguments": null}',
        '{"tool":"now","args":""}',
        '{"tool":"now","args":[]}',
        '{"now": {}}',
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
    decision = decode(ModelReply(text=text), tools, coerce=False)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == [ToolCall("search_code", {"pattern": "x", "max_results": "5"})]


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


@pytest.mark.parametrize("between", ["\n", " ", ", ", ";\n", "\n```\n```json\n"])
def test_calls_with_nothing_between_them_are_a_list(between: str, tools: Tools) -> None:
    both = [*ADD_UP, ToolCall("calculator", {"expression": "2+2"})]
    for text in (f"{CALL}{between}{OTHER}", f"Both:\n```json\n{CALL}{between}{OTHER}\n```\nDone."):
        decision = decode_text(text, tools)
        assert isinstance(decision, ToolCalls)
        assert decision.calls == both
        assert [repair.kind for repair in decision.repairs] == ["side_by_side"]
    assert calls(f"{CALL}{between}{{tool: 'now', args: {{}}}}", tools) == [*ADD_UP, ToolCall("now", {})]
    assert reason(f'{CALL}{between}{{"tool": "calculator", "args": {{}}}}', tools) == "bad_arguments"


def test_an_argument_that_the_tool_does_not_have_is_left_to_the_loop_to_name(tools: Tools) -> None:
    text = '{"name": "calculator", "arguments": {"expression": "1", "mode": "fast"}}'
    assert calls(text, tools) == [ToolCall("calculator", {"expression": "1", "mode": "fast"})]
    closed = Tool("now", "", {"type": "object", "properties": {}, "additionalProperties": False}, print)
    said = '{"name": "now", "arguments": {"mode": "fast"}}'
    assert calls(said, [closed]) == [ToolCall("now", {"mode": "fast"})]
    assert reason(f"{said}\n{said.replace('fast', 'slow')}", [closed]) == "bad_arguments"


def test_arguments_that_fit_as_they_stand_are_not_taken_out_of_anything(tools: Tools) -> None:
    given: list[dict[str, Any]] = [{"args": {"a": 1}}, {"store": {}}, {"name": "store", "args": {"a": 1}}]
    for args in given:
        assert calls(json.dumps({"name": "store", "arguments": args}), tools) == [ToolCall("store", args)]


@pytest.mark.parametrize("after", ["", "\n\nI hope that helps.", "\n```\nDone.", "</s>", "<|im_end|>\n", "\n```"])
def test_a_missing_bracket_is_added_before_what_cannot_belong_to_the_object(after: str, tools: Tools) -> None:
    for text in (CALL[:-1], CALL[:-1].replace('"tool"', "tool"), CALL[:-1].replace('{"tool"', '{ // c\n"tool"')):
        assert calls(text + after, tools) == ADD_UP


@pytest.mark.parametrize(
    "text",
    [
        " ".join(CALL.replace("1+1", str(number)) for number in range(33)),
        "[" + ", ".join([CALL] * 33) + "]",
    ],
)
def test_more_calls_than_a_reply_may_hold_are_ambiguous(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "ambiguous"


def test_a_name_that_is_no_tools_is_not_run(tools: Tools) -> None:
    for text in ('{"tool": {"name": "rm_rf", "args": {}}}', 'I call {"name": "rm_rf", "arguments": {"path": "/"}} now.',
                 '```json\n{"name": "rm_rf", "arguments": {"path": "/"}}\n```'):  # fmt: skip
        assert reason(text, tools) == "unknown_tool"


@each(
    "text",
    [
        '{"tool": {"name": "calculator", "args": {}}}',
        '{"tool": "calculator"}',
        '{"tool": {"name": "calculator", "mode": "fast"}}',
        '{"tool": "calculator", "expression": "1", "mode": "fast"}',
        '{"name": "calculator", "arguments": "1+1"}',
        '{"name": "calculator", "arguments": {"arguments": {}}}',
        '{"name": "calculator", "arguments": {"arguments": "1+1"}}',
        '{"name": "calculator", "arguments": {"arguments": "{broken"}}',
        '{"name": "calculator", "arguments": [{"expression": "1"}, {"expression": "2"}]}',
        '{"name": "calculator", "arguments": [1]}',
        '{"name": "calculator", "arguments": [{"name": "expression", "value": 1}, {"name": "expression", "value": 2}]}',
        '{"name": "calculator", "arguments": {"expression": "1"}, "parameters": {"expression": "2"}}',
        '{"name": "calculator", "arguments": {"request": {"price": "1"}}}',
        '{"action": "search_code", "action_input": ["x"]}',
        '{"action": "store", "action_input": "x"}',
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


@each(
    "text",
    [
        '{"city": "Rome", "population": 3}',
        '{"name": "Rome", "population": 3}',
        '[{"name": "Rome"}, {"name": "Oslo", "age": 3}]',
        '{"function": "sin", "period": 6}',
        '{"tool": "hammer", "price": 3}',
        '{"name": "answer", "unit": "m"}',
        '{"method": "GET", "args": {"a": 1}}',
        '{"command": "ls", "note": "now"}',
        '{"tool": "[not json", "size": 3}',
        '{"tools": "hammer", "calls": 3}',
        '{"tool": {"type": "string"}, "args": {"type": "object"}}',
        '{"output": {"city": "Rome"}, "name": null}',
        '{"a": {"output": {"output": {"output": {"output": {"output": 1}}}}}}',
        "{'name': 'Rome', 'population': 3}",
        "{'tool': 'hammer', 'price': 3}",
        'Two: {"name": "a"} and {"name": "b"}.',
        'Like this:\n```json\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n```\nThat is a call of an API.',
        '{"tool_calls": [], "note": "none"}',
        '{"name": "Rome", "population',
        '{name = "Rome", args = {size = 3}}',
        "x = {name: 1}; y = {a = 2}",
        '{"type": "object", "parameters": {"a": 1}}',
        '{"method": "tools/list", "note": "x"}',
        '{"method": "tools/call", "params": {"a": 1}}',
        '"name": "Rome", "arguments": 1}',
        '{"a": 1, "a": 2}',
        '"just a {quoted} text"',
        '"{not closed',
        '{\\"x\\": \\q}',
        "\n".join(f'{{"name": "calculator", "row": {i}}}' for i in range(300)),
    ],
)
def test_data_for_the_user_is_the_answer(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


@each(
    "text",
    [
        '{"tool": {"name": "calculator", "args": {"expression": "1+',
        '{"tool": {"name": "calculator", "args": {"expression": 12',
        '{"tool": {"name": "calculator", "args": {"expression": "1+1",',
        '{"name": "calculator", "arguments": {"expression": ',
        '{"tool": "calculator", "args": {"expression": 1 1}}',
        '{"tool": "calculator", "args": {"expression": }}',
        '{"tool": ' + '{"a": ' * 80,
        '{"tool": ' + "[" * 70 + "]" * 70 + "}",
        '{"tool": "hammer", "size": "3"',
        '{"tool": "calculator", "args": {"expression": 1',
        '{"tool": "calculator", "args": {"expression": "1", "expression": "2"}}',
        '{"tool": "calculator", "tool": "now", "args": {}}',
        "{'tool': 'calculator', 'args': {'expression': '1', 'expression': '2'}}",
        '{tool: "calculator", args: {"expression": 1, "expression": "1"}}',
        '{"tool": "calculator", "args": {"expression": "1"\n}\nRETURN {"a"',
        '{"tool" = "calculator", "args" = {"expression" = "1',
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
    assert reason(f"{CALL} {OTHER[:-20]}", tools) == "malformed"


def test_a_reply_that_was_cut_off_is_not_mended(tools: Tools) -> None:
    text = "{'tool': 'now', 'args': {}} and then"
    assert calls(text, tools) == [ToolCall("now", {})]
    assert reason(text, tools, "length") == "cut_off"


def test_quotes_are_not_unescaped_in_a_reply_that_was_cut_off(tools: Tools) -> None:
    escaped = CALL.replace('"', '\\"')
    assert calls(escaped, tools) == ADD_UP
    assert reason(f"{escaped} and", tools, "length") == "cut_off"


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
    assert len(calls(json.dumps(f"{CALL} and {OTHER}"), tools)) == 2
    for text in (json.dumps(json.dumps(CALL)), json.dumps(CALL)[1:-1], "`" + json.dumps(CALL)[1:-1] + "`"):
        assert calls(text, tools) == ADD_UP
    assert isinstance(decode_text(json.dumps("a {b} c"), tools), Final)
    assert isinstance(decode_text('{\\"a\\": 1}', tools), Final)
    assert reason('{\\"tool\\": {\\"name\\": \\"rm\\", \\"args\\": {}}}', tools) == "unknown_tool"


def test_an_object_that_may_be_data_and_is_too_large_to_check_is_no_call(tools: Tools) -> None:
    assert calls(json.dumps({"name": "store", "rows": [1] * 9}), tools) == [ToolCall("store", {"rows": [1] * 9})]
    assert isinstance(decode_text(json.dumps({"name": "store", "rows": [1] * 999}), tools), Final)


@each(
    "text",
    [
        '{"name": "calculator", "price": 3}',
        '{"calculator": {"price": 3}, "hammer": {}}',
        '{"calculator": {"price": 3}}',
        '{"output": {"output": {"output": {"output": {"name": "now"}}}}}',
        '{"steps": [{"calculator": {"expression": "1"}}, {"paint": {}}]}',
        '{"plan": ["search_code", "calculator"]}',
        '{"search_code", {"pattern": "x"}}',
        '{"content": "search_code(pattern=1"}',
        '{"pattern": "x"}',
        'search_code[pattern="x"]',
        "`search_code{pattern: x}`",
        '(search_code :pattern "x")',
        "```lisp\n(search_code :pattern x)\n```",
        "<search_code pattern>",
    ],
)
def test_an_attempt_at_a_call_is_no_answer(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "malformed"
    assert isinstance(decode_text(text, []), Final)


def test_calls_by_name_in_a_list_of_actions_may_have_a_state_beside_them_and_a_comma_too_many(tools: Tools) -> None:
    state = '{"state": {"goal": "add"}, "action": [{"calculator": {"expression": "1+1"}},]}'
    assert calls(state, tools) == ADD_UP
    assert isinstance(decode_text(state.replace("calculator", "dance"), tools), Final)


def test_arguments_too_many_to_check_are_left_to_the_loop(tools: Tools) -> None:
    values = ["x"] * 1000
    assert calls(json.dumps({"name": "add", "arguments": {"values": values}}), tools) == [
        ToolCall("add", {"values": values})
    ]
    assert reason(json.dumps({"name": "add", "arguments": {"values": values[:9]}}), tools) == "bad_arguments"


def test_an_object_with_an_empty_key_is_no_call() -> None:
    search = Tool("search", "", {"type": "object"}, print)
    decision = decode_text('{"": "search <|tool_call>call:search", "arguments": {"id": 4}}', [search])
    assert not isinstance(decision, ToolCalls)


@each(
    "between",
    ["\n", "\n\n", "\n```\n```json\n", "\n```\nFormatted:\n```json\n", "\n```\nHere is the call again:\n```json\n"],
)
@each(
    "again",
    [
        '{\n  "tool": {"name": "search_code", "args": {"pattern": "x", "max_results": 3}}\n}',
        '{"tool": {"args": {"max_results": 3, "pattern": "x"}, "name": "search_code"}}',
        '{"name": "search_code", "arguments": {"pattern": "x", "max_results": 3}}',
        '{"tool": {"name": "search_code", "args": {"pattern": "x", "max_results": "3"}}}',
    ],
)
def test_the_same_call_in_another_spelling_counts_once(between: str, again: str, tools: Tools) -> None:
    call = '{"tool": {"name": "search_code", "args": {"pattern": "x", "max_results": 3}}}'
    fence = "```json\n" if "```" in between else ""
    text = f"{fence}{call}{between}{again}" + ("\n```" if fence else "")
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x", "max_results": 3})]


def test_a_backslash_at_the_end_of_a_text_in_python_stays(tools: Tools) -> None:
    text = "<tool_call>\n{'name': 'search_code', 'arguments': {'pattern': 'a \\\\', 'max_results': 3}}\n</tool_call>"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "a \\", "max_results": 3})]


def test_a_quoted_value_below_a_label_has_escapes(tools: Tools) -> None:
    text = '```yaml\ntool: search_code\nargs:\n  pattern: "a \\"b\\" C:\\\\new"\n  max_results: 3\n```'
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": 'a "b" C:\\new', "max_results": 3})]


@pytest.mark.parametrize(
    "text",
    [
        f"{CALL} and {OTHER}",
        f"Either {CALL} or\n```json\n{OTHER}\n```",
        "{'name': 'now', 'args': {}} or {'name': 'now', 'args': {'timezone': 'utc'}}",
    ],
)
def test_several_calls_with_words_between_are_all_returned_as_embedded(text: str, tools: Tools) -> None:
    found = calls(text, tools)
    assert [call.standing for call in found] == ["embedded", "embedded"]


def test_a_bad_call_beside_a_good_one_spoils_the_reply(tools: Tools) -> None:
    assert reason(f'{CALL} or {{"tool": "calculator", args: {{}}}}', tools) == "bad_arguments"
    assert reason(f'{CALL} {{"tool": "calculator", args: {{}} + 1}}', tools) == "malformed"


def test_of_two_names_at_one_place_the_longer_counts() -> None:
    path: dict[str, Any] = {"type": "object", "properties": {"path": {"type": "string"}}}
    offered = [Tool("list", "", path, print), Tool("list_files", "", path, print)]
    for text in ("I use list_files → path: a", "İ use list files → path: a"):
        decision = decode_text(text, offered)
        assert isinstance(decision, ToolCalls)
        assert decision.calls == [ToolCall("list_files", {"path": "a"})]


@pytest.mark.parametrize("again", ['now(timezone="utc")\n', '{"name": "now", "arguments": {"timezone": "utc"}}\n'])
def test_a_call_behind_many_that_are_the_same_is_not_lost(again: str, tools: Tools) -> None:
    wanted = [ToolCall("now", {"timezone": "utc"}), ToolCall("calculator", {"expression": "1"})]
    for number in (2, 99, 100, 150, 500):
        assert calls(again * number + 'calculator(expression="1")', tools) == wanted

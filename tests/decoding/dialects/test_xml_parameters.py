"""Arguments each in a tag of its own, typed by the schema; a value is never cut short and never completed."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from micro_agent.decoding import DecodeError, Final, ToolCall, ToolCalls, decode_text
from micro_agent.tools import Tool
from tests.decoding import outcomes
from tests.decoding.outcomes import reason

Read = Callable[..., object]
Tools = Sequence[Tool]
FOUND = [ToolCall("search_code", {"pattern": "x", "max_results": 5})]
KIND = "dialect:xml_parameters"
calls = partial(outcomes.calls, kind=KIND)


QWEN = (
    "<function=search_code>\n<parameter=pattern>\nx\n</parameter>\n"
    "<parameter=max_results>\n5\n</parameter>\n</function>"
)


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{QWEN}\n</tool_call>",
        QWEN,
        f"I search.\n{QWEN}\nThen I answer.",
        f"<seed:tool_call>{QWEN}</seed:tool_call>",
        f"<minimax:tool_call>{QWEN}</minimax:tool_call>",
        QWEN.replace("\n", ""),
        QWEN.replace("\n", "\r\n"),
        QWEN.removesuffix("</function>"),
        QWEN.replace("x\n</parameter>", "x"),
        QWEN.replace("5\n</parameter>\n", "5\n"),
        QWEN.replace("search_code>", "search_code"),
        QWEN.replace("=search_code", ' name="search_code"').replace("=pattern", " name='pattern'"),
        QWEN.replace("function=search_code", 'invoke name="search_code"').replace("</function", "</invoke"),
        '<function_calls><invoke name="search_code"><parameter name="pattern">x</parameter>'
        '<parameter name="max_results">5</parameter></invoke></function_calls>',
        '<｜DSML｜function_calls><｜DSML｜invoke name="search_code"><｜DSML｜parameter name="pattern" string="true">x'
        '</｜DSML｜parameter><｜DSML｜parameter name="max_results" string="false">5</｜DSML｜parameter>'
        "</｜DSML｜invoke>"
        "</｜DSML｜function_calls>",
        '<｜DSML｜invoke name="search_code">\n{"pattern": "x", "max_results": 5}\n</｜DSML｜invoke>',
        '<invoke name="search_code">{"pattern": "x", "max_results": 5</invoke>',
        '<invoke name="search_code">{"pattern": "x", "max_results": 5}',
    ],
)
def test_every_form_of_a_call_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == FOUND


def test_a_name_alone_has_no_arguments(tools: Tools) -> None:
    for text in ("<function=now></function>", "<tool_call><function=now>\n</function></tool_call>"):
        assert calls(text, tools) == [ToolCall("now", {})]


def test_several_calls_are_read_in_order(tools: Tools) -> None:
    text = f"<tool_call>{QWEN}</tool_call>\n<tool_call><function=now></function></tool_call>"
    assert calls(text, tools) == [*FOUND, ToolCall("now", {})]
    unclosed = (
        "<function=calculator><parameter=expression>1</function><function=now><parameter=timezone>utc</parameter>"
    )
    assert calls(unclosed, tools) == [ToolCall("calculator", {"expression": "1"}), ToolCall("now", {"timezone": "utc"})]


@pytest.mark.parametrize(
    "value",
    ["5", "null", "true", '{"a": 1}', " indented", "two\n\nlines ", "", "a < b > c", "</parameter> b", "<parameter=z>1",
     "x </function> y", "I call <function=now>", "'it'", "\n\nx\n\n"],
)  # fmt: skip
def test_text_stays_as_it_is(value: str, tools: Tools) -> None:
    text = f"<function=search_code>\n<parameter=pattern>\n{value}\n</parameter>\n</function>"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": value})]


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "integer"}, " 5 ", 5),
        ({"type": "integer"}, "five", "five"),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "2", 2),
        ({"type": "number"}, "two", "two"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, "yes", "yes"),
        ({"type": "array"}, "[1, 2,]", [1, 2]),
        ({"type": "array"}, "['a', None]", ["a", None]),
        ({"type": "object"}, '{"a": {"b": 1}}', {"a": {"b": 1}}),
        ({"type": "object"}, "{not json", "{not json"),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "nullify", "nullify"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "7a", "7a"),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, '{"a": 1}', {"a": 1}),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"const": None}, "None", None),
        ({"$ref": "#/$defs/count"}, "3", 3),
        ({"items": {"type": "integer"}}, "[1]", [1]),
        ({"type": "null"}, "x", "x"),
        ({}, "5", 5),
        ({}, '{"a": 1}', {"a": 1}),
        ({}, "True", True),
        ({}, "None", None),
        ({}, '"quoted"', '"quoted"'),
        ({}, "words", "words"),
    ],
)
def test_values_have_the_type_that_the_schema_says(schema: dict[str, Any], written: str, value: Any) -> None:
    defs = {"count": {"type": "integer"}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}]}}
    tool = Tool("put", "", {"type": "object", "properties": {"v": schema}, "$defs": defs}, print)
    text = f"<function=put><parameter=v>{written}</parameter></function>"
    decision = decode_text(text, [tool])
    if isinstance(decision, DecodeError):
        assert decision.reason == "bad_arguments"
        assert isinstance(value, str)
    else:
        assert calls(text, [tool]) == [ToolCall("put", {"v": value})]


def test_an_argument_that_the_schema_does_not_name_is_read_as_if_nothing_were_known(tools: Tools) -> None:
    assert calls("<function=store><parameter=x>5</parameter></function>", tools) == [ToolCall("store", {"x": 5})]


def test_with_unknown_tools_numbers_and_json_words_are_read() -> None:
    text = "<function=f><parameter=a>5</parameter><parameter=b>x</parameter><parameter=c>null</parameter></function>"
    assert calls(text, None) == [ToolCall("f", {"a": 5, "b": "x", "c": None})]


@pytest.mark.parametrize(
    "text",
    [
        "<function=search_code><parameter=pattern>x",
        "<function=search_code><parameter=pattern>x</parameter><parameter=max_results>",
        "<tool_call><function=now>",
        '<invoke name="search_code">{"pattern": "x',
        "<function=now>" + "<parameter=timezone>utc</parameter>" * 300,
    ],
)
def test_a_value_without_an_end_is_not_run(text: str, tools: Tools) -> None:
    assert reason(text, tools) in ("malformed", "bad_arguments")
    assert reason(text, tools, "length") == "cut_off"


def test_a_call_that_was_cut_off_between_its_parameters_is_not_run(tools: Tools) -> None:
    text = "<function=search_code><parameter=pattern>x</parameter>\n"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x"})]
    assert reason(text, tools, "length") == "cut_off"


def test_an_object_that_was_cut_off_before_its_last_bracket_is_not_run(tools: Tools) -> None:
    text = '<function=store>{"x": {"y": [1, 2]}'
    assert reason(text, tools, "length") == "cut_off"
    assert calls(text, tools) == [ToolCall("store", {"x": {"y": [1, 2]}})]
    assert calls(f"{text}}}", tools, "length") == [ToolCall("store", {"x": {"y": [1, 2]}})]


def test_a_call_of_no_tool_is_not_run_and_a_tag_in_prose_is_none(tools: Tools) -> None:
    assert reason(QWEN.replace("search_code", "rm"), tools) == "unknown_tool"
    for text in "<parameter=x>1":
        assert decode_text(text, tools) == Final(text)


def test_calls_of_two_forms_in_one_reply_are_not_half_read(tools: Tools) -> None:
    hermes = '<tool_call>{"name": "calculator", "arguments": {"expression": "1"}}</tool_call>'
    pairs = "<tool_call>now<arg_key>timezone</arg_key><arg_value>utc</arg_value></tool_call>"
    python = "<tool_call>now()</tool_call>"
    for other in (f"<tool_call>{QWEN}</tool_call>", pairs, python, "<tool_call><name>now</name></tool_call>"):
        for text in (hermes + other, other + hermes):
            decision = decode_text(text, tools)
            assert not isinstance(decision, ToolCalls) or len(decision.calls) == 2, (text, decision)


QUOTED = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("1+1\n</parameter>", "1+1"),
        ("1+1</parameter></parameter>", "1+1"),
        ("<parameter=x>1</parameter>", "<parameter=x>1</parameter>"),
        ("<parameter=x>1</parameter>\n</parameter>", "<parameter=x>1</parameter>"),
        (f"Write {QUOTED} then.", f"Write {QUOTED} then."),
    ],
)
def test_stray_tags_are_no_part_of_a_value_and_quoted_ones_are(value: str, meant: str, read: Read) -> None:
    text = (
        f"<tool_call>\n<function=calculator>\n<parameter=expression>\n{value}\n</parameter>\n</function>\n</tool_call>"
    )
    assert read(text) == [("calculator", {"expression": meant})]


def test_a_call_behind_a_value_without_an_end_is_no_part_of_it(read: Read) -> None:
    assert read(f"<function=calculator><parameter=expression>1\n{QUOTED}") == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        '<minimax:tool_call>\ninvoke name="calculator">\nparameter name="expression">1+1parameter>\ninvoke>\n'
        "</minimax:tool_call>",
        'invoke name="calculator">\nparameter name="expression">1+1/parameter>\n/invoke>',
        '<tool_call>\ninvoke name="calculator">\nparameter name="expression">1+1</parameter>\n</invoke>\n</tool_call>',
    ],
)
def test_tags_may_lack_their_brackets(text: str, read: Read) -> None:
    assert read(text) == [("calculator", {"expression": "1+1"})]

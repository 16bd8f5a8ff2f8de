"""Name and arguments as elements; an element with a tool's name counts with that tool's arguments inside only."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from micro_agent.decoding import Final, ToolCall, decode_text
from micro_agent.tools import Tool
from tests.decoding import outcomes
from tests.decoding.outcomes import reason

Read = Callable[..., object]
Tools = Sequence[Tool]
calls = partial(outcomes.calls, kind="dialect:xml_elements")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_use><name>search_code</name><arguments>{"pattern": "x<y", "max_results": 5}</arguments></tool_use>',
        '<tool_use><name>search_code</name><arguments>{"pattern": "x<y", "max_results": 5</arguments></tool_use>',
        "<tool_use>\n<name>search_code</name>\n<arguments>\n<pattern>x<y</pattern>\n<max_results>5</max_results>\n"
        "</arguments>\n</tool_use>",
        "<tool_calls><tool_call><tool_name>search_code</tool_name><parameters><pattern>x<y</pattern>"
        "<max_results>5</max_results></parameters></tool_call></tool_calls>",
        "<search_code>\n<pattern>x<y</pattern>\n<max_results>5</max_results>\n</search_code>",
        'I search. <search_code>{"pattern": "x<y", "max_results": 5}</search_code>',
        "<search_code><pattern>x<y</pattern><max_results>5</max_results>",
    ],
)
def test_every_form_of_a_call_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x<y", "max_results": 5})]


def test_a_call_without_arguments_needs_none(tools: Tools) -> None:
    for text in ("<tool_use><name>now</name></tool_use>", "<tool_call><name>now</name></tool_call>", "<now></now>"):
        assert calls(text, tools) == [ToolCall("now", {})]
    assert calls("<tool><name>f</name><args><a>1</a></args></tool>", None) == [ToolCall("f", {"a": 1})]


def test_several_calls_are_read_in_order(tools: Tools) -> None:
    first = "<calculator><expression>1</expression></calculator>"
    second = "<search_code><pattern><now></now></pattern></search_code>"
    assert [call.name for call in calls(f"{first}\n{second}", tools)] == ["calculator", "search_code"]
    named = "<tool_use><name>now</name></tool_use>"
    assert (
        len(calls(f"{named}<tool_use><name>calculator</name><args><expression>1</expression></args></tool_use>", tools))
        == 2
    )


@pytest.mark.parametrize(
    "text",
    [
        "Use <now></now> for it.",
        "Use <search_code>some text</search_code>",
        "<calculator><b>bold</b></calculator>",
        "In <store>, write what you want.",
        "<p><name>now</name></p>",
    ],
)
def test_other_elements_are_the_answer(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


@pytest.mark.parametrize(
    "text",
    [
        "<search_code><pattern>x",
        "<tool_use><name>search_code</name><arguments><pattern>x</pattern><max_results>",
        '<tool_use><name>search_code</name><arguments>{"pattern": "x',
    ],
)
def test_what_has_no_end_is_not_run(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "malformed"
    assert reason(text, tools, "length") == "cut_off"


def test_a_call_inside_an_argument_is_text(tools: Tools) -> None:
    inside = "<tool><name>now</name></tool>"
    text = f'<tool><name>store</name><args>{{"x": "{inside}"}}</args></tool>'
    assert calls(text, tools) == [ToolCall("store", {"x": inside})]
    text = f"<tool><name>search_code</name><args><pattern>{inside}</pattern></args></tool>"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": inside})]


def test_more_elements_than_any_tool_has_are_not_run(tools: Tools) -> None:
    text = "<now>" + "<timezone>utc</timezone>" * 300 + "</now>"
    assert reason(text, tools) == "malformed"


def test_a_reply_that_was_cut_off_between_elements_is_not_run(tools: Tools) -> None:
    text = "<search_code><pattern>x</pattern>"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x"})]
    assert reason(text, tools, "length") == "cut_off"
    named = "<tool_use><name>search_code</name><arguments><pattern>x</pattern>"
    assert reason(named, tools, "length") == "cut_off"


def test_closing_tags_too_many_are_no_part_of_a_value(read: Read) -> None:
    assert read("<calculator><expression>1+1</expression></expression></calculator>") == [
        ("calculator", {"expression": "1+1"})
    ]
    assert read('<tool_call name="calculator"><expression>1+1</expression>\n</expression></tool_call>') == [
        ("calculator", {"expression": "1+1"})
    ]


def test_a_call_quoted_in_an_element_is_text(read: Read) -> None:
    quoted = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
    assert read(f"<calculator><expression>see {quoted} there</expression></calculator>") == [
        ("calculator", {"expression": f"see {quoted} there"})
    ]


def test_a_text_alone_in_the_tag_of_a_tool_is_its_only_argument(read: Read) -> None:
    assert read("<calculator> 1+1 </calculator>") == [("calculator", {"expression": "1+1"})]
    assert read("I add.\n<calculator>1+1</calculator>\n") == [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    "text",
    [
        "Write <calculator>1+1</calculator>",
        "<calculator>1+1</calculator>\nis how it is written.",
        "<calculator>expression</calculator>",
        "<calculator>...</calculator>",
        "<calculator>1+1",
        "<calculator></calculator> adds.",
    ],
)
def test_a_text_in_a_tag_that_may_only_show_it_is_no_argument(text: str, read: Read) -> None:
    assert read(text) == (text,)

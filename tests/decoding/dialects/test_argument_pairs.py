"""``<tool_call>name<arg_key>…</arg_key><arg_value>…</arg_value></tool_call>``, as GLM writes it."""

from collections.abc import Sequence
from functools import partial

import pytest

from micro_agent.decoding import Final, ToolCall, ToolCalls, decode_text
from micro_agent.tools import Tool
from tests.decoding import outcomes
from tests.decoding.outcomes import reason

Tools = Sequence[Tool]
calls = partial(outcomes.calls, kind="dialect:argument_pairs")
GLM = (
    "<tool_call>search_code\n<arg_key>pattern</arg_key>\n<arg_value>x</arg_value>\n"
    "<arg_key>max_results</arg_key>\n<arg_value>5</arg_value>\n</tool_call>"
)


@pytest.mark.parametrize(
    "text",
    [
        GLM,
        GLM.replace("\n", ""),
        f"I look.\n{GLM}",
        GLM.removesuffix("</tool_call>"),
        GLM.replace("x</arg_value>", "x"),
        GLM.replace("5</arg_value>", "5"),
        GLM.replace("</arg_key>", ""),
        GLM + GLM[:0],
    ],
)
def test_every_form_of_a_call_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x", "max_results": 5})]


def test_a_name_alone_has_no_arguments_and_several_calls_stay_in_order(tools: Tools) -> None:
    assert calls("<tool_call>now</tool_call>", tools) == [ToolCall("now", {})]
    assert [call.name for call in calls(f"{GLM}\n<tool_call>now\n</tool_call>", tools)] == ["search_code", "now"]
    open_call = GLM.replace("5</arg_value>\n", "6")
    assert [call.args["max_results"] for call in calls(f"{open_call}{GLM}", tools)] == [6, 5]


@pytest.mark.parametrize(
    "value",
    [
        "5",
        " a ",
        "two\nlines",
        "x </arg_value> y",
        "x <arg_key> y",
        "</tool_call> y",
        "<tool_call>now</tool_call> y",
        "",
    ],
)
def test_text_stays_as_it_is(value: str, tools: Tools) -> None:
    text = f"<tool_call>search_code<arg_key>pattern</arg_key><arg_value>{value}</arg_value></tool_call>"
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": value})]


def test_a_word_that_is_no_tool_is_no_call(tools: Tools) -> None:
    assert reason("<tool_call>Rome</tool_call>", tools) == "malformed"
    assert reason(GLM.replace("search_code", "Rome"), tools) == "unknown_tool"


def test_what_has_no_end_is_not_run(tools: Tools) -> None:
    for text in ("<tool_call>now<arg_key>timezone</arg_key><arg_value>utc", GLM[:-60]):
        assert reason(text, tools) == "malformed"
        assert reason(text, tools, "length") == "cut_off"
    assert reason(GLM.removesuffix("\n</tool_call>"), tools, "length") == "cut_off"
    many = "<arg_key>timezone</arg_key><arg_value>utc</arg_value>" * 300
    assert reason(f"<tool_call>now{many}", tools) == "malformed"


PAIRS = "<arg_key>pattern</arg_key><arg_value>x</arg_value><arg_key>max_results</arg_key><arg_value>5</arg_value>"


@pytest.mark.parametrize(
    "text",
    [
        f"search_code{PAIRS}</tool_call>",
        f"I look.\nsearch_code\n{PAIRS}",
        f"I look.</think>search_code{PAIRS}</tool_call>",
        f"<tool_call>search_code</arg_value>{PAIRS}</tool_call>",
        f"<tool_call><name>search_code</name>{PAIRS}</tool_call>",
        f"<user>search_code\n{PAIRS}\n</user>",
        f"<coder_tool_call>search_code{PAIRS}</coder_tool_call>",
        "<tool_call>search_code" + PAIRS.replace("pattern", '"pattern"') + "</tool_call>",
        "<tool_call>search_code" + PAIRS.replace("<arg_value>x", "x") + "</tool_call>",
    ],
)
def test_tags_that_are_missing_or_too_many_are_no_obstacle(text: str, tools: Tools) -> None:
    assert calls(text, tools) == [ToolCall("search_code", {"pattern": "x", "max_results": 5})]


def test_a_stray_tag_ends_a_call_without_arguments(tools: Tools) -> None:
    for text in ("<tool_call>now</arg_value>", "<tool_call>now</arg_key></tool_call>"):
        assert calls(text, tools) == [ToolCall("now", {})]


def test_a_word_before_pairs_that_is_no_tool_is_no_call(tools: Tools) -> None:
    text = "The format is name<arg_key>a</arg_key><arg_value>b</arg_value>, in words."
    assert decode_text(text, tools) == Final(text)


def test_of_two_values_for_one_argument_neither_is_taken(tools: Tools) -> None:
    again = "<arg_key>pattern</arg_key><arg_value>{}</arg_value>"
    for other, is_right in (("y", False), ("x", True)):
        text = f"<tool_call>search_code{again.format('x')}{again.format(other)}</tool_call>"
        assert isinstance(decode_text(text, tools), ToolCalls) is is_right


def test_a_pair_that_is_torn_off_is_not_run(tools: Tools) -> None:
    for torn in ("<arg_", "<arg_key>max", "<arg_key>max_results</arg_key>"):
        text = "<tool_call>search_code<arg_key>pattern</arg_key><arg_value>x</arg_value>" + torn
        assert reason(text, tools) == "malformed"

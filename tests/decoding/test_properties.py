"""What holds for every text and every reply."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.decoding import (
    DecodeError,
    Final,
    ModelReply,
    RawCall,
    ToolCall,
    ToolCalls,
    decode,
    decode_text,
)
from micro_agent.tools import Tool

FRAGMENTS = (
    "{", "}", "[", "]", '"', "'", ":", ",", "\\", '\\"', '{"', '"}', '"tool"', '"name"', '"args"', '"arguments": ',
    '"final"', '{"tool": {"name": ', '"calculator"', "calculator", '"expression": "1+1"', '{"answer": ', "null", "12",
    "-1e999", "NaN", "True", "<think>", "</think>", "```", "```json\n", " ", "\n", "\0", "\ud800", "“", "it's", "text",
    '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}', "{'tool': 'now', 'args': {}}", "// c", "\\u12",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=30).map("".join)
FINISH = st.sampled_from([None, "stop", "length", "tool_calls", "content_filter", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
PROSE = st.text(
    st.characters(exclude_characters='{}[]"<>`', exclude_categories=["Cs", "Pi", "Pf", "Ps", "Pe"]), max_size=60
).filter(lambda text: not re.search(r"^\s*\d|calculator|now", text, re.MULTILINE | re.IGNORECASE))
"""Without a sign of quotation, and without the time at the beginning of a line of a log: both show a call, unmade. And
without the name of a tool: right before an object it is a call of its own, which cannot be read."""
WORDS = st.lists(st.sampled_from([f for f in FRAGMENTS if "calculator" not in f and "now" not in f]), max_size=30)
TOOLS = (
    Tool("calculator", "", {"type": "object", "properties": {"expression": {"type": "string"}}}, print),
    Tool("now", "", {"type": "object", "additionalProperties": True}, print),
)


@settings(max_examples=40)
@given(text=TEXT, finish=FINISH, offered=st.sampled_from([TOOLS, (), None]))
def test_no_text_raises_and_a_call_is_always_one_of_the_tools(
    text: str, finish: str | None, offered: Sequence[Tool] | None
) -> None:
    decision = decode(ModelReply(text=text, finish_reason=finish), offered)
    assert isinstance(decision, ToolCalls | Final | DecodeError)
    if isinstance(decision, ToolCalls):
        assert decision.calls
        assert offered is None or {call.name for call in decision.calls} <= {tool.name for tool in offered}
        json.dumps([call.args for call in decision.calls], allow_nan=False)
    if isinstance(decision, Final):
        assert decision.answer.strip()


@settings(max_examples=40)
@given(
    arguments=TEXT | JSON | st.binary(max_size=5), name=TEXT, finish=FINISH, offered=st.sampled_from([TOOLS, (), None])
)
def test_no_native_call_raises(arguments: Any, name: str, finish: str | None, offered: Sequence[Tool] | None) -> None:
    decision = decode(ModelReply(calls=(RawCall(name, arguments),), finish_reason=finish), offered)
    assert isinstance(decision, ToolCalls | DecodeError)


@settings(max_examples=40)
@given(words=WORDS)
def test_text_without_the_name_of_a_tool_is_no_call(words: list[str]) -> None:
    assert not isinstance(decode_text("".join(words), TOOLS), ToolCalls)


@settings(max_examples=40)
@given(args=st.dictionaries(TEXT, JSON, max_size=4), before=PROSE, after=PROSE, ascii_only=st.booleans())
def test_a_call_in_our_form_is_found_in_any_prose(
    args: dict[str, Any], before: str, after: str, ascii_only: bool
) -> None:
    rendered = json.dumps({"tool": {"name": "now", "args": args}}, ensure_ascii=ascii_only)
    assert decode_text(f"{before}{rendered}{after}", TOOLS) == ToolCalls([ToolCall("now", args)])


@pytest.mark.torture
@settings(max_examples=40)
@given(args=st.dictionaries(TEXT, JSON, max_size=4), data=st.data())
def test_a_call_cut_off_by_the_token_limit_is_never_run(args: dict[str, Any], data: st.DataObject) -> None:
    rendered = json.dumps({"tool": {"name": "now", "args": args}})
    end = data.draw(st.integers(0, len(rendered) - 1))
    cut = ModelReply(text=rendered[:end], finish_reason="length")
    assert not isinstance(decode(cut, TOOLS), ToolCalls)
    native = json.dumps(args)[: data.draw(st.integers(0, len(json.dumps(args)) - 1))]
    assert isinstance(decode(ModelReply(calls=(RawCall("now", native),), finish_reason="length"), TOOLS), DecodeError)


# What begins like markup, or is a placeholder, may be none: see test_what_is_an_answer.py.
ANSWERS = st.text(st.characters(exclude_characters="<[{(.…"), min_size=1).filter(
    lambda text: text.strip(" \n") != "answer"
)


@settings(max_examples=40)
@given(answer=ANSWERS.filter(lambda text: text.strip()))
def test_an_answer_in_our_form_comes_back_whole(answer: str) -> None:
    assert decode_text(json.dumps({"final": {"answer": answer}}), TOOLS) == Final(answer.strip())

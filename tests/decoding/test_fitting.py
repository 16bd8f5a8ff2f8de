"""Arguments of a wrong type, as somebody gets them who reads a reply without the loop."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest

from micro_agent import Tool
from micro_agent.decoding import ModelReply, RawCall, ToolCall, ToolCalls, decode, decode_text
from micro_agent.tools.arguments import check
from micro_agent.tools.faults import Faults

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "loud": {"type": "boolean"},
        "words": {"type": "array", "items": {"type": "string"}},
    },
}


@dataclass(frozen=True)
class Described:
    name: str
    parameters: Mapping[str, Any]


SHOUT = Tool("shout", "Shouts.", PARAMETERS, print)


@pytest.mark.parametrize(
    ("given", "meant", "kind"),
    [
        ('{"count": "3"}', {"count": 3}, "number_string"),
        ('{"loud": "true"}', {"loud": True}, "boolean_string"),
        ('{"words": "hey"}', {"words": ["hey"]}, "wrapped_in_list"),
    ],
)
def test_what_the_schema_leaves_one_reading_of_is_brought_to_it_and_recorded(given: str, meant: Any, kind: str):
    text = f'{{"name": "shout", "arguments": {given}}}'
    read = decode_text(text, [SHOUT])
    assert isinstance(read, ToolCalls)
    assert read.calls == [ToolCall("shout", meant)]
    assert [one.kind for one in read.repairs] == [kind]
    assert decode(ModelReply(text=text), [SHOUT]) == read


def test_native_calls_as_well():
    read = decode(ModelReply(calls=(RawCall("shout", '{"count": "3"}', "c1"),)), [SHOUT])
    assert isinstance(read, ToolCalls)
    assert read.calls == [ToolCall("shout", {"count": 3}, "c1")]


@pytest.mark.parametrize(
    "args", ['{"count": "many"}', '{"count": "many", "loud": "true", "volume": 11}', '{"volume": 11}']
)
def test_what_cannot_be_is_left_as_the_model_gave_it(args: str):
    read = decode(ModelReply(calls=(RawCall("shout", args, "c1"),)), [SHOUT])
    asis = decode(ModelReply(calls=(RawCall("shout", args, "c1"),)), [SHOUT], coerce=False)
    assert read == asis
    assert isinstance(read, ToolCalls)


def test_an_argument_that_the_schema_does_not_mention_keeps_no_other_from_its_type():
    read = decode(ModelReply(calls=(RawCall("shout", '{"volume": 11, "count": "3"}', "c1"),)), [SHOUT])
    assert isinstance(read, ToolCalls)
    assert read.calls == [ToolCall("shout", {"count": 3, "volume": 11}, "c1")]
    assert [one.kind for one in read.repairs] == ["number_string"]


def test_without_tools_nothing_is_known_of_types():
    read = decode_text('{"name": "shout", "arguments": {"count": "3"}}', None)
    assert isinstance(read, ToolCalls)
    assert read.calls == [ToolCall("shout", {"count": "3"})]


def test_the_loop_does_it_itself():
    read = decode(ModelReply(text='{"name": "shout", "arguments": {"count": "3"}}'), [SHOUT], coerce=False)
    assert isinstance(read, ToolCalls)
    assert (read.calls, read.repairs) == ([ToolCall("shout", {"count": "3"})], [])


@pytest.mark.parametrize("written", ["3.10", "1.0", "1e3", "2.50", "0.30000000000000000001", "-1.20"])
@pytest.mark.parametrize(
    "said",
    [
        '<tool_call>{{"name": "shout", "arguments": {{"words": [{0}]}}}}</tool_call>',
        '{{"name": "shout", "arguments": {{words: [{0}]}}}}',
        "shout(words=[{0}])",
    ],
    ids=["markup", "loose", "python"],
)
def test_a_number_that_is_due_as_text_keeps_its_digits(said: str, written: str):
    read = decode_text(said.format(written), [SHOUT])
    assert isinstance(read, ToolCalls)
    assert [call.args for call in read.calls] == [{"words": [written]}]
    assert "number_to_string" in [one.kind for one in read.repairs]


def test_and_in_a_call_of_the_wire():
    read = decode(ModelReply(calls=(RawCall("shout", '{"words": [3.10], "count": 1.10}', "c1"),)), [SHOUT])
    assert isinstance(read, ToolCalls)
    assert read.calls[0].args == {
        "words": [3.1],
        "count": 1.1,
    }  # a fault is left: none is mended


def test_a_number_with_digits_of_its_own_is_described_as_one():
    read = decode(ModelReply(calls=(RawCall("shout", '{"loud": 3.10}', "c1"),)), [SHOUT])
    assert isinstance(read, ToolCalls)
    refused = check(SHOUT, read.calls[0].args)
    assert isinstance(refused, Faults)
    assert "number 3.1" in str(refused.faults)


def test_in_markup_that_has_no_types_such_a_number_is_one():
    scale = Tool("scale", "Scales.", {"type": "object", "properties": {"by": {"type": "number"}}}, print)
    read = decode_text("<function=scale><parameter=by>2.50</parameter></function>", [scale])
    assert isinstance(read, ToolCalls)
    assert [call.args for call in read.calls] == [{"by": 2.5}]


def test_a_schema_that_is_no_plain_object_is_looked_at_as_well():
    spec = Described("shout", MappingProxyType(PARAMETERS))
    for _ in range(2):
        read = decode(ModelReply(calls=(RawCall("shout", '{"count": "3"}', "c1"),)), [spec])
        assert isinstance(read, ToolCalls)
        assert read.calls == [ToolCall("shout", {"count": 3}, "c1")]

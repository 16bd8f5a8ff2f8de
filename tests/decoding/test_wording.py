"""An error says what was seen and what to write instead, shortly enough for a small model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from micro_agent.decoding import DecodeError, ModelReply, ToolCalls, decode, decode_text
from micro_agent.tools import Tool


@dataclass(frozen=True)
class Described:
    """A tool that is only described, as another library would."""

    name: str
    parameters: Mapping[str, Any]


def failed(text: str, tools: Sequence[Tool | Described] | None, finish: str | None = None) -> DecodeError:
    decision = decode(ModelReply(text=text, finish_reason=finish), tools)
    assert isinstance(decision, DecodeError)
    return decision


def test_the_message_names_the_place_and_shows_the_form_of_the_tool_that_was_meant(tools: Sequence[Tool]) -> None:
    found = failed('{"tool": "calculator", "args": {"expression": 1 1}}', tools)
    assert found.seen == (
        'Text that starts with \'{"tool": "calculator", "ar…ssion": 1 1}}\' and cannot be read: '
        "expecting ',' delimiter at character 48."
    )
    assert found.expected == (
        'Reply with one JSON object and nothing else: {"tool": {"name": "calculator", "args": {"expression": '
        '"<text>"}}} or {"final": {"answer": "<text>"}}. Tools: calculator, now, search_code, add, store.'
    )


def test_a_hint_goes_before_the_form(tools: Sequence[Tool]) -> None:
    assert failed("So", tools, "length").expected.startswith("Be shorter. Reply with one JSON object")
    assert failed("So", [], "length").expected == "Be shorter. There are no tools. Answer the question in plain text."
    assert "ending in 'So'" in failed("So", tools, "length").seen


def test_unknown_tools_are_not_listed() -> None:
    assert failed("", None).expected.endswith(
        '"<tool name>", "args": {<arguments>}}} or {"final": {"answer": "<text>"}}.'
    )


def test_bad_arguments_are_named(tools: Sequence[Tool]) -> None:
    assert "'timezone'" in failed('{"name": "now", "arguments": {"timezone": [1]}}', tools).seen


@pytest.mark.parametrize("count", [1, 5, 500])
def test_what_is_expected_stays_under_300_characters(count: int) -> None:
    properties = {f"a_rather_long_argument_{i}": {"type": ["string", "null"]} for i in range(9)}
    for required in ([], ["a_rather_long_argument_3"], list(properties), True):
        schema = {"type": "object", "properties": properties, "required": required}
        offered = [Described("a_tool_with_a_name_" + "x" * 40 + str(i), schema) for i in range(count)]
        found = failed(f'{{"name": "{offered[0].name}", "arguments": {{}} + 1}}', offered)
        assert len(found.expected) < 300
        assert f'"name": "{offered[0].name}"' in found.expected
        assert '{"final": {"answer": "<text>"}}. Tools: a_tool' in found.expected
        assert found.expected.endswith(" more.") == (count > 1)


def test_a_described_tool_is_checked_like_any_other() -> None:
    lookup = Described("lookup", {"properties": {"id": {"type": "integer"}}, "required": ["id"]})
    assert isinstance(decode_text('{"name": "lookup", "arguments": {"id": 3}}', [lookup]), ToolCalls)
    assert failed('{"name": "lookup", "arguments": {}}', [lookup]).reason == "bad_arguments"


def test_a_schema_that_is_none_refuses_nothing() -> None:
    odd = Described("odd", {"type": "dict", "properties": {"id": {}}})
    assert isinstance(decode_text('{"name": "odd", "arguments": {"id": 3}}', [odd]), ToolCalls)
    assert '{"id": <value>}' in failed('{"name": "odd", "arguments": {"id": 1 1}}', [odd]).expected

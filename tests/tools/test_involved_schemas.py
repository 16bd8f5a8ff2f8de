"""Schemas and arguments that would take for ever to check are refused soon, and are never taken unseen."""

import json
import re
from typing import Any

import pytest

from micro_agent.decoding import ModelReply, ToolCalls, decode
from micro_agent.errors import ToolDefinitionError
from micro_agent.tools import Tool, check
from micro_agent.tools.arguments import Accepted, Faults

UNCHECKED = "the arguments cannot be checked within 0.5 s: they or their schema are too involved"
AMBIGUOUS = "^(a|aa)+$"
LONG = "a" * 3000 + "b"


def made(properties: dict[str, Any], **more: Any) -> Tool:
    return Tool("f", "", {"type": "object", "properties": properties, **more}, lambda **args: args)  # pyright: ignore


def doubling(key: str, depth: int = 40) -> dict[str, Any]:
    defs: dict[str, Any] = {"d0": {"type": "integer"}}
    for n in range(depth):
        below = {"$ref": f"#/$defs/d{n}"}
        defs[f"d{n + 1}"] = {key: [below, {"title": "the same", **below}]}
    return {"$defs": defs, "properties": {"x": {"$ref": f"#/$defs/d{depth}"}}}


DRAFT7 = {"$schema": "http://json-schema.org/draft-07/schema#", "pattern": AMBIGUOUS}
INVOLVED: dict[str, tuple[Tool, dict[str, Any]]] = {
    "a pattern": (made({"x": {"type": "string", "pattern": AMBIGUOUS}}), {"x": LONG}),
    "the same by reference": (made({"x": {"$ref": "#/$defs/d"}}, **{"$defs": {"d": DRAFT7}}), {"x": LONG}),
    "unevaluatedProperties": (made({}, patternProperties={AMBIGUOUS: {}}, unevaluatedProperties=False), {LONG: 1}),
    "anyOf": (made(**doubling("anyOf")), {"x": "no"}),
    "the same object twice": (
        made({"x": {"anyOf": [{"items": {"$ref": "#/properties/x"}, "type": "array"}] * 2 + [{"const": 0}]}}),
        {"x": [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]},
    ),
}


@pytest.mark.parametrize("what", INVOLVED)
def test_arguments_that_cannot_be_checked_are_refused(what: str) -> None:
    tool, args = INVOLVED[what]
    checked = check(tool, args)
    assert isinstance(checked, Faults)
    assert checked.message == UNCHECKED


@pytest.mark.parametrize("what", ["a pattern", pytest.param("anyOf", marks=pytest.mark.torture)])
def test_a_reply_is_read_although_its_arguments_cannot_be_checked(what: str) -> None:
    tool, args = INVOLVED[what]
    decision = decode(ModelReply(text=json.dumps({"tool_calls": [{"name": "f", "args": args}]})), [tool])
    assert isinstance(decision, ToolCalls)
    assert [call.args for call in decision.calls] == [args]


def test_many_items_that_no_sorting_tells_apart_are_compared_once() -> None:
    unique = made({"x": {"uniqueItems": True}})
    many: list[Any] = [{"a": [n]} for n in range(5_000)]
    assert isinstance(check(unique, {"x": many}), Accepted)
    assert isinstance(check(unique, {"x": [*many, {"a": [7.0]}]}), Faults)


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True, "1", 1.5, None, [1], [True], {"a": 1}, {"a": True}, [], {}], True),
        ([0, False, 0.5, "0"], True),
        ([1, 1.0], False),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        (["a", "b", "a"], False),
    ],
)
def test_items_are_equal_as_json_says(items: list[Any], unique: bool) -> None:
    assert isinstance(check(made({"x": {"uniqueItems": True}}), {"x": items}), Accepted) is unique


def test_very_many_unknown_arguments_are_named_up_to_a_number() -> None:
    tool = made({f"k{n}": {} for n in range(300)})
    checked = check(tool, {f"z{n}": 1 for n in range(20_000)})
    assert isinstance(checked, Faults)
    assert len(checked.faults) == 50


# What is typical: patterns as pydantic, OpenAPI documents and MCP servers have them, with what fits and what does not.
TYPICAL: list[tuple[str, list[str], list[str]]] = [
    (r"^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$", ["12.50", "-0.1", "+3", "9" * 200], ["", "+", "1e5", "1.2.3", "a"]),
    (r"^(?!^[-+.]*$)[+-]?0*(?:\d{0,8}|(?=[\d.]{1,11}0*$)\d{0,8}\.\d{0,2}0*$)", ["1.25", "12345678"], [".", "-"]),
    (r"^[A-Z]{3}$", ["EUR"], ["EURO", "eur", "EUR\n"]),
    (r"^\d{4}-\d{2}-\d{2}$", ["2026-11-22"], ["2026-1-2", "2026-11-22\n"]),
    (r"^P(?!$)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?$", ["P3DT4H", "P1Y"], ["P", "P1DT"]),
    (r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
     ["123e4567-e89b-42d3-a456-426614174000"], ["123e4567"]),
    (r"^(([^<>()[\]\.,;:\s@\"]+(\.[^<>()[\]\.,;:\s@\"]+)*)|(\".+\"))@(([^<>()[\]\.,;:\s@\"]+\.)+[^<>()[\]\.,;:\s@\"]{2,})$",
     ["ann.lee@example.com"], ["ann@", "a" * 200, "a.b" * 50 + "@" + "c." * 50]),
    (r"^([a-z]+\.?)+@example\.com$", ["ann.lee@example.com"], ["ann.lee@example.org", "a" * 5000]),
    (r"^https?://[^\s/$.?#].[^\s]*$", ["https://example.com/a?b=c"], ["ftp://x", "https:// x"]),
    (r"^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$", ["10.0.0.255"], ["10.0.0.256", "10.0.0"]),
    (r"^(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$", ["Passw0rdd"], ["password", "P1"]),
    (r"^[a-z0-9]+(?:-[a-z0-9]+)*$", ["a-slug-1"], ["a--b", "-a"]),
    (r"^#(?:[0-9a-fA-F]{3}){1,2}$", ["#fff", "#00ff00"], ["#ffff", "fff"]),
    (r"^[\p{L}\p{M}' -]+$", ["José O'Neil"], ["J0sé"]),
    (r"TODO|FIXME", ["a TODO here"], ["todo"]),
    (r"^[^$]*[$]$", ["100$"], ["$100"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "good", "bad"), TYPICAL)
def test_typical_patterns_tell_what_fits(pattern: str, good: list[str], bad: list[str]) -> None:
    tool = made({"x": {"type": "string", "pattern": pattern}})
    assert [text for text in good if not isinstance(check(tool, {"x": text}), Accepted)] == []
    faults = [check(tool, {"x": text}) for text in bad]
    assert all(isinstance(found, Faults) and "does not match" in found.message for found in faults)


def test_unknown_names_are_told_by_the_patterns_too() -> None:
    tool = made({"x": {"patternProperties": {"^p_": {"type": "integer"}}, "additionalProperties": False}})
    assert isinstance(check(tool, {"x": {"p_1": 1}}), Accepted)
    checked = check(tool, {"x": {"p_1": 1, "q": 2}})
    assert isinstance(checked, Faults)
    assert checked.message == "unknown argument 'x.q'; no arguments are allowed"


@pytest.mark.parametrize("pattern", ["((a{1000}){1000}){10}", "(a", "a" * 20_000])
def test_a_pattern_that_cannot_be_searched_is_refused_with_the_tool(pattern: str) -> None:
    message = f"tool 'f': parameters.properties.x.pattern is not legal JSON Schema: '{re.escape(pattern[:100])}"
    with pytest.raises(ToolDefinitionError, match=message):
        made({"x": {"pattern": pattern}})


def test_a_schema_that_is_nested_too_deeply_is_refused_with_the_tool() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"allOf": [deep]}
    with pytest.raises(ToolDefinitionError, match="nested too deeply"):
        made({"x": deep})


@pytest.mark.parametrize("around", range(8))
def test_references_in_a_circle_refuse_the_arguments_wherever_the_stack_ends(around: int) -> None:
    """At some depths it ended in a map of jsonschema's, in Rust, which panics past every ``except Exception``."""
    circular = made({"x": {"$ref": "#/$defs/d"}}, **{"$defs": {"d": {"not": {"$ref": "#/$defs/d"}}}})

    def deeper(frames: int) -> object:
        return deeper(frames - 1) if frames else check(circular, {"x": 1})

    assert isinstance(deeper(around), Faults)

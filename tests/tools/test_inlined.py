# pyright: reportUnknownMemberType=false
"""Definitions in the place of references: what a model is shown, on the wire, in the prompt and in hints."""

import dataclasses
import enum
import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from micro_agent import MicroAgent, Tool, tool
from micro_agent.errors import ToolDefinitionError
from micro_agent.run import Mode
from micro_agent.testing import ScriptedLM, call, decision, final, text
from micro_agent.tools.form import call_form
from micro_agent.tools.inlined import MAX_GROWTH, inlined, moved
from micro_agent.tools.keywords import bounded_validator
from micro_agent.wires import decision_schema


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Shape(BaseModel):
    corners: list[Point]
    color: Color = Color.RED


class Node(BaseModel):
    value: int
    children: list["Node"] = []


@tool
def paint(
    shape: Shape, color: Annotated[Color, Field(description="Which.")] = Color.BLUE, on: Color | None = None
) -> str:
    """Paint a shape."""
    return f"{shape} {color} {on}"


@tool
def grow(tree: Node, color: Color) -> str:
    """Grow a tree."""
    return f"{tree} {color}"


COLOR = {"enum": ["red", "blue"], "type": "string"}
POINT = {
    "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
    "required": ["x"],
    "type": "object",
}


def whole(properties: dict[str, Any], **defs: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "$defs": defs}


def ref(name: str, **beside: Any) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}", **beside}


def shown(mode: Mode, *tools: Tool) -> str:
    """Everything that a request says of the tools."""
    lm = ScriptedLM([text("Done.") if mode == "native" else final("Done.")], mode=mode)
    MicroAgent(list(tools), lm, mode, [], demos=[]).ask("?")
    (request,) = lm.requests
    told: Any = [[one.parameters for one in request.tools], request.config.response_format, request.system]  # pyright: ignore
    return json.dumps(told)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_model_is_shown_definitions_and_no_references(mode: Mode) -> None:
    said = shown(mode, paint)
    assert "$ref" not in said
    assert "$defs" not in said
    assert "Shape" not in said
    properties = paint.schema.inlined["properties"]
    assert properties["shape"]["properties"] == {
        "corners": {"items": POINT, "type": "array"},
        "color": {**COLOR, "default": "red"},
    }
    assert properties["color"] == {**COLOR, "default": "blue", "description": "Which."}
    assert properties["on"]["anyOf"] == [COLOR, {"type": "null"}]


@pytest.mark.parametrize("mode", ["native", "json"])
def test_what_contains_itself_stays_a_reference(mode: Mode) -> None:
    found = grow.schema.inlined
    assert found["properties"] == {"tree": ref("Node"), "color": COLOR}
    assert list(found["$defs"]) == ["Node"]
    assert "#/$defs/" in shown(mode, grow)


def test_arguments_are_converted_and_checked_as_before() -> None:
    args = {"shape": {"corners": [{"x": 1}]}, "color": "red"}
    wrong: dict[str, Any] = {"shape": {"corners": [{}]}, "color": "green"}
    lm = ScriptedLM([call("paint", wrong), call("paint", args), text("Done.")])
    run = MicroAgent([paint], lm, "native", []).ask("Paint.")
    refused, done = run.steps
    assert refused.observation["schema"] == paint.schema.inlined
    assert "Color.RED" in str(done.observation)


def test_a_hint_shows_the_values_of_an_enum() -> None:
    assert call_form("grow", grow.parameters) == 'Call grow with {"tree": <object>, "color": <"red" or "blue">}.'
    lm = ScriptedLM([decision("grow", {"color": 1}), final("x")], mode="json")
    MicroAgent([grow], lm, "json", []).ask("Grow.")
    assert '\\"color\\": <\\"red\\" or \\"blue\\">' in json.dumps(lm.messages(1))


@pytest.mark.parametrize(
    ("part", "placeholder"),
    [
        ({"const": "on"}, '<"on">'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, '"<text>"'),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, '"<text>" or <integer>'),
        ({"type": ["integer", "null"]}, "<integer>"),
        ({"anyOf": [{"type": "string"}, {}]}, "<value>"),
        ({"anyOf": [{"type": "null"}]}, "<value>"),
        ({"anyOf": [{"enum": ["a" * 30]}, {"enum": ["b" * 30]}]}, "<value>"),
        ({"$ref": "#/nowhere"}, "<value>"),
        ({"$ref": 7}, "<value>"),
    ],
)
def test_a_hint_has_a_form_for_alternatives(part: Any, placeholder: str) -> None:
    assert call_form("f", {"properties": {"x": part}}) == f'Call f with {{"x": {placeholder}}}.'


def test_what_is_said_beside_a_reference_wins() -> None:
    schema = whole({"x": ref("C", description="Mine.", default=1)}, C={"type": "integer", "description": "Its."})
    assert inlined(schema)["properties"]["x"] == {"type": "integer", "description": "Mine.", "default": 1}


def test_what_is_demanded_beside_a_reference_is_demanded_too() -> None:
    schema = whole({"x": ref("C", maximum=9, allOf=[{"minimum": 3}])}, C={"type": "integer", "minimum": 5})
    assert inlined(schema)["properties"]["x"] == {
        "maximum": 9,
        "allOf": [{"minimum": 3}, {"type": "integer", "minimum": 5}],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"enum": [{"$ref": "#/$defs/x"}], "default": {"$ref": "#"}}}},
        {"type": "object", "properties": {"$ref": {"type": "integer"}}},
        whole({"a": {"$ref": "#/$defs/x"}}, x=True),
        whole({"a": {"$ref": "#here"}}, x={"$anchor": "here", "type": "integer"}),
        whole({"a": ref("x")}, x={"$id": "http://127.0.0.1/x", "type": "integer"}),
        whole({f"a{n}": ref(f"x{n}") for n in range(201)}, **{f"x{n}": {"type": "integer"} for n in range(201)}),
    ],
)
def test_what_cannot_be_written_out_is_left_as_it_is(schema: dict[str, Any]) -> None:
    Tool("f", "", schema, lambda **args: args)  # pyright: ignore
    assert inlined(schema) == schema


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("#/$defs/a~1b%20c", {"type": "integer"}),
        ("#/definitions/d", {"type": "boolean"}),
        ("#/properties/first", {"type": "string"}),
        ("#/properties/pair/prefixItems/1", {"type": "null"}),
    ],
)
def test_any_pointer_into_the_schema_is_followed(reference: str, target: Any) -> None:
    schema = {
        "type": "object",
        "properties": {
            "first": {"type": "string"},
            "pair": {"prefixItems": [{}, {"type": "null"}]},
            "x": {"$ref": reference},
        },
        "$defs": {"a/b c": {"type": "integer"}},
        "definitions": {"d": {"type": "boolean"}},
    }
    found = inlined(schema)
    assert found["properties"]["x"] == target
    assert not {"$defs", "definitions"} & found.keys()


def test_a_definition_inside_one_that_is_written_out_is_not_lost() -> None:
    outer = {"type": "object", "properties": {"me": {"$ref": "#/$defs/Outer/$defs/In"}}, "$defs": {"In": ref("Loop")}}
    schema = whole({"a": ref("Outer")}, Outer=outer, Loop={"type": "array", "items": ref("Loop")})
    found = inlined(schema)
    assert found["properties"]["a"]["properties"]["me"] == ref("Loop")
    assert list(found["$defs"]) == ["Loop"]


def test_definitions_that_double_at_each_level_are_not_written_out_for_ever() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string", "description": "At the bottom."}}
    for n in range(60):
        defs[f"d{n + 1}"] = {"type": "object", "properties": {"left": ref(f"d{n}"), "right": ref(f"d{n}")}}
    schema = whole({"x": ref("d60")}, **defs)
    found = inlined(schema)
    assert len(json.dumps(found)) <= len(json.dumps(schema)) + MAX_GROWTH
    assert Draft202012Validator(found).is_valid({"x": {"left": {}}})
    assert not bounded_validator()(found).is_valid({"x": {"left": {"left": 3}}})


def test_a_long_chain_of_definitions_is_not_written_out_into_the_deep() -> None:
    defs: dict[str, Any] = {f"d{n}": {"properties": {"a": ref(f"d{n + 1}")}} for n in range(150)}
    tool = Tool("f", "", whole({"x": ref("d0")}, d150={"type": "integer"}, **defs), lambda **args: args)  # pyright: ignore
    assert 5 < str(tool.schema.inlined).count("$ref") < 20


def test_a_reference_that_leads_nowhere_is_still_an_error() -> None:
    with pytest.raises(ToolDefinitionError, match="leads nowhere"):
        Tool("f", "", whole({"x": ref("y")}), lambda **args: args)  # pyright: ignore


PARTS = st.recursive(
    st.sampled_from([{"type": "integer"}, {"enum": [1, "a"]}, ref("A"), ref("B", title="b"), ref("C", maximum=3)]),
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "object", "properties": {"a": one}}),
        inner.map(lambda one: {"not": one}), inner.map(lambda one: {"items": one}),
        inner.map(lambda one: {"anyOf": [one, {"type": "null"}]}),
        inner.map(lambda one: {"additionalProperties": one, "required": ["a"]}),
        inner.map(lambda one: ref("A", properties={"a": one}, additionalProperties=False)),
    ),
    max_leaves=5,
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from([None, 1, 5, "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)
RECURSIVE = {"type": "array", "items": ref("C")}


@given(PARTS, PARTS, VALUES)
def test_what_is_written_out_takes_just_what_the_schema_takes(x: Any, inner: Any, value: Any) -> None:
    a: dict[str, Any] = {"type": "object", "properties": {"a": {"anyOf": [inner, {}]}, "b": inner}}
    schema = whole({"x": x}, A=a, B={"type": ["integer", "null"]}, C={"anyOf": [RECURSIVE, {"type": "integer"}]})
    given_args = {"x": value}
    wanted = Draft202012Validator(schema).is_valid(given_args)
    assert Draft202012Validator(inlined(schema)).is_valid(given_args) is wanted
    place = {"properties": {"deep": moved(schema, "#/properties/deep")}}
    assert Draft202012Validator(place).is_valid({"deep": given_args}) is wanted


@given(PARTS, VALUES)
def test_a_decision_holds_to_references_too(x: Any, value: Any) -> None:
    schema = whole({"x": x}, A={"type": "object", "properties": {"a": ref("C")}}, B={}, C={"items": ref("C")})
    one = Tool("take", "", schema, lambda **args: args)  # pyright: ignore
    said = {"tool": {"name": "take", "args": {"x": value}}}
    valid = Draft202012Validator(schema).is_valid({"x": value})
    assert Draft202012Validator(decision_schema([one])).is_valid(said) is valid
    if valid:
        assert Draft202012Validator(decision_schema([one], "plain")).is_valid(said)


def test_what_is_no_schema_of_an_object_is_left_as_it_is() -> None:
    assert moved(True, "#/$defs/look") is True
    nowhere = {"type": "object", "title": "t", "properties": {"a": {"$ref": "#/title/x"}}}
    assert inlined(nowhere) == nowhere

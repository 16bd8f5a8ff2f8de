# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""A tool as a model in JSON mode is told of it: a line and a sentence per argument, as much as its schema says."""

import enum
import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from micro_agent import MicroAgent, Tool, tool
from micro_agent.testing import ScriptedLM, final
from micro_agent.tools.signature import described
from tests.each import each


class Kind(enum.Enum):
    FILE = "file"
    FOLDER = "folder"


class Edit(BaseModel):
    old: Annotated[str, Field(description="What is there.")]
    new: str = ""


def search(  # noqa: D417 the others have no sentence
    path: str,
    kind: Kind,
    edits: list[Edit],
    start: Annotated[int, Field(ge=1)] = 1,
    within: str | None = None,
    only: Literal["a", "b"] = "a",
) -> str:
    """Search for files.

    Args:
        path: Where to begin.
        start: The first line.
    """
    return f"{path} {kind} {edits} {start} {within} {only}"


def made(properties: dict[str, Any], **more: Any) -> Tool:
    schema = {"type": "object", "properties": properties, **more}
    return Tool("f", "Do it.", schema, lambda **args: args)  # pyright: ignore


def test_a_tool_is_a_line_and_a_sentence_for_each_argument_that_has_one() -> None:
    lm = ScriptedLM([final("Done.")], mode="json")
    MicroAgent(tool(search), lm, "json", [], demos=[]).ask("?")
    (request,) = lm.requests
    assert request.system.endswith(  # pyright: ignore
        "Tools (an argument with ? or = may be left out):\n"
        '- search(path: str, kind: "file" | "folder", edits: list[{old: str (What is there.), new: str = ""}], '
        'start: int = 1, within?: str | null, only: "a" | "b" = "a"): Search for files.\n'
        "  path: Where to begin.\n"
        "  start: The first line. (at least 1)"
    )


@each(
    ("part", "line", "sentence"),
    [
        (True, "x?: any", None),
        ({}, "x?: any", None),
        ({"type": "number"}, "x?: float", None),
        ({"type": ["boolean", "null"]}, "x?: bool | null", None),
        ({"const": 7}, "x?: 7", None),
        ({"enum": ["a", None, 1.5]}, 'x?: "a" | null | 1.5', None),
        ({"type": "boolean", "enum": [True]}, "x?: true", None),
        ({"type": "string", "enum": list("abcdefghi")}, "x?: str", f"one of {', '.join(map(json.dumps, 'abcdefghi'))}"),
        ({"type": "array"}, "x?: list", None),
        ({"type": "array", "items": {"type": "integer", "minimum": 0}}, "x?: list[int (at least 0)]", None),
        ({"type": "array", "minItems": 1, "uniqueItems": True}, "x?: list", "at least 1 item; no repeats"),
        ({"type": "object"}, "x?: dict", None),
        ({"type": "object", "additionalProperties": False}, "x?: {}", None),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "x?: dict[str, str]", None),
        (
            {"type": "object", "properties": {"a b": {}, "c": {"default": 1}}, "required": ["a b"]},
            'x?: {"a b": any, c: any = 1}',
            None,
        ),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": True},
            "x?: {a?: null, ...}",
            None,
        ),
        ({"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]}, "x?: int (at most 9) | null", None),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "x?: int", "1 to 5"),
        ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}, "x?: float", "above 0; a multiple of 0.5"),
        ({"type": "string", "pattern": "^a$", "description": "An a."}, "x?: str", "An a. (pattern ^a$)"),
        ({"type": "string", "format": "date", "minLength": 1}, "x?: str", "at least 1 character; format date"),
        ({"type": "string", "examples": ["a", "b"], "deprecated": True}, "x?: str", 'such as "a", "b"; deprecated'),
        ({"type": "string", "title": "X"}, "x?: str", None),
        ({"type": "string", "title": "The unit", "description": "Of it."}, "x?: str", "The unit: Of it."),
        ({"type": "string", "description": "One.\nTwo."}, "x?: str", "One.\n    Two."),
        ({"type": "string", "default": "é"}, 'x: str = "é"', None),
    ],
)
def test_what_a_schema_says_is_said(part: Any, line: str, sentence: str | None) -> None:
    lines = [f"- f({line}): Do it.", *([f"  x: {sentence}"] if sentence else [])]
    assert described(made({"x": part})) == "\n".join(lines)


def test_a_default_of_what_must_be_given_is_said_too() -> None:
    assert described(made({"x": {"type": "integer", "default": 3}}, required=["x"])) == (
        "- f(x: int): Do it.\n  x: default 3"
    )


def test_other_arguments_are_told_of_where_the_schema_takes_them() -> None:
    assert described(made({"x": {"type": "integer"}}, additionalProperties=True)) == "- f(x?: int, ...): Do it."
    assert described(made({}, additionalProperties={"type": "integer"})) == "- f(...: int): Do it."
    assert described(made({}, title="Arguments", additionalProperties=False)) == "- f(): Do it."


@pytest.mark.parametrize(
    "part",
    [
        False,
        {"oneOf": [{"type": "integer"}, {"type": "number"}]},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"type": "array", "items": {"type": "string", "default": "a"}},
        {"not": {"type": "string"}},
        {"type": "integer", "enum": ["a"]},
        {"type": "integer", "enum": [True]},
        {"type": ["array", "null"]},
        {"type": ["array", "null"], "enum": [None]},
        {"type": "string", "description": ""},
        {"type": "object", "properties": {"a": {}}, "required": ["b"]},
        {"$ref": "#"},
    ],
)
def test_what_a_line_cannot_say_is_shown_as_a_schema(part: Any) -> None:
    one = made({"x": part})
    assert described(one) == f"- f: Do it.\n  args: {json.dumps(one.parameters)}"


TEXTS = st.text(max_size=5)
PARTS = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object", ["string", "null"]]),
            "description": TEXTS, "title": TEXTS, "default": TEXTS, "enum": st.lists(TEXTS, min_size=1, unique=True),
            "minimum": st.integers(), "maxLength": st.integers(0, 9), "examples": st.lists(TEXTS),
        },
    ),
    lambda inner: st.one_of(
        st.dictionaries(TEXTS, inner, max_size=3).map(lambda parts: {"type": "object", "properties": parts}),
        inner.map(lambda one: {"type": "array", "items": one}),
        st.lists(inner, min_size=1, max_size=3).map(lambda all_of_them: {"anyOf": all_of_them}),
        inner.map(lambda one: {"additionalProperties": one, "type": "object"}),
    ),
    max_leaves=6,
)  # fmt: skip


def told(schema: Any) -> list[str]:
    """The words that a schema has for a model."""
    found: list[str] = []
    for key, value in schema.items() if isinstance(schema, dict) else ():
        if key in ("description", "title"):
            found += value.split("\n")
        elif key in ("default", "minimum", "maxLength"):
            found.append(json.dumps(value, ensure_ascii=False))
        elif key in ("enum", "examples"):
            found += [json.dumps(one, ensure_ascii=False) for one in value]
        elif key == "properties":
            found += [
                part for name in value for part in (json.dumps(name, ensure_ascii=False)[1:-1], *told(value[name]))
            ]
        elif key == "anyOf":
            found += [word for one in value for word in told(one)]
        elif key in ("items", "additionalProperties"):
            found += told(value)
    return found


@given(st.dictionaries(TEXTS, PARTS, max_size=3))
@example({"": {"title": "\x1f"}})
def test_no_word_is_lost_and_no_schema_is_told_at_greater_length(properties: dict[str, Any]) -> None:
    one = made(properties)
    text = described(one)
    assert len(text) <= len(f"- f: Do it.\n  args: {json.dumps(one.parameters, ensure_ascii=False)}")
    if "\n  args: " not in text:
        for word in told(one.parameters):
            titled = [key for key in properties if key.replace("_", "").casefold() == word.replace("_", "").casefold()]
            assert word in text or titled, word

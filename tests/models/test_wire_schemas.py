# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
r"""The copy of a schema for the wire: it takes what the tool's own takes, and no more of it is changed than must be."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from micro_agent.models.wire_schemas import FORMS, Form, wired, written_out


def valid(schema: Any, value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)


def text(pattern: str, **beside: Any) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, **beside}


def test_verbatim_is_the_schema_itself() -> None:
    schema = {"properties": {"x": True, "y": text(r"\d")}}
    assert wired(schema, "verbatim") is schema


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"], "additionalProperties": False},
        {"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}},
        {"properties": {"x": text("^[a-z_]+[.](?:b|c)$"), "pattern": {"type": "string"}}},
        {"type": "array", "items": [{"type": "string"}, {"$ref": "#"}]},  # draft 7
        {"enum": [{"pattern": "^.$", "items": True}], "default": {"$ref": "#"}, "not": {"pattern": "^.$"}},
    ],
)
def test_what_every_server_takes_is_left_as_it_is(schema: dict[str, Any], form: Form) -> None:
    assert wired(schema, form) is schema


@pytest.mark.parametrize(
    ("pattern", "enforced"),
    [
        (r"^\d{3}$", "^[0-9]{3}$"),
        (r"^[\w.-]+$", "^[A-Za-z0-9_.-]+$"),
        (r"^\w+\.\d$", r"^[A-Za-z0-9_]+\.[0-9]$"),
        (r"^\\d$", r"^\\d$"),
        (r"^[[\d]\d$", "^[[0-9][0-9]$"),
    ],
)
def test_classes_are_written_out(pattern: str, enforced: str) -> None:
    assert written_out(pattern) == enforced


@given(st.text(st.sampled_from("ab0_9-. \t\n\u00a0\u2028é"), max_size=4))
@pytest.mark.parametrize("pattern", [r"^\d\w$", r"^[\d\s]+$", r"^\w+[\s-]\w*$"])
def test_classes_written_out_mean_the_same_but_for_tabs_and_line_ends(pattern: str, given_text: str) -> None:
    before = re.fullmatch(pattern.strip("^$"), given_text, re.ASCII if "s" not in pattern else 0) is not None
    if not given_text.isascii() or re.search(r"[\t\n]", given_text):
        return
    assert (re.fullmatch(written_out(pattern).strip("^$"), given_text) is not None) == before


@pytest.mark.parametrize(
    "pattern", ["^.+$", "^[^@]+$", 'a"b', r"a\\b", r"\n", "[ -~]", r"\D", "(?=a)", r"\u0041", "[A-z]"]
)
def test_a_pattern_for_what_json_escapes_is_told_instead(pattern: str) -> None:
    schema = {"properties": {"x": text(pattern, description="A thing."), "y": text(pattern)}}
    assert wired(schema, "classes") is schema
    copy = wired(schema, "patterns")["properties"]
    assert copy["x"] == {"type": "string", "description": f"A thing. (pattern: {pattern})"}
    assert copy["y"] == {"type": "string", "description": f"pattern: {pattern}"}


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"properties": {"x": True, "y": False}}, {"properties": {"x": {}, "y": {"not": {}}}}),
        ({"prefixItems": [True], "items": False}, {"prefixItems": [{}]}),
        ({"items": True, "contains": {"items": False}}, {"contains": {}}),
        ({"anyOf": [True, {"type": "null"}]}, {"anyOf": [{}, {"type": "null"}]}),
        ({"properties": {"x": {"$ref": "#", "title": "X"}}}, {"properties": {"x": {"title": "X"}}}),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": True}}, {"$defs": {"a/b": {}}}),
        ({"additionalProperties": {"items": False}}, {"additionalProperties": {}}),
        ({"additionalProperties": False, "unevaluatedProperties": True}, None),
    ],
)
def test_plain(schema: dict[str, Any], plain: dict[str, Any] | None) -> None:
    assert wired(schema, "patterns") is schema
    assert wired(schema, "plain") == (schema if plain is None else plain)


SCHEMAS = st.recursive(
    st.sampled_from([
        True, {"type": "integer"}, text("^a.$"), text(r"^\d+$"), {"enum": [1, "a"]}, {"$ref": "#/$defs/a~1b"},
    ]),
    lambda inner: st.one_of(
        inner.map(lambda one: {"properties": {"a": one}}),
        inner.map(lambda one: {"prefixItems": [one], "items": False}),
        inner.map(lambda one: {"items": one}), inner.map(lambda one: {"anyOf": [one, {"type": "null"}]}),
        inner.map(lambda one: {"additionalProperties": one, "required": ["a"]}),
    ),
    max_leaves=6,
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from([None, 1, "a", "ab", "12"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(SCHEMAS, VALUES, st.sampled_from(FORMS))
def test_whatever_the_schema_takes_its_copy_takes(schema: Any, value: Any, form: Form) -> None:
    whole = {"$defs": {"a/b": {"type": "string"}}, "allOf": [schema]}
    if valid(whole, value):
        assert valid(wired(whole, form), value)

"""Arguments: accepted as they are, mended where one reading is left, refused with every fault."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.tools import Tool, check
from micro_agent.tools.arguments import Accepted, Faults, refusal
from tests.each import each


def made(properties: dict[str, Any], more: dict[str, Any] | None = None) -> Tool:
    return Tool("f", "", {"type": "object", "properties": properties, **(more or {})}, print)


WEATHER = made(
    {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1},
        "unit": {"enum": ["Celsius", "Fahrenheit"]},
        "precise": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/$defs/Place"},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "ratio": {"type": "number", "multipleOf": 0.5},
        "level": {"enum": [1, 2, 3]},
        "kind": {"const": "Daily"},
        "box": {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "number"}},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
    },
    {
        "required": ["city"],
        "$defs": {
            "Place": {
                "type": "object",
                "properties": {"lat": {"type": "number"}, "name": {"type": "string"}},
                "required": ["lat"],
                "additionalProperties": False,
            }
        },
    },
)


@pytest.mark.parametrize(
    "args",
    [
        {"city": "Oslo"},
        {"city": "5", "days": 3.0, "unit": "Celsius", "tags": [], "limit": None, "precise": False},
        {"city": "{}", "place": {"lat": 1}, "stops": [{"lat": 1.5, "name": "true"}], "level": 2, "box": [1, 2.5]},
    ],
)
def test_right_arguments_come_back_untouched(args: dict[str, Any]) -> None:
    before = copy.deepcopy(args)
    assert check(WEATHER, args) == Accepted(before)


@each(
    ("args", "mended", "kinds"),
    [
        ('{"city": "Oslo"}', {"city": "Oslo"}, "json_string"),
        ('{"args": {"city": "Oslo", "days": "3"}}', {"city": "Oslo", "days": 3}, "json_string unnested number_string"),
        ({"args": {"city": "Oslo"}}, {"city": "Oslo"}, "unnested"),
        ({"parameters": '{"city": "Oslo"}'}, {"city": "Oslo"}, "unnested"),
        ({"city": "a", "days": "5"}, {"city": "a", "days": 5}, "number_string"),
        ({"city": "a", "days": " +5.0 "}, {"city": "a", "days": 5}, "number_string"),
        ({"city": "a", "ratio": "2.5"}, {"city": "a", "ratio": 2.5}, "number_string"),
        ({"city": "a", "ratio": "2"}, {"city": "a", "ratio": 2}, "number_string"),
        ({"city": "a", "precise": "True"}, {"city": "a", "precise": True}, "boolean_string"),
        ({"city": "a", "precise": 1}, {"city": "a", "precise": True}, "number_to_boolean"),
        ({"city": "a", "limit": "7"}, {"city": "a", "limit": 7}, "number_string"),
        ({"city": "a", "limit": "None"}, {"city": "a", "limit": None}, "null_string"),
        ({"city": "a", "days": None}, {"city": "a"}, "null_dropped"),
        ({"city": 5}, {"city": "5"}, "number_to_string"),
        ({"city": "a", "unit": " celsius"}, {"city": "a", "unit": "Celsius"}, "enum_spelling"),
        ({"city": "a", "kind": "daily"}, {"city": "a", "kind": "Daily"}, "enum_spelling"),
        ({"city": "a", "level": "2"}, {"city": "a", "level": 2}, "enum_spelling"),
        ({"city": "a", "tags": "x"}, {"city": "a", "tags": ["x"]}, "wrapped_in_list"),
        ({"city": "a", "tags": '["x, y"]'}, {"city": "a", "tags": ["x, y"]}, "json_string"),
        ({"city": "a", "tags": "['x, y']"}, {"city": "a", "tags": ["x, y"]}, "python_string"),
        ({"city": "a", "stops": {"lat": 1}}, {"city": "a", "stops": [{"lat": 1}]}, "wrapped_in_list"),
        ({"city": "a", "place": '{"lat": "1.5"}'}, {"city": "a", "place": {"lat": 1.5}}, "json_string number_string"),
        ({"city": "a", "stops": [{"lat": "1"}]}, {"city": "a", "stops": [{"lat": 1}]}, "number_string"),
        ({"city": "a", "box": ["1", ".5e1"]}, {"city": "a", "box": [1, 5.0]}, "number_string number_string"),
    ],
)
def test_what_has_one_reading_is_mended_and_recorded(args: Any, mended: dict[str, Any], kinds: str) -> None:
    before = copy.deepcopy(args)
    accepted = check(WEATHER, args)
    assert isinstance(accepted, Accepted)
    assert (accepted.args, [c["kind"] for c in accepted.coercions]) == (mended, kinds.split())
    assert args == before


def test_a_coercion_says_where_and_what() -> None:
    accepted = check(WEATHER, {"city": "a", "stops": [{"lat": "1.5"}]})
    assert isinstance(accepted, Accepted)
    assert accepted.coercions == [{"path": "stops[0].lat", "from": "1.5", "to": 1.5, "kind": "number_string"}]


@each(
    ("args", "path", "message"),
    [
        ({}, "city", "missing required argument 'city'"),
        ({"city": None}, "city", "argument 'city' must be string, got null"),
        ({"city": True}, "city", "argument 'city' must be string, got boolean true"),
        ({"city": {"value": "x"}}, "city", 'argument \'city\' must be string, got object {"value": "x"}'),
        ({"city": "a", "days": "a few"}, "days", "argument 'days' must be integer, got string 'a few'"),
        ({"city": "a", "days": ""}, "days", "argument 'days' must be integer, got an empty string"),
        ({"city": "a", "days": "2.5"}, "days", "argument 'days' must be integer, got string '2.5'"),
        ({"city": "a", "days": 2.5}, "days", "argument 'days' must be integer, got number 2.5"),
        ({"city": "a", "days": 0}, "days", "argument 'days': integer 0 is less than the minimum of 1"),
        ({"city": "a", "unit": "K"}, "unit", "argument 'unit' must be one of 'Celsius', 'Fahrenheit'; got string 'K'"),
        ({"city": "a", "kind": 3}, "kind", "argument 'kind' must be one of 'Daily'; got integer 3"),
        ({"city": "a", "precise": "yes"}, "precise", "argument 'precise' must be boolean, got string 'yes'"),
        ({"city": "a", "precise": 2}, "precise", "argument 'precise' must be boolean, got integer 2"),
        ({"city": "a", "tags": "x, y"}, "tags", "argument 'tags' must be array, got string 'x, y'"),
        ({"city": "a", "tags": "[oops"}, "tags", "argument 'tags' must be array, got string '[oops'"),
        ({"city": "a", "tags": 7}, "tags", "argument 'tags' must be array, got integer 7"),
        ({"city": "a", "box": 7}, "box", "argument 'box' must be array, got integer 7"),
        ({"city": "a", "limit": "x"}, "limit", "argument 'limit' must be integer or null, got string 'x'"),
        ({"city": "a", "place": {}}, "place.lat", "missing required argument 'place.lat'"),
        ({"city": "a", "place": {"lat": 1, "x": 1}}, "place.x", "unknown argument 'place.x'; allowed: lat, name"),
        ({"city": "a", "stops": [{"lat": 1}, 3]}, "stops[1]", "argument 'stops[1]' must be object, got integer 3"),
        ({"city": "a", "ratio": float("nan")}, "ratio", "argument 'ratio' must be a finite number, got nan"),
        ({"city": "a", "days": 10**5000}, "days", "argument 'days': a number of more than 2000 digits is too long"),
        ([{"city": "a"}], "", 'the arguments must be a JSON object, got array [{"city": "a"}]'),
        ("Oslo", "", "the arguments must be a JSON object, got string 'Oslo'"),
        ('{"city": ', "", "the arguments must be a JSON object, got string '{\"city\": '"),
        (None, "", "the arguments must be a JSON object, got null"),
        ({"input": 3}, "city", "missing required argument 'city'"),
    ],
)
def test_a_fault_names_the_argument(args: Any, path: str, message: str) -> None:
    faults = check(WEATHER, args)
    assert isinstance(faults, Faults)
    assert (faults.faults[0].path, faults.faults[0].message) == (path, message)


def test_all_faults_come_at_once_and_are_those_of_the_arguments_as_given() -> None:
    faults = check(WEATHER, {"days": "5", "unit": "K", "town": "Oslo"})
    assert isinstance(faults, Faults)
    assert {fault.path for fault in faults.faults} == {"days", "unit", "city", "town"}
    assert "must be integer, got string '5'" in faults.message
    assert "unknown argument 'town'; allowed: city, days" in faults.message


def test_a_refusal_gives_the_model_the_schema() -> None:
    faults = check(WEATHER, {})
    assert isinstance(faults, Faults)
    assert refusal(WEATHER, faults) == {
        "error": "VALIDATION_FAILED",
        "message": "missing required argument 'city'",
        "expected": 'Call f with {"city": "<text>"}.',
        "faults": [{"path": "city", "message": "missing required argument 'city'"}],
        "schema": WEATHER.schema.inlined,
    }


def test_many_faults_and_long_ones_are_cut() -> None:
    many: dict[str, Any] = {f"argument_number_{index}": {} for index in range(60)}
    faults = check(made(many), {"x" * 5000: 1, **{f"y{n}": 1 for n in range(50)}})
    assert isinstance(faults, Faults)
    assert len(faults.faults) == 50
    assert len(faults.message) <= 400
    assert faults.message.endswith("; and more")


@pytest.mark.parametrize("says", [{"additionalProperties": True}, {"patternProperties": {"^x": {}}}])
def test_extra_arguments_pass_only_where_the_schema_says_so(says: dict[str, Any]) -> None:
    args = {"a": 1, "xb": 2}
    assert check(made({"a": {}}, says), args) == Accepted(args)
    assert isinstance(check(made({"a": {}}), args), Faults)


def test_a_tool_without_arguments_says_that_it_has_none() -> None:
    faults = check(made({}, {"additionalProperties": False}), {"a": 1})
    assert isinstance(faults, Faults)
    assert faults.message == "unknown argument 'a'; no arguments are allowed"
    unnested: dict[str, Any] = {"path": "", "from": {"args": {}}, "to": {}, "kind": "unnested"}
    assert check(made({}), {"args": {}}) == Accepted({}, [unnested])


def test_names_from_every_branch_of_the_schema_are_known() -> None:
    tool = made(
        {"a": {}},
        {
            "allOf": [{"properties": {"b": {}}}, {"$ref": "#/$defs/more"}, True],
            "dependentSchemas": {"a": {"properties": {"d": {}}}},
            "if": {"required": ["a"]},
            "then": {"properties": {"e": {}}},
            "$defs": {"more": {"properties": {"c": {}}}},
        },
    )
    args = dict.fromkeys("abcde", 1)
    assert check(tool, args) == Accepted(args)
    assert isinstance(check(tool, {"f": 1}), Faults)


def test_a_pattern_names_the_properties_that_are_allowed() -> None:
    tool = made({}, {"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False})
    assert check(tool, {"x_a": 1}) == Accepted({"x_a": 1})
    faults = check(tool, {"x_a": 1, "y": 1})
    assert isinstance(faults, Faults)
    assert [fault.path for fault in faults.faults] == ["y"]


SHAPES = made(
    {
        "shape": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                    "required": ["kind", "r"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "box"}, "w": {"type": "number"}, "h": {"type": "number"}},
                    "required": ["kind", "w", "h"],
                },
                {"type": "null"},
            ]
        },
        "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"enum": ["5"]}}]},
        "pair": {"anyOf": [{"minimum": 10, "type": "integer"}, {"maximum": 0, "type": "integer"}]},
        "both": {"allOf": [{"type": "integer"}], "maximum": 9},
        "args": {"type": "string"},
        "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
        "never": False,
        "code": {"type": "string", "minLength": 2},
        "size": {"enum": ["m", "M", "L"]},
        "untyped": {"items": {"type": "integer"}, "minItems": 1},
    }
)


@pytest.mark.parametrize(
    ("args", "mended"),
    [
        ({"shape": {"kind": "circle", "r": "2"}}, {"shape": {"kind": "circle", "r": 2}}),
        ({"shape": '{"kind": "Box", "w": 1, "h": "2"}'}, {"shape": {"kind": "box", "w": 1, "h": 2}}),
        ({"both": "5"}, {"both": 5}),
        ({"extra": {"a": "1"}}, {"extra": {"a": 1}}),
        ({"untyped": ["1"]}, {"untyped": [1]}),
        ({"never": None}, {}),
    ],
)
def test_alternatives_are_mended_where_one_fits(args: dict[str, Any], mended: dict[str, Any]) -> None:
    accepted = check(SHAPES, args)
    assert isinstance(accepted, Accepted)
    assert accepted.args == mended


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"shape": {"kind": "circle"}}, "missing required argument 'shape.r'"),
        ({"shape": 3}, "argument 'shape' must be object or null, got integer 3"),
        ({"either": "5"}, "argument 'either' must be integer or array, got string '5'"),
        ({"pair": 5}, "argument 'pair': integer 5 is less than the minimum of 10"),
        ({"both": "10"}, "argument 'both' must be integer, got string '10'"),
        ({"args": {"both": 5}}, "argument 'args' must be string, got object"),
        ({"never": 1}, "the arguments: False schema does not allow 1"),
        ({"code": "x"}, "argument 'code': string 'x' is too short"),
        ({"size": " m"}, "argument 'size' must be one of 'm', 'M', 'L'; got string ' m'"),
    ],
)
def test_what_has_two_readings_or_none_is_refused(args: dict[str, Any], message: str) -> None:
    faults = check(SHAPES, args)
    assert isinstance(faults, Faults)
    assert faults.faults[0].message.startswith(message)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "argument 'a': integer 1 is valid under each of"),
        ({"anyOf": [{"type": "integer"}, {"anyOf": [{"type": "null"}]}]}, "x", "argument 'a' must be null, got string"),
        (
            {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]},
            "xy",
            "argument 'a': string 'xy' is too long",
        ),
        ({"anyOf": [False, False]}, 1, "argument 'a': False schema does not allow 1"),
    ],
)
def test_alternatives_are_explained_by_the_one_that_was_meant(
    part: dict[str, Any], value: object, message: str
) -> None:
    faults = check(made({"a": part}), {"a": value})
    assert isinstance(faults, Faults)
    assert faults.message.startswith(message)


def test_more_slips_than_a_model_makes_are_not_mended() -> None:
    numbers = made({"a": {"type": "array", "items": {"type": "integer"}}})
    few, many = ["1"] * 900, ["1"] * 1100
    assert isinstance(check(numbers, {"a": few}), Accepted)
    assert isinstance(check(numbers, {"a": many}), Faults)


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


LOOP = made({"a": {"$ref": "#/$defs/x"}}, {"$defs": {"x": {"$ref": "#/$defs/x"}}})
CIRCLE = made({"a": {}}, {"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"$ref": "#/$defs/x"}}})
MULTIPLES = made({"a": {"type": "number", "multipleOf": 0.1}})


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (WEATHER, {"city": deep(10_000)}),
        (WEATHER, '{"city": ' + "[" * 100_000),
        (WEATHER, '{"city": "a", "tags": ["' + "x" * 100_000),
        (LOOP, {"a": 1}),
        (CIRCLE, {"a": 1}),
        (LOOP, {"a": "1", "b": 1}),
        (MULTIPLES, {"a": 10**400}),
        (MULTIPLES, {"a": '{"a": 1e999}'}),
        (made({"a": {"type": "array", "items": {"type": "integer"}}}), '{"a": [' + "9" * 5000 + "]}"),
    ],
)
def test_no_value_breaks_the_check(tool: Tool, args: Any) -> None:
    faults = check(tool, args)
    assert isinstance(faults, Faults)
    assert 15 <= len(faults.message) <= 400


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(["city", "days"]), inner),
    max_leaves=8,
)
_named = st.fixed_dictionaries({}, optional=dict.fromkeys(WEATHER.parameters["properties"], _json))


@given(st.one_of(_json, _named, _named.map(json.dumps)))
def test_any_json_is_accepted_fully_valid_or_refused_in_words(args: Any) -> None:
    found = check(WEATHER, args)
    if isinstance(found, Faults):
        assert 15 <= len(found.message) <= 400
        return
    assert check(WEATHER, found.args) == Accepted(found.args)
    assert found.coercions or found.args is args


PLAIN = made(
    {
        "text": {"type": "string", "description": "d"},
        "unit": {"type": "string", "enum": ["m", "km"]},
        "level": {"type": "string", "enum": ["low", 1]},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "units": {"type": "array", "items": {"type": "string", "enum": ["m"]}},
        "any": {"type": "array"},
        "lists": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    },
    {"required": ["text"]},
)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["m", "km", "low", "", "x", 0, 1, 1.0, 1.5, True, None, 2**1100, float("inf"), float("nan")]),
    st.lists(st.sampled_from(["m", "x", 1, ["m"]]), max_size=2),
    st.just(["x"] * 100),
)


@given(st.dictionaries(st.sampled_from([*PLAIN.schema.names, "more"]), VALUES, max_size=4))
def test_what_fits_at_a_glance_fits(args: dict[str, Any]) -> None:
    if PLAIN.schema.plainly_fits(args):
        assert [*PLAIN.schema.errors(args)] == []
        assert args.keys() <= set(PLAIN.schema.names)
        assert json.loads(json.dumps(args, allow_nan=False)) == args


def test_texts_numbers_and_lists_of_them_fit_at_a_glance() -> None:
    args = {"text": "x", "unit": "m", "count": 1, "ratio": 1.5, "sure": True, "tags": ["x"], "units": ["m"]}
    assert PLAIN.schema.plainly_fits(args)
    wrong: dict[str, Any] = {
        "unit": "x",
        "count": True,
        "tags": [1],
        "units": ["x"],
        "ratio": 2**1100,
        "more": "x",
        "text": None,
    }
    unclear: dict[str, Any] = {"count": 1.5, "any": [], "lists": [[]], "level": "low", "tags": ["x"] * 100}
    for key, value in [*wrong.items(), *unclear.items()]:
        assert not PLAIN.schema.plainly_fits(args | {key: value})
    assert not PLAIN.schema.plainly_fits({"unit": "m"})

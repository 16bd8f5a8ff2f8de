"""What a Tool is, and what is refused when one is made."""

import copy
import json
import logging
import threading
from typing import Any

import pytest

from micro_agent import MicroAgent
from micro_agent.errors import ToolDefinitionError
from micro_agent.run import MARKERS
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.tools import Tool, check
from micro_agent.tools.arguments import Faults

CITY: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(city: str) -> str:
    return f"sun in {city}"


def make(**changed: Any) -> Tool:
    given: dict[str, Any] = {"name": "weather", "description": "d", "parameters": CITY, "handler": weather} | changed
    return Tool(**given)


def test_the_schema_goes_on_the_wire_as_it_was_given() -> None:
    before = copy.deepcopy(CITY)
    tool = make()
    assert tool.parameters is CITY
    assert before == CITY


def test_it_can_be_called_like_its_function_and_cannot_be_changed() -> None:
    tool = make()
    assert tool("Oslo") == tool(city="Oslo") == "sun in Oslo"
    with pytest.raises(AttributeError):
        tool.name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_copies_are_the_tool_itself_whatever_its_handler_holds() -> None:
    lock = threading.Lock()
    tool = make(handler=lambda city: lock.locked())  # pyright: ignore[reportUnknownLambdaType]
    assert copy.deepcopy({"t": tool})["t"] is tool
    assert copy.copy(tool) is tool


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a/b", "a\n", None, *sorted(MARKERS)])
def test_refuses_a_name_that_no_wire_carries(name: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="cannot be the name of a tool: use 1 to 64"):
        make(name=name)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"description": None}, "description must be text"),
        ({"handler": "weather"}, "handler must be a function"),
        ({"timeout_s": 0}, "timeout_s must be"),
        ({"timeout_s": float("inf")}, "timeout_s must be"),
        ({"timeout_s": "5"}, "timeout_s must be"),
        ({"max_chars": 10}, "max_chars must be"),
        ({"requires_confirmation": "yes"}, "requires_confirmation must be"),
        ({"parameters": None}, "must be a JSON Schema object, got NoneType"),
        (
            {"parameters": {"city": {"type": "string"}}},
            "must have type 'object', got None; write {'type': 'object', 'pr",
        ),
        ({"parameters": {"type": None}}, "must have type 'object', got None"),
        ({"parameters": {"type": ["object", "null"]}}, "must have type 'object', got ['object', 'null']"),
        ({"parameters": {"type": "string"}}, "must have type 'object', got 'string'"),
        (
            {"parameters": {"type": "object", "properties": {"a": {"type": "text"}}}},
            "parameters.properties.a.type is no",
        ),
        ({"parameters": {"type": "object", "properties": {"a": {"pattern": "("}}}}, "parameters.properties.a.pattern"),
        ({"parameters": {"type": "object", "required": "x" * 500}}, "…"),
        ({"parameters": {"type": "object", "default": {1, 2}}}, "cannot be written as JSON"),
        ({"parameters": {"type": "object", "default": float("nan")}}, "cannot be written as JSON"),
        ({"parameters": {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}}}, "/$defs/B' leads nowhere"),
        ({"parameters": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/s"}}}}, "leads nowhere"),
    ],
)
def test_a_fault_is_named_when_the_tool_is_made(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        make(**changed)
    assert says in str(caught.value)
    assert "'weather'" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"description": "Nothing."}, {"type": "object", "description": "Nothing."}),
        ({"properties": {"city": {"type": "string"}}}, {"type": "object", "properties": {"city": {"type": "string"}}}),
        (
            {"$ref": "#/$defs/Args", "$defs": {"Args": {"properties": {"city": {}}, "type": "object"}}},
            {"properties": {"city": {}}, "type": "object"},
        ),
    ],
)
def test_a_schema_without_a_type_is_that_of_an_object(given: dict[str, Any], sent: dict[str, Any]) -> None:
    before = json.dumps(given)
    tool = Tool("weather", "Tell the weather.", given, lambda **args: args)  # pyright: ignore
    lm = ScriptedLM([call("weather", {"city": "Oslo"} if "city" in before else {}), text("Fine.")])
    run = MicroAgent([tool], lm, "native", []).ask("How is it?")
    assert [step.ok for step in run.steps] == [True]
    assert [dict(one.parameters) for one in lm.requests[0].tools] == [sent]  # pyright: ignore
    assert json.dumps(given) == before
    assert isinstance(check(tool, "Oslo"), Faults)


def test_an_async_confirmation_is_refused_since_it_would_always_be_true() -> None:
    async def ask(args: dict[str, Any]) -> bool:
        return False

    with pytest.raises(ToolDefinitionError, match="plain function"):
        make(requires_confirmation=ask)


def test_confirmation_may_depend_on_the_arguments() -> None:
    tool = make(requires_confirmation=lambda args: args["city"] == "Oslo")  # pyright: ignore[reportUnknownLambdaType]
    assert tool.needs_confirmation({"city": "Oslo"})
    assert not tool.needs_confirmation({"city": "Rome"})
    assert not make().needs_confirmation({})
    assert make(requires_confirmation=True).needs_confirmation({})


def test_a_confirmation_that_fails_asks_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    tool = make(requires_confirmation=lambda args: args["street"])  # pyright: ignore[reportUnknownLambdaType]
    with caplog.at_level(logging.WARNING, "micro_agent"):
        assert tool.needs_confirmation({"city": "Oslo"})
    assert "KeyError: 'street'" in caplog.text


def test_knows_whether_its_handler_is_async() -> None:
    async def later(city: str) -> str:
        return city

    class Callable:
        async def __call__(self, city: str) -> str:
            return city

    assert make(handler=later).is_async
    assert make(handler=Callable()).is_async
    assert not make().is_async

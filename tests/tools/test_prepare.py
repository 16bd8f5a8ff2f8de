"""Names that models write, and calls made ready or refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.decoding.decision import ToolCall
from micro_agent.tools import Ready, Refused, Tool, prepare, resolve
from micro_agent.tools.calculator import calculator
from micro_agent.tools.clock import now
from tests.each import each

TOOLS = {"calculator": calculator, "now": now}


@each(
    ("name", "meant"),
    [
        ("get_weather", "get_weather"),
        ("Get-Weather", "get_weather"),
        ("get.weather", "get_weather"),
        ("getWeather", "get_weather"),
        ("get weather", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("default_api.get_weather", "get_weather"),
        ("functions.get_weather:0", "get_weather"),
        ("`get_weather()`", "get_weather"),
        ("get_weather<|channel|>commentary", "get_weather"),
        ("<|channel|>commentary to=functions.get_weather <|message|>", "get_weather"),
        ("<｜tool▁call▁begin｜>get_weather", "get_weather"),
        ("a.b", "a.b"),
        ("a_b", "a_b"),
        ("functions.a_b", "a_b"),
        ("a-b", None),
        ("get", None),
        ("weather_get", None),
        ("", None),
        ("...", None),
        ("<|a.b|>", None),
        ("a_b<|x|>get_weather", None),
        ("x" * 10_000, None),
    ],
)
def test_a_name_is_resolved_when_exactly_one_tool_fits(name: str, meant: str | None) -> None:
    assert resolve(["get_weather", "a.b", "a_b", "_"], name) == meant


@given(st.text(max_size=40))
def test_resolving_gives_a_tool_or_nothing(name: str) -> None:
    assert resolve(TOOLS, name) in (None, "calculator", "now")


def test_a_good_call_is_ready_as_it_stands() -> None:
    args = {"expression": "1+1"}
    ready = prepare(TOOLS, ToolCall("calculator", args, "c1"))
    assert ready == Ready(calculator, args, "c1")
    assert isinstance(ready, Ready)
    assert ready.args is args


def test_what_was_mended_is_recorded_the_name_too() -> None:
    ready = prepare(TOOLS, ToolCall("functions.Calculator", {"args": {"expression": 5}}))
    assert isinstance(ready, Ready)
    assert ready.args == {"expression": "5"}
    assert [c["kind"] for c in ready.coercions] == ["tool_name", "unnested", "number_to_string"]


def test_an_unknown_tool_is_answered_with_the_closest() -> None:
    refused = prepare(TOOLS, ToolCall("calculater", {"expression": "1"}, "c1"))
    assert isinstance(refused, Refused)
    assert (refused.name, refused.args, refused.call_id) == ("calculater", {"expression": "1"}, "c1")
    assert refused.error == "UNKNOWN_TOOL"
    assert refused.observation == {
        "error": "UNKNOWN_TOOL",
        "message": "there is no tool 'calculater'; did you mean 'calculator'? tools: calculator, now",
        "expected": 'Call calculator with {"expression": "<text>"}.',
        "closest": ["calculator"],
        "tools": ["calculator", "now"],
    }


@pytest.mark.parametrize("count", [0, 300])
def test_an_unknown_name_of_any_length_among_any_number_of_tools_stays_short(count: int) -> None:
    tools: dict[str, Tool] = {f"tool_{n:050}": now for n in range(count)}
    refused = prepare(tools, ToolCall("x" * 10_000, {}))
    assert isinstance(refused, Refused)
    assert len(refused.observation["message"]) < 400
    assert len(refused.observation["tools"]) == count


def test_arguments_that_do_not_fit_are_refused_with_the_schema() -> None:
    given: dict[str, Any] = {"expr": "1"}
    refused = prepare(TOOLS, ToolCall("Calculator", given, "c1"))
    assert isinstance(refused, Refused)
    assert (refused.name, refused.args, refused.error) == ("calculator", given, "VALIDATION_FAILED")
    assert "missing required argument 'expression'" in refused.observation["message"]
    assert "unknown argument 'expr'; allowed: expression" in refused.observation["message"]
    assert refused.observation["schema"] is calculator.parameters

"""An argument that the tool does not have, said again after a refusal that named it: dropped where it may be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent import MicroAgent, Run, Tool, tool
from micro_agent.decoding.decision import ToolCall
from micro_agent.effects import Approval
from micro_agent.replay import verify
from micro_agent.run import VALIDATION_ERROR, Mode
from micro_agent.testing import Reply, ScriptedLM, call, calls, decision, text
from micro_agent.tools import Ready, prepare
from micro_agent.traces import TraceStore

OPEN: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DROPPED = {"path": "reason", "from": "asked", "to": None, "kind": "extra_argument"}
ASKED = {"city": "Rome", "reason": "asked"}


@tool(read_only=True)
def weather(city: str, days: int = 1) -> str:
    """Say what the weather is."""
    return f"{city}: sun for {days}"


@tool(read_only=True)
def clock(zone: str = "UTC") -> str:
    """Say the time."""
    return f"noon in {zone}"


@tool(read_only=True)
def ping() -> str:
    """Say pong."""
    return "pong"


@tool
def note(city: str) -> str:
    """Write a city down."""
    return city


@tool(read_only=True, requires_confirmation=True)
def secret(city: str) -> str:
    """Say a secret."""
    return city


by_name = Tool("by_name", "Say a city.", OPEN, note.handler, read_only=True)
TOOLS = [weather, clock, ping, note, by_name, secret]


def ask(*replies: Reply, mode: Mode = "native", tools: Any = TOOLS, **options: Any) -> Run:
    return MicroAgent(tools=tools, lm=ScriptedLM([*replies, text("Done.")], mode=mode), rules=[], **options).ask("?")


def told(run: Run) -> list[tuple[str, Any, list[dict[str, Any]]]]:
    return [(step.tool, step.args, step.coercions) for step in run.steps]


def refusals(run: Run) -> int:
    return sum(step.tool == VALIDATION_ERROR for step in run.steps)


def in_xml(name: str, args: dict[str, Any]) -> Reply:
    said = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in args.items())
    return text(f"<tool_call>\n<function={name}>\n{said}</function>\n</tool_call>")


@pytest.mark.parametrize("name", ["weather", "by_name"])
@pytest.mark.parametrize(("mode", "says"), [("native", call), ("json", decision), ("native", in_xml), ("json", in_xml)])
def test_what_was_named_and_is_said_again_is_dropped(name: str, mode: Mode, says: Any) -> None:
    run = ask(*[says(name, ASKED)] * 2, mode=mode)
    assert [step.tool for step in run.steps] == [VALIDATION_ERROR, name]
    assert told(run)[1] == (name, {"city": "Rome"}, [DROPPED])
    assert "'reason'" in run.steps[0].observation["message"]
    assert (run.status, run.steps[1].ok, run.steps[0].coercions) == ("completed", True, [])


def test_a_model_that_insists_is_refused_once() -> None:
    run = ask(*[call("weather", {**ASKED, "city": city}) for city in ("Rome", "Oslo", "Bern")])
    assert [step.args.get("city") for step in run.steps] == [None, "Oslo", "Bern"]
    assert [step.coercions for step in run.steps[1:]] == [[DROPPED], [DROPPED]]


def test_what_else_is_wrong_is_mended_with_it() -> None:
    run = ask(*[call("functions.weather", {**ASKED, "days": "3"})] * 2)
    kinds = [one["kind"] for one in run.steps[1].coercions]
    assert (run.steps[1].args, kinds) == (
        {"city": "Rome", "days": 3},
        ["extra_argument", "number_string"],
    )


def test_what_a_tool_without_arguments_is_given_is_dropped() -> None:
    run = ask(*[call("ping", {"a": [1], "b": None})] * 2)
    assert (run.steps[1].tool, run.steps[1].args) == ("ping", {})
    assert [one["path"] for one in run.steps[1].coercions] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "first", "again"),
    [
        pytest.param("note", ASKED, ASKED, id="a tool with effects"),
        pytest.param("weather", ASKED, {**ASKED, "reason": "Asked"}, id="another value"),
        pytest.param("weather", {**ASKED, "reason": 1}, {**ASKED, "reason": 1.0}, id="a value of another type"),
        pytest.param("weather", ASKED, {**ASKED, "why": "so"}, id="one more argument"),
        pytest.param("weather", ASKED, {"city": "Rome", "why": "asked"}, id="another argument"),
        pytest.param("weather", {"reason": "asked"}, {"reason": "asked"}, id="a missing argument"),
        pytest.param("weather", {**ASKED, "days": "x"}, {**ASKED, "days": "x"}, id="a bad argument"),
        pytest.param("weather", {"city": "Rome", "day": 3}, {"city": "Rome", "day": 3}, id="a misspelt one"),
        pytest.param("clock", {"town": "Rome"}, {"town": "Rome"}, id="nothing else is said"),
        pytest.param("clock", {"zone": "CET", "args": {}}, {"zone": "CET", "args": {}}, id="arguments once more"),
    ],
)
def test_nothing_else_is_dropped(name: str, first: dict[str, Any], again: dict[str, Any]) -> None:
    run = ask(call(name, first), call(name, again))
    assert ([step.tool for step in run.steps], run.status) == ([VALIDATION_ERROR] * 2, "completed")


def test_a_refusal_of_another_tool_names_nothing() -> None:
    assert refusals(ask(call("weather", ASKED), call("by_name", ASKED))) == 2


def test_a_reply_is_not_refused_and_taken_at_once() -> None:
    """The model has not read the refusal of the first call when it makes the second."""
    run = ask(calls(("weather", ASKED), ("weather", {**ASKED, "city": "Oslo"})), call("weather", ASKED))
    assert [step.tool for step in run.steps] == [VALIDATION_ERROR, VALIDATION_ERROR, "weather"]


def test_calls_beside_one_another_are_taken_alike() -> None:
    both = calls(("weather", ASKED), ("weather", {**ASKED, "city": "Oslo"}))
    run = ask(call("weather", ASKED), both)
    assert [step.args.get("city") for step in run.steps] == [None, "Rome", "Oslo"]
    assert [step.coercions for step in run.steps] == [[], [DROPPED], [DROPPED]]


def test_of_several_calls_in_a_text_none_is_made_where_one_is_refused() -> None:
    said = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    said += '<tool_call>{"name": "weather", "arguments": {"city": "Rome", "reason": "asked"}}</tool_call>'
    run = ask(text(said))
    assert [(step.tool, step.error) for step in run.steps] == [(VALIDATION_ERROR, "VALIDATION_FAILED")]
    assert "unknown argument 'reason'" in run.steps[0].observation


def test_a_call_inside_a_text_is_made_without_it() -> None:
    said = 'I will look. {"name": "weather", "arguments": {"city": "Rome", "reason": "asked"}}'
    run = ask(text(said), text(said))
    assert told(run)[-1] == ("weather", {"city": "Rome"}, [DROPPED])


def test_the_model_sees_its_call_without_it() -> None:
    lm = ScriptedLM([call("weather", ASKED), call("weather", ASKED), text("Done.")])
    MicroAgent(tools=TOOLS, lm=lm, rules=[]).ask("?")
    sent = [one["function"]["arguments"] for said in lm.messages(2) for one in said.get("tool_calls", ())]
    assert [("reason" in one, "Rome" in one) for one in sent] == [(True, True), (False, True)]


@pytest.mark.parametrize(("mode", "says"), [("native", call), ("json", decision)])
def test_it_is_the_same_run_when_it_is_verified_or_resumed(store: TraceStore, mode: Mode, says: Any) -> None:
    lm = ScriptedLM([says("secret", ASKED), says("secret", ASKED), text("Done.")], mode=mode)
    agent = MicroAgent(tools=TOOLS, lm=lm, rules=[], traces=store, finish="text")
    paused = agent.ask("?")
    assert paused.confirmation is not None
    assert paused.confirmation["args"] == {"city": "Rome"}
    run = store.load(agent.resume(paused.id, Approval("approve")).id)
    assert told(run)[-1] == ("secret", {"city": "Rome"}, [DROPPED])
    assert [verdict.outcome for verdict in verify([store.load(paused.id), run], agent)] == ["same", "same"]


KEYS = st.sampled_from(["city", "days", "reason", "why", "args"])
ARGS = st.dictionaries(KEYS, st.sampled_from(["Rome", "3", 3, None, {"city": "Rome"}]), max_size=4)


@given(st.lists(ARGS, min_size=1, max_size=4), st.sampled_from([weather, clock, ping, note, by_name]))
def test_what_runs_fits_and_lacks_only_what_was_named_before(said: list[dict[str, Any]], asked: Tool) -> None:
    run = ask(*[call(asked.name, args) for args in said])
    for step in [step for step in run.steps if step.tool == asked.name]:
        again = prepare({asked.name: asked}, ToolCall(asked.name, step.args))
        assert isinstance(again, Ready)
        assert again.args == step.args
        extra = [one for one in step.coercions if one["kind"] == "extra_argument"]
        before = [one for one in run.steps if one.tool == VALIDATION_ERROR and (one.call or 0) < (step.call or 0)]
        for one in extra:
            assert asked.read_only
            assert any(one["from"] == refused.args["args"].get(one["path"]) for refused in before)

"""Schemas that llama.cpp cannot take, or takes and breaks on: the wire has a copy, everything else the tool's own."""

import re
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.replay import verify
from micro_agent.run import Mode
from micro_agent.tools import digest
from tests.llama.conftest import lm_of, made

if TYPE_CHECKING:
    from tests.llama.server import Llama

EMAIL = {"type": "string", "pattern": r"^[^@]+@[^@]+\.[a-z]+$"}
PAIR = {"type": "array", "prefixItems": [{"type": "integer"}], "items": False}


def taking(x: Any, **beside: Any) -> Tool:
    schema = {"type": "object", "properties": {"x": x}, "required": ["x"], **beside}

    def take(x: Any) -> str:
        return "taken"

    return Tool("take", "Take something.", schema, take)


REFUSED = {
    "true": taking(True),
    "items: false": taking(PAIR),
    "root": taking({"type": "integer"}, properties={"x": {"type": "integer"}, "again": {"$ref": "#"}}),
    "escaped": taking({"$ref": "#/$defs/a~1b"}, **{"$defs": {"a/b": {"items": {"$ref": "#/$defs/a~1b"}}}}),
}
NODE = {"type": "object", "properties": {"v": {"enum": [1, 2]}, "next": {"$ref": "#/$defs/Node"}}, "required": ["v"]}
RECURSIVE = taking({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}})
COLORED = taking({"$ref": "#/$defs/Color", "description": "Which."}, **{"$defs": {"Color": {"enum": ["red", "blue"]}}})


def ran(tool: Tool, server: "Llama", mode: Mode, lm: Any = None) -> Run:
    agent = MicroAgent([tool], lm or lm_of(server), mode, [], Limits(max_steps=2), demos=[])
    run = agent.ask("What is it?")
    assert (run.status, run.termination_reason) == ("stopped", "max_steps"), run.error
    assert run.digests["tools"] == digest({tool.name: tool})
    (verdict,) = verify([run], agent)
    assert verdict.outcome == "same", list(verdict.lines())
    return run


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_schema_that_it_refuses_is_sent_in_a_plainer_form(server: "Llama", name: str, mode: Mode) -> None:
    run = ran(REFUSED[name], server, mode)
    if mode == "json" and name == "root":
        assert run.calls[0].request["schemas"] == "classes", "it stands under $defs, which is simple enough"
        return
    assert {(call.mode, call.request["schemas"]) for call in run.calls} == {(mode, "plain")}


@pytest.mark.parametrize("mode", ["native", "json"])
@pytest.mark.parametrize("tool", [RECURSIVE, COLORED], ids=["recursive", "colored"])
def test_definitions_are_held_to(server: "Llama", tool: Tool, mode: Mode) -> None:
    run = ran(tool, server, mode)
    assert {(call.mode, call.request["schemas"], call.retries) for call in run.calls} == {(mode, "classes", 0)}
    assert [step.ok for step in made(run)] == [True] * len(made(run))


def test_what_has_no_plainer_form_is_asked_for_in_json_and_in_words(server: "Llama") -> None:
    none = taking({"type": "integer"}, properties={"x": {"type": "integer"}, "y": {"enum": []}})
    lm = lm_of(server)
    run = MicroAgent([none], lm, "native", [], Limits(max_steps=1), demos=[]).ask("What is it?")
    assert (run.mode, run.calls[0].mode, run.calls[0].retries) == ("json", "json", 0)
    assert (lm.engine.refuses_tools, lm.engine.refuses_schema) == (False, True)


@pytest.mark.parametrize("mode", ["native", "json"])
def test_a_pattern_that_lets_quotes_through_is_told_and_no_more_held(server: "Llama", mode: Mode) -> None:
    lm = lm_of(server)
    first = ran(taking(EMAIL), server, mode, lm)
    assert {call.request["schemas"] for call in first.calls} == {"patterns"}
    assert sum(call.retries for call in first.calls) == 0, "it is no failure to be waited for"
    again = ran(taking(EMAIL), server, mode, lm)
    assert again.calls[0].request["head"] == first.calls[0].request["head"], "learned"


@pytest.mark.parametrize(
    ("pattern", "enforced"), [(r"^\d{3}$", "[0-9]{3}"), (r"^[\w-]{2}$", "[A-Za-z0-9_-]{2}"), (r"^a\sb$", r"a\sb")]
)
@pytest.mark.parametrize("mode", ["native", "json"])
def test_classes_are_held_to(server: "Llama", mode: Mode, pattern: str, enforced: str) -> None:
    run = ran(taking({"type": "string", "pattern": pattern}), server, mode)
    for step in made(run):
        assert (step.tool, step.ok) == ("take", True)
        assert re.fullmatch(enforced, step.args["x"])
    assert {call.request["schemas"] for call in run.calls} == {"classes"}

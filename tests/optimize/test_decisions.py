# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The decisions of a record are those that DSPy collects while a run is made."""

import json
from typing import Any

import dspy
import pytest

from micro_agent import Limits, MicroAgent, Run, tool
from micro_agent.demos import Demo
from micro_agent.optimize.decisions import decisions
from micro_agent.run import Mode
from micro_agent.testing import Reply, ScriptedLM, call, calls, decision, final, text


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


NATIVE = [
    calls(("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4}), text="Both."),
    text(""),
    call("add", {"a": "one"}),
    *[call("add", {"a": 1, "b": 1})] * 3,
    text("<think>Hm.</think>It is 3."),
]
JSON = [decision("add", {"a": 1, "b": 2}), text('{"tool": {"name":'), decision("ad", {}), final("It is 3.")]


@pytest.mark.parametrize(("mode", "script"), [("native", NATIVE), ("json", JSON)])
def test_they_are_those_of_a_live_trace(mode: Mode, script: list[Reply]) -> None:
    lm, trace = ScriptedLM(script, mode=mode), list[Any]()
    agent = MicroAgent(tools=[add], lm=lm, mode=mode, limits=Limits(max_steps=12))
    with dspy.context(lm=lm, trace=trace):
        run = agent(question="How many?").run
    assert run.status == "completed"
    collected = [{**inputs, "decision": outputs.decision} for _, inputs, outputs in trace]
    assert decisions(run) == collected
    assert decisions(Run.model_validate(json.loads(run.model_dump_json()))) == collected
    shown = [Demo.model_validate(one) for one in collected if "error" not in one["decision"]]
    assert len(shown) >= 2

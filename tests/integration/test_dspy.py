# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The agent as a DSPy program: called, evaluated, compiled, saved, tracked, and nothing of DSPy's left touched."""

import asyncio
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import dspy
import pytest

from micro_agent import MicroAgent, Run
from micro_agent.run import Mode
from micro_agent.testing import Received, Reply, ScriptedLM, call, decision, final, text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def script(mode: Mode) -> Any:
    """A model that adds with the tool. A sum over 100 it can not."""

    def play(request: Received) -> Reply:
        question = [m["content"] for m in request.messages if str(m["content"]).startswith("sum ")][-1]
        a, b = map(int, question.split()[1:])
        last = request.messages[-1]
        if last["role"] == "tool" or str(last["content"]).startswith("Tool [add]"):
            return (text if mode == "native" else final)(f"It is {a + b if a + b < 100 else 'much'}.")
        return (call if mode == "native" else decision)("add", {"a": a, "b": b})

    return play


TRAIN = [
    dspy.Example(question=f"sum {a} {b}", answer=f"It is {a + b}.").with_inputs("question")
    for a, b in ((1, 2), (3, 4), (99, 9), (5, 6))
]


def metric(example: Any, prediction: Any, trace: Any = None) -> bool:
    return bool(example.answer == prediction.answer)


def compiled(mode: Mode, lm: Any, **agent: Any) -> Any:
    optimizer = dspy.BootstrapFewShot(metric=metric, max_bootstrapped_demos=3, max_labeled_demos=4)
    with dspy.context(lm=lm):
        return optimizer.compile(MicroAgent(tools=[add], rules=[], mode=mode, **agent), trainset=TRAIN)


def test_calling_the_agent_gives_a_prediction() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(script("native")), rules=[])
    prediction = agent(question="sum 1 2")
    assert isinstance(prediction, dspy.Prediction)
    assert prediction.answer == "It is 3."
    assert prediction.trace[0]["tool"] == "add"
    assert isinstance(prediction.run, Run)
    assert asyncio.run(agent.acall(question="sum 2 2")).answer == "It is 4."


@pytest.mark.parametrize("threads", [1, 4])
def test_evaluate_takes_it(threads: int) -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(script("native")), rules=[])
    evaluate = dspy.Evaluate(devset=TRAIN, metric=metric, num_threads=threads, display_progress=False)
    assert evaluate(agent).score == 75.0


@pytest.mark.parametrize("mode", ["native", "json"])
def test_bootstrap_compiles_it_and_the_file_serves_both_modes(mode: Mode, tmp_path: Path) -> None:
    lm = ScriptedLM(script(mode), mode=mode)
    program = compiled(mode, lm)
    demos = [dict(demo) for demo in program.plan.demos if "decision" in demo]
    assert 1 <= len(demos) <= 3
    path = tmp_path / "program.json"
    program.save(path)
    assert json.loads(path.read_text(encoding="utf-8"))["plan"]["demos"]
    for other in ("native", "json"):
        asked = ScriptedLM(script(other), mode=other)
        fresh = MicroAgent(tools=[add], lm=asked, rules=[], mode=other)
        fresh.load(path)
        assert fresh(question="sum 7 8").answer == "It is 15."
        first = asked.messages(0)
        questions = [m["content"] for m in first if str(m["content"]).startswith("sum ")]
        assert questions == [*[demo["question"] for demo in demos], "sum 7 8"]
        assert "reasoning" not in str(first)


def test_labelled_examples_are_not_shown_as_demos() -> None:
    lm = ScriptedLM(script("native"))
    program = dspy.LabeledFewShot(k=2).compile(MicroAgent(tools=[add], lm=lm, rules=[]), trainset=TRAIN)
    assert len(program.plan.demos) == 2
    assert program(question="sum 7 8").answer == "It is 15."
    assert len(lm.messages(0)) == 2


def test_while_it_compiles_the_optimizers_model_is_the_one_that_is_asked() -> None:
    own, optimizers = ScriptedLM(script("native")), ScriptedLM(script("native"))
    optimizer = dspy.BootstrapFewShot(metric=metric, max_rounds=2, max_bootstrapped_demos=4)
    with dspy.context(lm=optimizers):
        program = optimizer.compile(MicroAgent(tools=[add], lm=own, rules=[]), trainset=TRAIN)
    assert own.requests == []
    temperatures = [request.config.temperature for request in optimizers.requests]
    assert temperatures.count(1.0) == 2  # the two decisions of the second round, for the example that failed
    assert program(question="sum 7 8").answer == "It is 15."
    assert len(own.requests) == 2


@pytest.mark.parametrize("asynchronous", [False, True])
def test_usage_is_tracked(asynchronous: bool) -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(script("native")), rules=[])
    with dspy.track_usage() as tracker:
        if asynchronous:
            asyncio.run(agent.acall(question="sum 1 2"))
        else:
            agent(question="sum 1 2")
    (tokens,) = tracker.get_total_tokens().values()
    assert (tokens["prompt_tokens"], tokens["completion_tokens"]) == (20, 10)


def test_nothing_is_left_in_dspys_global_state() -> None:
    from dspy.clients.base_lm import GLOBAL_HISTORY

    lm = ScriptedLM(script("native"))
    traced, history = len(dspy.settings.trace or ()), len(GLOBAL_HISTORY)
    agent = MicroAgent(tools=[add], lm=lm, rules=[])
    agent(question="sum 1 2")
    asyncio.run(agent.acall(question="sum 1 2"))
    assert (len(dspy.settings.trace or ()), len(GLOBAL_HISTORY)) == (traced, history)
    assert lm.history == []
    assert dspy.settings.lm is None


def test_a_copy_of_an_agent_is_made_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(script("native")), rules=[])
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        copied = agent.deepcopy()
    assert caplog.messages == []
    copied.plan.demos = [{"question": "sum 0 0", "steps": [], "decision": {"final": {"answer": "0"}}}]
    assert agent.plan.demos == []
    assert copied(question="sum 1 2").answer == "It is 3."


def test_a_trace_of_an_optimizer_has_one_entry_a_decision() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(script("native")), rules=[])
    trace: list[Any] = []
    with dspy.context(lm=ScriptedLM(script("native")), trace=trace):
        agent(question="sum 1 2")
    assert [outputs.decision for _, _, outputs in trace] == [
        {"tool": {"name": "add", "args": {"a": 1, "b": 2}}},
        {"final": {"answer": "It is 3."}},
    ]
    assert json.loads(json.dumps([inputs for _, inputs, _ in trace]))[1]["steps"][0]["observation"] == 3

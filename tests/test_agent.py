# pyright: reportUnknownMemberType=false
"""The agent's doors: which model is asked, resuming, and many runs at once."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import dspy
import pytest

from micro_agent import Limits, MicroAgent, Run, configure_lm, tool
from micro_agent.effects import Approval
from micro_agent.errors import ConfigurationError, RunBusy, RunNotFound
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, text
from micro_agent.traces import TraceStore


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def adder(request: Received) -> Reply:
    """A model that adds the two numbers of the question with the tool."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return text(f"It is {last['content']}.")
    a, b = last["content"].split()
    return call("add", {"a": int(a), "b": int(b)}, delay_s=0.01)


def test_sixteen_threads_share_an_agent(store: TraceStore) -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(adder), rules=[], traces=store)
    with ThreadPoolExecutor(16) as threads:
        runs = list(threads.map(agent.ask, [f"{n} {n}" for n in range(32)]))
    assert [run.answer for run in runs] == [f"It is {2 * n}." for n in range(32)]
    assert len(set(store.ids())) == 32


def test_sixteen_tasks_share_an_agent(store: TraceStore) -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(adder), rules=[], traces=store)

    async def all_at_once() -> list[Run]:
        return await asyncio.gather(*(agent.aask(f"{n} {n}") for n in range(16)))

    assert [run.answer for run in asyncio.run(all_at_once())] == [f"It is {2 * n}." for n in range(16)]


def test_limits_of_one_question_win_over_those_of_the_agent() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM(adder), rules=[], limits=Limits(max_steps=9))
    run = agent.ask("1 2", limits=Limits(max_steps=1))
    assert (run.termination_reason, run.limits["max_steps"]) == ("max_steps", 1)
    assert agent.ask("1 2").limits["max_steps"] == 9


def test_a_run_says_with_what_it_was_made() -> None:
    with ModelServer([text("3", model="scripted-7b")]) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = MicroAgent(tools=[add], lm=lm, rules=[]).ask("?")
    assert (run.provider, run.model, run.base_url, run.mode) == (
        "openai",
        "openai/scripted",
        server.openai_url,
        "native",
    )
    assert (run.calls[0].model, run.calls[0].mode, run.calls[0].finish_reason) == ("scripted-7b", "native", "stop")
    assert set(run.digests) == {"tools", "rules", "demos"}


def test_the_model_of_a_context_is_asked_when_the_agent_has_none() -> None:
    agent = MicroAgent(tools=[add], rules=[])
    with dspy.context(lm=ScriptedLM([text("one")])):
        assert agent.ask("?").answer == "one"
    with dspy.context(lm=ScriptedLM([text("two")])):
        assert agent.ask("?").answer == "two"


def test_the_models_order_is_that_of_the_predictor_then_the_agents_then_dspys() -> None:
    agent = MicroAgent(tools=[add], lm=ScriptedLM([text("the agent's")]), rules=[])
    with dspy.context(lm=ScriptedLM([text("DSPy's")])):
        assert agent.ask("?").answer == "the agent's"
        agent.set_lm(ScriptedLM([text("the predictor's")]))
        assert agent.ask("?").answer == "the predictor's"


def test_without_any_model_the_environment_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([text("one"), text("two")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
        agent = MicroAgent(tools=[add], rules=[])
        assert [agent.ask("?").answer, agent.ask("?").answer] == ["one", "two"]


def test_the_default_tools_are_the_built_in_ones() -> None:
    lm = ScriptedLM([call("calculator", {"expression": "1 + 2"}), text("3")])
    run = MicroAgent(lm=lm, rules=[]).ask("?")
    assert (run.answer, run.steps[0].ok) == ("3", True)


def test_a_run_that_is_not_there_or_not_known_without_traces_is_said(store: TraceStore) -> None:
    lm = ScriptedLM([text("3")])
    stored = MicroAgent(tools=[add], lm=lm, rules=[], traces=store)
    run = stored.ask("?")
    with pytest.raises(RunNotFound, match="it has ended"):
        stored.resume(run.id)
    with pytest.raises(RunNotFound, match="pass the Run itself"):
        MicroAgent(tools=[add], lm=lm, rules=[]).resume(run.id)


def test_a_run_that_has_ended_is_given_back_as_it_is() -> None:
    lm = ScriptedLM([text("3")])
    agent = MicroAgent(tools=[add], lm=lm, rules=[])
    run = agent.ask("?")
    assert agent.resume(run) == run
    assert len(lm.requests) == 1


def test_a_second_resume_is_refused_while_the_first_lives(store: TraceStore) -> None:
    sure = tool(requires_confirmation=True)(add)
    agent = MicroAgent(tools=[sure], lm=ScriptedLM(adder), rules=[], traces=store)
    run = agent.ask("1 2")
    held = store.resume(run.id)
    with pytest.raises(RunBusy):
        agent.resume(run.id)
    held.close()
    assert agent.resume(run.id, Approval("approve")).answer == "It is 3."


def test_a_run_whose_model_cannot_be_made_again_is_let_go_of(store: TraceStore) -> None:
    sure = tool(requires_confirmation=True)(add)
    run = MicroAgent(tools=[sure], lm=ScriptedLM(adder), rules=[], traces=store).ask("1 2")
    with pytest.raises(ConfigurationError, match="resume it in Python") as kept:
        MicroAgent(tools=[sure], rules=[], traces=store).resume(run.id)
    with pytest.raises(ConfigurationError):
        MicroAgent(tools=[sure], rules=[]).resume(run)
    done = MicroAgent(tools=[sure], lm=ScriptedLM(adder), rules=[], traces=store).resume(run.id, Approval("approve"))
    assert done.answer == "It is 3."
    assert kept.value


def test_a_run_is_resumed_on_the_server_it_began_on(store: TraceStore) -> None:
    sure = tool(requires_confirmation=True)(add)
    with ModelServer(adder) as server:
        lm = configure_lm("openai", "scripted", server.openai_url)
        run = MicroAgent(tools=[sure], lm=lm, rules=[], traces=store, finish="text").ask("1 2")
        done = MicroAgent(tools=[sure], rules=[], traces=store).resume(run.id, Approval("approve"))
        assert (done.answer, len(server.chats)) == ("It is 3.", 2)

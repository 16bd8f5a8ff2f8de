"""An agent that asks another one in a tool: what that one uses counts, once, wherever the tool runs."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool, configure_lm
from micro_agent.effects import Approval
from micro_agent.errors import NotWaiting
from micro_agent.replay import verify
from micro_agent.replay.show import statistics
from micro_agent.run import Step, Usage
from micro_agent.testing import ModelServer, ScriptedLM, call, calls, text
from micro_agent.traces import TraceStore

ANYTHING = {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}


def sub(inner: MicroAgent, name: str = "sub", **options: Any) -> Tool:
    """A tool that asks an agent."""

    def ask(question: str) -> str | None:
        return inner.ask(question).answer

    return Tool(name, "Ask another agent.", ANYTHING, ask, **options)


def asub(inner: MicroAgent, **options: Any) -> Tool:
    async def ask(question: str) -> str | None:
        return (await inner.aask(question)).answer

    return Tool("sub", "Ask another agent.", ANYTHING, ask, **options)


def inner(*replies: Any) -> MicroAgent:
    return MicroAgent([], ScriptedLM([*replies] or [text("3")] * 9), rules=[])


def outer(tool: Tool | list[Tool], *, limits: Limits | None = None, traces: TraceStore | None = None) -> MicroAgent:
    tools = tool if isinstance(tool, list) else [tool]
    replies = [calls(*((one.name, {"question": f"{one.name}?"}) for one in tools)), text("It is 3.")]
    return MicroAgent(tools, ScriptedLM(replies), rules=[], limits=limits, traces=traces)


def used(run: Run) -> tuple[Any, ...]:
    return run.usage.lm_calls, run.usage.input_tokens, run.usage.output_tokens, run.usage.tool_calls


@pytest.mark.parametrize("made", [sub, asub])
@pytest.mark.parametrize("timeout_s", [None, 60.0])
def test_it_counts_wherever_the_tool_runs(made: Callable[..., Tool], timeout_s: float | None) -> None:
    asked = outer(made(inner(), timeout_s=timeout_s)).ask("1+2?")
    awaited = asyncio.run(outer(made(inner(), timeout_s=timeout_s)).aask("1+2?"))
    assert used(asked) == used(awaited) == (3, 30, 15, 1)
    assert asked.steps[0].usage is not None
    assert (asked.steps[0].usage.lm_calls, asked.steps[0].usage.input_tokens) == (1, 10)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_of_calls_that_run_at_once_each_has_its_own(asynchronous: bool) -> None:
    tools = [sub(inner(), "one", read_only=True), sub(inner(text(""), text("3")), "two", read_only=True)]
    agent = outer(tools)
    run = asyncio.run(agent.aask("1+2?")) if asynchronous else agent.ask("1+2?")
    assert [step.usage and step.usage.lm_calls for step in run.steps] == [1, 2]
    assert used(run) == (5, 50, 25, 2)


def test_an_agent_in_an_agent_in_an_agent_counts_once() -> None:
    run = outer(sub(outer(sub(inner())))).ask("1+2?")
    assert used(run) == (5, 50, 25, 1)


def test_a_tool_that_asks_no_agent_has_no_usage_of_its_own() -> None:
    def three(question: str) -> int:
        return 3

    run = outer(Tool("sub", "Three.", ANYTHING, three)).ask("1+2?")
    assert run.steps[0].usage is None
    assert used(run) == (2, 20, 10, 1)


def test_a_tool_that_asks_two_counts_both_and_what_one_does_not_know_nobody_does() -> None:
    known, unknown = inner(), inner(text("3", usage=None))

    def both(question: str) -> list[str]:
        return [known.ask(question).id, unknown.ask(question).id]

    run = outer(Tool("sub", "Both.", ANYTHING, both)).ask("1+2?")
    assert used(run) == (4, None, None, 1)
    assert {name: statistics([run])[name] for name in ("lm_calls", "input_tokens", "unknown")} == {
        "lm_calls": 4, "input_tokens": 20, "unknown": {"input_tokens": 2, "output_tokens": 2, "cost_usd": 4},
    }  # fmt: skip


def test_limits_count_it() -> None:
    run = outer(sub(inner()), limits=Limits(max_tokens=25)).ask("1+2?")
    assert (run.status, run.termination_reason) == ("stopped", "max_tokens")
    assert "30 tokens were used" in str(run.error)
    free = outer(sub(inner()), limits=Limits(max_tokens=31)).ask("1+2?")
    assert free.status == "completed"


@pytest.mark.parametrize(("most", "told"), [(0.06, "0.06 USD were spent"), (1.0, None)])
def test_a_limit_of_the_cost_counts_it(monkeypatch: pytest.MonkeyPatch, most: float, told: str | None) -> None:
    monkeypatch.setenv("OPENAI_INPUT_PRICE_PER_1K", "2")
    monkeypatch.setenv("OPENAI_OUTPUT_PRICE_PER_1K", "2")
    with ModelServer([call("sub", {"question": "?"}), text("3"), text("It is 3.")]) as server:
        lm = configure_lm("openai", model="gpt", base_url=server.openai_url)
        tool = sub(MicroAgent([], lm, rules=[]))
        run = MicroAgent([tool], lm, rules=[], limits=Limits(max_cost=most), finish="text").ask("1+2?")
    assert run.status == ("completed" if told is None else "stopped")
    assert told is None or told in str(run.error)
    assert run.usage.cost_usd == pytest.approx(0.09 if told is None else 0.06)  # pyright: ignore[reportUnknownMemberType]


def test_a_tool_that_runs_out_of_time_leaves_the_tokens_unknown() -> None:
    release = Event()

    def waits(request: Any) -> Any:
        release.wait(60)
        return text("3")

    slow = MicroAgent([], ScriptedLM(waits), rules=[])
    run = outer(sub(slow, timeout_s=0.2)).ask("1+2?")
    release.set()
    assert run.steps[0].error == "TOOL_TIMEOUT"
    assert (run.usage.input_tokens, run.usage.cost_usd) == (None, None)


def test_a_run_that_is_cancelled_counts_what_the_agent_inside_has_used() -> None:
    begun = Event()

    async def ends_never(question: str) -> str:
        await quick.aask(question)
        begun.set()
        await asyncio.sleep(60)
        return "late"

    quick, ended = inner(), list[Run]()
    agent = outer(Tool("sub", "Ask.", ANYTHING, ends_never))

    def watch(event: Any) -> None:
        ended.extend([event.run] if hasattr(event, "run") else [])

    async def cancelled() -> None:
        task = asyncio.create_task(agent.aask("1+2?", on_event=watch))
        while not begun.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended[0].steps[0].error == "INTERRUPTED"
    assert used(ended[0]) == (2, 20, 10, 1)


def test_of_a_run_that_is_resumed_inside_only_the_rest_counts() -> None:
    def add(a: int) -> int:
        """Add."""
        return a + 1

    asking = Tool("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}}, add,
                  requires_confirmation=True)  # fmt: skip
    paused = MicroAgent([asking], ScriptedLM([call("add", {"a": 2}), text("3")]), rules=[])
    run = paused.ask("1+2?")

    def go_on(question: str) -> str | None:
        return paused.resume(run, Approval("approve")).answer

    assert used(outer(Tool("sub", "Go on.", ANYTHING, go_on)).ask("1+2?")) == (3, 30, 15, 1)


def test_a_resumption_that_is_refused_inside_uses_nothing() -> None:
    ended = (agent := inner()).ask("1+2?")

    def again(question: str) -> str | None:
        with pytest.raises(NotWaiting):
            agent.resume(ended, Approval("approve"))
        return agent.ask(question).answer

    assert used(outer(Tool("sub", "Go on.", ANYTHING, again)).ask("1+2?")) == (3, 30, 15, 1)


def test_records_journals_and_replays_have_it(store: TraceStore) -> None:
    agent = outer(sub(inner()), traces=store)
    run = agent.ask("1+2?")
    loaded = store.load(run.id)
    assert loaded.steps[0].usage is not None
    assert loaded.steps[0].usage == run.steps[0].usage
    assert used(loaded) == (3, 30, 15, 1)
    assert [verdict.outcome for verdict in verify([loaded], agent)] == ["same"]


def test_a_step_of_an_older_record_has_none() -> None:
    assert Step.model_validate({"tool": "add", "args": {}}).usage is None
    assert Usage.model_validate(Usage().model_dump()) == Usage()

"""Calls of one reply that only read run at once; everything else keeps its turn."""

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from micro_agent import Limits, MicroAgent, Run, Tool
from micro_agent.cancel import Cancel
from micro_agent.effects import Approval, Question
from micro_agent.rules import BeforeTool, Event, Rule, Violation, repetition
from micro_agent.testing import ScriptedLM, calls, text

Ask = Callable[[MicroAgent], Run]
WAYS: list[Ask] = [lambda agent: agent.ask("Look."), lambda agent: asyncio.run(agent.aask("Look."))]
both = pytest.mark.parametrize("ask", WAYS, ids=["ask", "aask"])
ANY: dict[str, Any] = {"type": "object", "properties": {"of": {}}}
LONG = 30.0
"""Seconds that nothing here takes unless it is broken."""


def made(name: str, handler: Callable[..., Any], **options: Any) -> Tool:
    how: dict[str, Any] = {"read_only": True, "timeout_s": LONG, **options}
    return Tool(name, "", ANY, handler, **how)


def agent(tools: list[Tool], *asked: tuple[str, dict[str, Any]], **options: Any) -> MicroAgent:
    return MicroAgent(
        tools=tools, lm=ScriptedLM([calls(*asked), text("Done.")]), rules=options.pop("rules", []), **options
    )


def seen(run: Run) -> list[tuple[str, Any]]:
    return [(step.tool, step.observation) for step in run.steps]


class Meeting:
    """A tool whose calls come back only when ``parties`` of them are under way at the same time."""

    def __init__(self, parties: int) -> None:
        self.barrier, self.most, self.now, self.lock = threading.Barrier(parties), 0, 0, threading.Lock()

    def __call__(self, of: Any) -> Any:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.barrier.wait(LONG)
        with self.lock:
            self.now -= 1
        return of


@both
def test_calls_that_only_read_meet(ask: Ask) -> None:
    run = ask(agent([made("look", Meeting(3))], *(("look", {"of": number}) for number in range(3))))
    assert seen(run) == [("look", 0), ("look", 1), ("look", 2)]
    assert [step.ok for step in run.steps] == [True] * 3
    assert run.usage.tool_calls == 3


@both
def test_async_handlers_meet(ask: Ask) -> None:
    here: list[Any] = []

    async def look(of: Any) -> Any:
        here.append(of)
        ends = time.monotonic() + LONG
        while len(here) < 2 and time.monotonic() < ends:
            await asyncio.sleep(0.001)
        return len(here)

    assert seen(ask(agent([made("look", look)], ("look", {"of": 1}), ("look", {"of": 2})))) == [("look", 2)] * 2


@both
def test_no_more_than_eight_are_under_way(ask: Ask) -> None:
    meeting = Meeting(8)
    asked = (("look", {"of": number}) for number in range(24))
    run = ask(agent([made("look", meeting)], *asked, limits=Limits(max_steps=30)))
    assert [observation for _, observation in seen(run)] == list(range(24))
    assert meeting.most == 8


def logged(log: list[str], name: str, **options: Any) -> Tool:
    def noted(of: Any) -> Any:
        log.append(f"{name} {of}")
        return of

    return made(name, noted, **options)


@both
def test_no_step_is_taken_beyond_the_limit(ask: Ask) -> None:
    log: list[str] = []
    asked = (("look", {"of": number}) for number in range(5))
    run = ask(agent([logged(log, "look")], *asked, limits=Limits(max_steps=3)))
    assert sorted(log) == ["look 0", "look 1", "look 2"]
    assert run.termination_reason == "max_steps"


@both
def test_the_times_of_the_steps_add_up_to_what_they_took(ask: Ask) -> None:
    def look(of: Any) -> Any:
        time.sleep(0.2)
        return of

    started = time.perf_counter()
    run = ask(agent([made("look", look)], *(("look", {"of": number}) for number in range(6))))
    assert sum(step.latency_s or 0 for step in run.steps) <= time.perf_counter() - started


@both
def test_nothing_is_read_before_a_change_that_was_asked_for_first(ask: Ask) -> None:
    state: list[str] = []

    def write(of: Any) -> str:
        time.sleep(0.05)
        state.append(of)
        return "written"

    def read(of: Any) -> list[str]:
        return list(state)

    tools = [made("read", read), made("write", write, read_only=False)]
    run = ask(agent(tools, ("read", {"of": 1}), ("write", {"of": "x"}), ("read", {"of": 2})))
    assert seen(run) == [("read", []), ("write", "written"), ("read", ["x"])]


@both
def test_what_a_rule_forbids_is_not_begun(ask: Ask) -> None:
    log: list[str] = []

    def not_two(run: Run, event: Event) -> Violation | None:
        return Violation("not 2") if isinstance(event, BeforeTool) and event.args["of"] == 2 else None

    tools = [logged(log, "look")]
    run = ask(agent(tools, *(("look", {"of": number}) for number in (1, 2, 3)), rules=[not_two]))
    assert sorted(log) == ["look 1", "look 3"]
    assert [step.tool for step in run.steps] == ["look", "⛔️policy_violation", "look"]


@both
def test_what_wants_a_word_or_cannot_run_is_not_begun(ask: Ask) -> None:
    log: list[str] = []

    def approve(question: Question) -> Approval:
        log.append("approved")
        return Approval("approve")

    tools = [logged(log, "look"), logged(log, "delete", requires_confirmation=True)]
    run = ask(agent(tools, ("look", {"of": 1}), ("delete", {"of": 2}), ("none", {"of": 3}), confirm=approve))
    assert log == ["look 1", "approved", "delete 2"]
    assert [step.error for step in run.steps] == [None, None, "UNKNOWN_TOOL"]


@both
def test_the_same_call_again_has_its_turn(ask: Ask) -> None:
    log: list[str] = []
    run = ask(agent([logged(log, "look")], ("look", {"of": 1}), ("look", {"of": 1}), rules=[repetition.check]))
    assert log.count("look 1") == sum(step.is_tool and step.ok for step in run.steps)


@both
def test_a_tool_without_a_time_limit_runs_in_its_turn(ask: Ask) -> None:
    threads: list[str] = []

    def noted(of: Any) -> None:
        threads.append(threading.current_thread().name)

    look = made("look", noted, timeout_s=None)
    ask(agent([look], ("look", {"of": 1}), ("look", {"of": 2})))
    assert len(set(threads)) == 1


@both
def test_each_has_its_own_time_limit_and_failure(ask: Ask) -> None:
    free = threading.Event()

    def look(of: Any) -> Any:
        if of == "hang":
            free.wait(LONG)
        return {"fine": 1, "hang": 2}[of]

    tools = [made("look", look, timeout_s=0.2)]
    run = ask(agent(tools, *(("look", {"of": of}) for of in ("fine", "hang", "bad"))))
    free.set()
    assert [step.error for step in run.steps] == [None, "TOOL_TIMEOUT", "TOOL_EXCEPTION"]


def pid_of(started: "list[subprocess.Popen[bytes]]") -> subprocess.Popen[bytes]:
    ends = time.monotonic() + LONG
    while not started and time.monotonic() < ends:
        time.sleep(0.001)
    return started[0]


@both
def test_a_run_that_ends_drops_what_was_begun(ask: Ask) -> None:
    started: list[subprocess.Popen[bytes]] = []
    cancel = Cancel()

    def first(of: Any) -> str:
        pid_of(started)
        cancel.set()
        return "cancelled"

    def second(of: Any) -> int:
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[0].wait()

    one = agent([made("first", first), made("second", second)], ("first", {"of": 1}), ("second", {"of": 2}))
    sync = ask is WAYS[0]
    run = one.ask("Look.", cancel=cancel) if sync else asyncio.run(one.aask("Look.", cancel=cancel))
    assert (run.termination_reason, [step.error for step in run.steps]) == ("cancelled", [None, "NOT_RUN"])
    assert started[0].wait(LONG) == -9


def test_rules_are_asked_again_when_the_turn_comes() -> None:
    log: list[str] = []

    def one_read(run: Run, event: Event) -> Violation | None:
        return Violation("one is enough") if isinstance(event, BeforeTool) and run.usage.tool_calls else None

    rules: list[Rule] = [one_read]
    run = agent([logged(log, "look")], ("look", {"of": 1}), ("look", {"of": 2}), rules=rules).ask("Look.")
    assert [step.tool for step in run.steps] == ["look", "⛔️policy_violation"]
    assert run.usage.tool_calls == 1

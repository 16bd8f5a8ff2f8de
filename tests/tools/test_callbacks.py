"""Functions that the caller gives, or a tool: what they raise ends neither the run nor the process."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from micro_agent import MicroAgent, Run, Tool
from micro_agent.effects import Approval, Question
from micro_agent.errors import StorageError
from micro_agent.rules import BeforeFinish, BeforeTool, Event
from micro_agent.streaming import Ended, Started, StreamEvent
from micro_agent.testing import ScriptedLM, call, text
from micro_agent.traces import TraceStore


class Own(BaseException):
    """What no framework knows of."""


KINDS = [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, Own]
MEANT_FOR_THE_PROGRAM = (SystemExit, KeyboardInterrupt)
every_kind = pytest.mark.parametrize("kind", KINDS)


def agent(store: TraceStore | None = None, *, rules: Any = (), confirm: Any = "pause", **options: Any) -> MicroAgent:
    lm = ScriptedLM([call("f", {}), text("Done.")])
    tool = Tool("f", "", {"type": "object", "properties": {}}, lambda: "well", **options)
    return MicroAgent(tools=[tool], lm=lm, rules=list(rules), traces=store, confirm=confirm)


def awaited(agent: MicroAgent, **options: Any) -> Run:
    return asyncio.run(agent.aask("?", **options))


def in_a_thread(agent: MicroAgent, **options: Any) -> Run:
    runs: list[Run] = []
    thread = threading.Thread(target=lambda: runs.append(agent.ask("?", **options)))
    thread.start()
    thread.join()
    return runs[0]


ways = pytest.mark.parametrize("ask", [awaited, in_a_thread])


@ways
@every_kind
def test_an_event_that_nobody_takes_ends_nothing(
    ask: Callable[..., Run], kind: type[BaseException], store: TraceStore, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[StreamEvent] = []

    def on_event(event: StreamEvent) -> None:
        seen.append(event)
        raise kind("no")

    run = ask(agent(store), on_event=on_event)
    assert (run.status, run.answer) == ("completed", "Done.")
    assert isinstance(seen[0], Started)
    assert isinstance(seen[-1], Ended)
    assert list(store.open_runs()) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"on_event failed ({kind.__name__}: no); the run goes on"
    ]


@every_kind
def test_a_step_that_nobody_takes_ends_nothing(kind: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    def on_step(step: object) -> None:
        raise kind

    run = in_a_thread(agent(), on_step=on_step)
    assert (run.status, run.answer) == ("completed", "Done.")
    assert caplog.messages == [f"on_step failed ({kind.__name__}); the run goes on"]


@pytest.mark.parametrize("kind", MEANT_FOR_THE_PROGRAM)
def test_a_callback_of_the_main_thread_can_end_the_program(kind: type[BaseException], store: TraceStore) -> None:
    def on_step(step: object) -> None:
        raise kind

    with pytest.raises(kind):
        agent(store).ask("?", on_step=on_step)
    assert [run.busy for run in store.open_runs()] == [False]


@ways
@every_kind
def test_a_confirmer_that_fails_has_not_approved(
    ask: Callable[..., Run], kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def confirm(question: Question) -> Approval:
        raise kind("no")

    run = ask(agent(confirm=confirm, requires_confirmation=True))
    assert run.status == "completed"
    assert run.steps[0].error == "APPROVAL_REQUIRED"
    assert run.steps[0].observation["feedback"] == f"Asking for confirmation failed: {kind.__name__}: no"
    assert caplog.messages == [f"the function that confirms calls failed ({kind.__name__}: no); f was not run"]


def test_a_confirmer_that_gives_no_approval_has_not_approved() -> None:
    run = agent(confirm=lambda question: True, requires_confirmation=True).ask("?")  # pyright: ignore
    assert run.steps[0].observation["feedback"] == "Asking for confirmation failed: it returned bool, not an Approval"


def test_what_keeps_decisions_from_being_read_is_no_fault_of_the_confirmer() -> None:
    def confirm(question: Question) -> Approval:
        raise StorageError("the disk is gone")

    run = agent(confirm=confirm, requires_confirmation=True).ask("?")
    assert (run.status, run.termination_reason) == ("failed", "storage_error")


@ways
@every_kind
def test_a_function_that_fails_to_say_whether_to_ask_means_yes(
    ask: Callable[..., Run], kind: type[BaseException]
) -> None:
    def asked(args: dict[str, Any]) -> bool:
        raise kind

    run = ask(agent(confirm="never", requires_confirmation=asked))
    assert [step.error for step in run.steps] == ["APPROVAL_REQUIRED"]


@pytest.mark.parametrize("ask", [awaited, in_a_thread])
def test_a_function_that_never_says_whether_to_ask_means_yes_after_a_time(
    ask: Callable[..., Run], caplog: pytest.LogCaptureFixture
) -> None:
    release = threading.Event()

    def asked(args: dict[str, Any]) -> bool:
        return release.wait(60)

    run = ask(agent(confirm="never", requires_confirmation=asked, timeout_s=0.2))
    release.set()
    assert [step.error for step in run.steps] == ["APPROVAL_REQUIRED"]
    assert caplog.messages == [
        "tool 'f': requires_confirmation failed (it took more than 0.2 s); asking for confirmation"
    ]


def test_the_event_loop_is_free_while_a_tool_says_whether_to_ask() -> None:
    asked, free = threading.Event(), threading.Event()

    def asks(args: dict[str, Any]) -> bool:
        asked.set()
        return not free.wait(60)

    async def main() -> Run:
        async def watch() -> None:
            while not asked.is_set():
                await asyncio.sleep(0.001)
            free.set()

        watching = asyncio.create_task(watch())
        run = await agent(requires_confirmation=asks).aask("?")
        await watching
        return run

    assert asyncio.run(main()).steps[0].observation == "well"


@ways
@every_kind
@pytest.mark.parametrize("at", [BeforeTool, BeforeFinish])
def test_a_rule_that_fails_stops_the_run(
    ask: Callable[..., Run], kind: type[BaseException], at: type[Event], store: TraceStore
) -> None:
    def fragile(run: Run, event: Event) -> None:
        if isinstance(event, at):
            raise kind("no")

    run = ask(agent(store, rules=[fragile]))
    assert (run.status, run.termination_reason) == ("stopped", "rule_failed")
    assert run.error is not None
    assert run.error["message"].endswith(f".fragile failed: {kind.__name__}: no")
    assert list(store.open_runs()) == []


@pytest.mark.parametrize("kind", MEANT_FOR_THE_PROGRAM)
def test_a_rule_of_the_main_thread_can_end_the_program(kind: type[BaseException]) -> None:
    def fragile(run: Run, event: Event) -> None:
        raise kind

    with pytest.raises(kind):
        agent(rules=[fragile]).ask("?")


def test_a_rule_that_gives_no_verdict_stops_the_run() -> None:
    class Odd:
        def __call__(self, run: Run, event: Event) -> Any:
            return "no"

        def __repr__(self) -> str:
            return "odd"

    run = agent(rules=[Odd()]).ask("?")
    assert run.error is not None
    assert run.error["message"] == "the rule odd failed: it returned str, not a verdict"

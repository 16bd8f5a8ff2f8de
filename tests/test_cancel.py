"""Ctrl-C: the run ends, is on record, and says that it was interrupted."""

import asyncio
import signal
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent import MicroAgent, Run, configure_lm, tool
from micro_agent.cancel import Cancel, RunInterrupted
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, text
from micro_agent.traces import TraceStore
from tests.warm import Warm

CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in the background with it ignored

from micro_agent import MicroAgent, configure_lm
from micro_agent.cancel import RunInterrupted
from micro_agent.traces import TraceStore

def slow() -> int:
    '''Take long.'''
    print("under way", flush=True)
    time.sleep(60)
    return 1

url, traces, state = sys.argv[1:]
lm = configure_lm("openai", "scripted", url)
agent = MicroAgent(tools=[slow], lm=lm, rules=[], traces=TraceStore(traces, state_dir=state))
try:
    agent.ask("?")
except RunInterrupted as interrupted:
    run = interrupted.run
    print(run.id, run.status, run.termination_reason, flush=True)
"""


def interrupted(store: TraceStore, warm: Warm, script: list[Reply], *, in_tool: bool) -> Run:
    """The run of a child that got SIGINT while its model, or its tool, was slow."""
    under_way = threading.Event()

    def play(request: Received) -> Reply:
        under_way.set()
        return script[len(request.messages) // 3]

    with ModelServer(play) as server:
        child = warm.start("-c", CHILD, server.openai_url, store.directory, store.state_dir, stdout=subprocess.PIPE)
        assert child.stdout is not None
        if in_tool:
            assert child.stdout.readline() == b"under way\n"
        else:
            assert under_way.wait(60)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    run_id, status, reason = said.decode().split()
    assert (child.returncode, status, reason) == (0, "stopped", "cancelled")
    return store.load(run_id)


def test_ctrl_c_during_a_slow_model_call(store: TraceStore, warm: Warm) -> None:
    run = interrupted(store, warm, [text("too late", delay_s=60)], in_tool=False)
    assert (run.status, run.termination_reason, run.answer, run.steps) == ("stopped", "cancelled", None, [])
    assert store.open_runs() == []


def test_ctrl_c_during_a_slow_tool(store: TraceStore, warm: Warm) -> None:
    run = interrupted(store, warm, [calls(("slow", {}), ("slow", {}))], in_tool=True)
    assert (run.status, run.termination_reason, run.answer) == ("stopped", "cancelled", None)
    assert [step.error for step in run.steps] == ["INTERRUPTED", "NOT_RUN"]
    assert store.open_runs() == []


def pressed() -> int:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
    return 1


@pytest.fixture
def _default_handler() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Python's own handler, also where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_default_handler")
def test_the_interrupt_carries_the_run(store: TraceStore) -> None:
    once = tool(timeout_s=None)(pressed)
    agent = MicroAgent(tools=[once], lm=ScriptedLM([call("pressed", {})]), rules=[], traces=store)
    with pytest.raises(RunInterrupted) as caught:
        agent.ask("?")
    run = caught.value.run
    assert str(caught.value) == f"run {run.id} was cancelled"
    assert isinstance(caught.value, KeyboardInterrupt)
    assert store.load(run.id) == run
    assert run.steps[0].error == "INTERRUPTED"


def test_a_handler_breaks_into_an_effect_and_never_into_the_bookkeeping() -> None:
    cancel = Cancel()
    cancel.interrupt(signal.SIGINT, None)
    assert cancel.is_set()
    cancel.performing = True
    with pytest.raises(KeyboardInterrupt):
        cancel.interrupt(signal.SIGINT, None)
    cancel.interrupt(signal.SIGINT, None)  # a second Ctrl-C does not break into what the first one set going


def test_a_handler_in_place_of_pythons_own_ends_the_run(tmp_path: Path, warm: Warm) -> None:
    script = textwrap.dedent("""
        import signal, sys
        from micro_agent import MicroAgent, tool
        from micro_agent.cancel import Cancel, RunInterrupted
        from micro_agent.testing import ScriptedLM, call

        def pressed() -> int:
            '''Press Ctrl-C.'''
            signal.raise_signal(signal.SIGINT)
            return 1

        cancel = Cancel()
        signal.signal(signal.SIGINT, cancel.interrupt)
        agent = MicroAgent(tools=[tool(timeout_s=None)(pressed)], lm=ScriptedLM([call("pressed", {})]), rules=[])
        try:
            agent.ask("?", cancel=cancel)
        except RunInterrupted as interrupted:
            print(interrupted.run.termination_reason)
    """)
    done = warm.run("-c", script, cwd=tmp_path)
    assert done.stdout == "cancelled\n", done.stderr


def suspended_in_its_tool(store: TraceStore, *, asynchronous: bool) -> tuple[MicroAgent, Run]:
    """A run that was suspended while its tool ran, as an agent with the rest of the script would find it."""
    cancel = Cancel()

    @tool
    def leave() -> str:
        """Suspend the run."""
        cancel.suspend()
        return "left"

    agent = MicroAgent(tools=[leave], lm=ScriptedLM([call("leave", {}), text("Back again.")]), rules=[], traces=store)
    run = asyncio.run(agent.aask("?", cancel=cancel)) if asynchronous else agent.ask("?", cancel=cancel)
    return agent, run


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_suspended_run_is_left_as_it_is_and_goes_on_when_it_is_resumed(store: TraceStore, asynchronous: bool) -> None:
    agent, run = suspended_in_its_tool(store, asynchronous=asynchronous)
    assert (run.status, run.termination_reason, [step.observation for step in run.steps]) == ("running", None, ["left"])
    assert list(store.ids()) == []
    assert [(one.id, one.status, one.busy) for one in store.open_runs()] == [(run.id, "running", False)]
    resumed = agent.resume(run.id)
    assert (resumed.status, resumed.answer, len(resumed.steps)) == ("completed", "Back again.", 1)


def test_a_task_that_is_cancelled_after_it_was_suspended_ends_nothing(store: TraceStore) -> None:
    cancel = Cancel()

    async def leave_during_the_call() -> None:
        asked = asyncio.Event()
        loop = asyncio.get_running_loop()

        def reply(request: Received) -> Reply:
            loop.call_soon_threadsafe(asked.set)
            return text("Too late.", delay_s=20)

        with ModelServer(reply) as server:
            lm = configure_lm("openai", "scripted", server.openai_url, "k")
            task = asyncio.create_task(MicroAgent(tools=[], lm=lm, rules=[], traces=store).aask("?", cancel=cancel))
            await asked.wait()
            cancel.suspend()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(leave_during_the_call())
    (left,) = store.open_runs()
    assert (left.status, left.busy, list(store.ids())) == ("running", False, [])
    resumed = MicroAgent(tools=[], lm=ScriptedLM([text("In time.")]), rules=[], traces=store).resume(left.id)
    assert resumed.answer == "In time."


def test_a_run_that_is_awaited_ends_when_it_is_cancelled_from_outside(store: TraceStore) -> None:
    cancel = Cancel()

    @tool
    def stop() -> str:
        """Cancel the run."""
        cancel.set()
        return "stopped"

    lm = ScriptedLM([call("stop", {}), text("Not asked for.")])
    run = asyncio.run(MicroAgent(tools=[stop], lm=lm, rules=[], traces=store).aask("?", cancel=cancel))
    assert (run.status, run.termination_reason, len(run.calls)) == ("stopped", "cancelled", 1)
    assert store.load(run.id).status == "stopped"

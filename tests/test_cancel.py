"""Ctrl-C: the run ends, is on record, and says that it was interrupted."""

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from micro_agent import MicroAgent, Run, tool
from micro_agent.cancel import Cancel, RunInterrupted
from micro_agent.testing import ModelServer, Received, Reply, ScriptedLM, call, calls, text
from micro_agent.traces import TraceStore

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


def interrupted(store: TraceStore, script: list[Reply], *, in_tool: bool) -> Run:
    """The run of a child that got SIGINT while its model, or its tool, was slow."""
    under_way = threading.Event()

    def play(request: Received) -> Reply:
        under_way.set()
        return script[len(request.messages) // 3]

    with ModelServer(play) as server:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, server.openai_url, str(store.directory), str(store.state_dir)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        if in_tool:
            assert child.stdout.readline() == "under way\n"
        else:
            assert under_way.wait(60)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
    run_id, status, reason = said.split()
    assert (child.returncode, status, reason) == (0, "stopped", "cancelled")
    return store.load(run_id)


def test_ctrl_c_during_a_slow_model_call(store: TraceStore) -> None:
    run = interrupted(store, [text("too late", delay_s=60)], in_tool=False)
    assert (run.status, run.termination_reason, run.answer, run.steps) == ("stopped", "cancelled", None, [])
    assert store.open_runs() == []


def test_ctrl_c_during_a_slow_tool(store: TraceStore) -> None:
    run = interrupted(store, [calls(("slow", {}), ("slow", {}))], in_tool=True)
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


def test_a_handler_in_place_of_pythons_own_ends_the_run(store: TraceStore, tmp_path: Path) -> None:
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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "cancelled\n"

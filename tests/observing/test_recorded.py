"""What a run notes for its spans: when things began, what ran in a sandbox, the word of a person."""

from pathlib import Path
from typing import Any

import pytest

from micro_agent import MicroAgent, Tool
from micro_agent.coding.sandbox import Stage
from micro_agent.coding.sandbox.clone import Clone
from micro_agent.observing import spans_of
from micro_agent.run import Run
from micro_agent.run.times import instant, seconds_between
from micro_agent.running.asked_within import MOST_PROGRAMS, cut_argv
from micro_agent.testing import ScriptedLM, calls, text
from micro_agent.traces import TraceStore

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]}


@pytest.fixture
def shell(tmp_path: Path) -> Tool:
    """A tool that runs programs in the sandbox that needs no support of the system."""
    root, state = tmp_path / "repo", tmp_path / "private"
    root.mkdir()
    state.mkdir()
    sandbox = Clone(root, state)

    def run(times: int) -> str:
        for _ in range(times):
            sandbox.run([Stage(("echo", "x" * 500)), Stage(("cat",))], "ro")
        return "ran"

    return Tool("run", "Run.", SCHEMA, run, read_only=True)


def test_programs_are_noted_with_the_call_that_ran_them(shell: Tool, store: TraceStore) -> None:
    lm = ScriptedLM([calls(("run", {"times": 1}), ("run", {"times": 2}), ("run", {"times": 0})), text("Done.")])
    agent = MicroAgent(tools=[shell], lm=lm, rules=[], traces=store, finish="text")
    run = store.load(agent.ask("Run.").id)
    once, twice, never = run.steps
    assert once.programs is not None
    assert twice.programs is not None
    assert (len(once.programs), len(twice.programs), never.programs) == (1, 2, None)
    (program,) = once.programs
    assert program.keys() == {"at", "kind", "profile", "argv", "exit", "timed_out", "seconds"}
    assert [program[name] for name in ("kind", "profile", "exit", "timed_out")] == ["clone", "ro", 0, False]
    assert program["argv"] == [["echo", "x" * 199 + "…"], ["cat"]]
    assert run.ts <= (run.calls[0].at or "") <= (once.at or "") <= program["at"]
    below = [span.name for span in spans_of(run) if span.name.startswith("sandbox.")]
    assert below == ["sandbox.echo"] * 3


def test_what_is_noted_of_programs_is_bounded(monkeypatch: pytest.MonkeyPatch, shell: Tool) -> None:
    monkeypatch.setattr("micro_agent.running.asked_within.MOST_PROGRAMS", 2)
    assert MOST_PROGRAMS == 50
    lm = ScriptedLM([calls(("run", {"times": 3})), text("Done.")])
    run = MicroAgent(tools=[shell], lm=lm, rules=[], finish="text").ask("Run.")
    assert len(run.steps[0].programs or ()) == 2
    assert cut_argv([str(number) for number in range(40)]) == [*map(str, range(29)), "…"]


def test_what_runs_outside_of_a_tool_is_noted_nowhere(shell: Tool) -> None:
    assert shell.handler(times=1) == "ran"


def test_times_are_read_back_or_not_known() -> None:
    assert instant(Run(question="?", ts="1970-01-01T00:00:01.500Z").ts) == 1.5
    assert [instant(wrong) for wrong in (None, "soon", "2026-01-01T00:00:00")] == [None, None, None]
    assert seconds_between("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:03.250Z") == 2.25
    assert seconds_between("1970-01-01T00:00:03.000Z", "1970-01-01T00:00:01.000Z") == 0.0
    assert seconds_between(None, "1970-01-01T00:00:03.000Z") is None

"""A plan from the command line: real git, tools and sandbox; the model is scripted."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from micro_agent.cli.agent_options import AgentOptions
from micro_agent.cli.code_plan import Leaving, run_plan
from micro_agent.cli.options import Approve
from micro_agent.coding.workplace import store_of
from micro_agent.testing import ModelServer, call, hang, text
from tests.coding.repositories import repository
from tests.plans.playing import Model
from tests.warm import Warm, empty_environment

PLAN = """\
tasks:
  - {id: look, task: Look for the fault.}
  - {id: fix, task: Fix it., depends_on: [look]}
  - {id: tell, task: Tell of it., depends_on: [fix]}
"""
EDIT = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}
TEST = call("run_tests", {"test_cmd": "python3 -m unittest -q"})
PROGRAM = """
import sys
from pathlib import Path
import typer
from micro_agent.cli import code_plan
from micro_agent.cli.agent_options import AgentOptions
options = AgentOptions(repo=Path(sys.argv[1]), provider="openai", base_url=sys.argv[2], model="scripted")
try:
    code_plan.run_plan(Path(sys.argv[3]), options.made)
except typer.Exit as end:
    sys.exit(end.exit_code)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a repository, a plan, and a state of its own."""
    for name, value in {
        "MICRO_AGENT_STATE_DIR": str(tmp_path / "state"),
        "RESAMPLES": "0",
        "MAX_TOKENS": "1024",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    repository(tmp_path / "sums")
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def ends(place: Path, url: str, **options: Any) -> int:
    """The exit code of `micro-agent code plan plan.yaml` there."""
    made = AgentOptions(repo=place / "sums", provider="openai", base_url=url, model="scripted", max_steps=9)
    with pytest.raises(typer.Exit) as ended:
        run_plan(place / "plan.yaml", made.made, **options)
    return ended.value.exit_code


def test_a_plan_pauses_is_approved_and_goes_on(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["micro-agent", "code", "plan", "plan.yaml", "--repo", "sums dir"])
    model = Model({
        "Look": [call("read_file", {"path": "sums.py"}), text("add subtracts.")],
        "Fix": [call("edit_file", EDIT), text("It adds.")],
    })  # fmt: skip
    with ModelServer(model) as server:
        assert ends(place, server.openai_url) == 4
        paused = capsys.readouterr()
        assert paused.out == "look  completed  add subtracts.\nfix   paused\ntell  pending\n"
        assert re.match(r"look: begins, run \w{32}\nlook: completed\nfix: begins, run \w{32}\n", paused.err), paused.err
        assert "fix is waiting for confirmation:\n  edit_file" in paused.err
        assert "  | +    return a + b\n" in paused.err
        decide = re.search(r"Decide:  micro-agent approve (\w{32}) --repo (\S+)   or   micro-agent reject ", paused.err)
        assert decide is not None
        assert decide[2] == str(place / "sums")
        assert "\nGo on:   micro-agent code plan plan.yaml --repo 'sums dir'\nState: " in paused.err
        store_of(place / "sums").decide(decide[1], "approve")
        assert ends(place, server.openai_url) == 0
        done = capsys.readouterr()
        assert done.out == "look  completed  add subtracts.\nfix   completed  It adds.\ntell  completed  Done.\n"
        assert done.err.startswith("fix: completed\ntell: begins")
    assert (place / "sums/sums.py").read_text() == "def add(a, b):\n    return a + b\n"


def test_what_happens_can_be_read_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = Model({"Look": [text("Nothing.")], "Fix": [*[call("git_status", {})] * 9]})
    with ModelServer(model) as server:
        assert ends(place, server.openai_url, as_json=True, state=place / "s.json") == 3
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["event"], line.get("task"), line.get("status")) for line in lines] == [
        ("task_begun", "look", None), ("task_complete", "look", "completed"), ("task_begun", "fix", None),
        ("task_complete", "fix", "stopped"), ("task_complete", "tell", "blocked"), ("plan", None, "stopped"),
    ]  # fmt: skip
    assert lines[-1]["state"] == str(place / "s.json")
    assert lines[-1]["task_status"] == {"look": "completed", "fix": "stopped", "tell": "blocked"}


def test_failing_tests_in_the_sandbox_lead_to_a_correction(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "sums/test_sums.py").write_text(
        "import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n"
        "        self.assertEqual(add(2, 3), 5)\n"
    )
    (place / "plan.yaml").write_text(
        "tasks: [{id: a, task: Fix it.}, {id: b, task: b, depends_on: [a]}, {id: c, task: c, depends_on: [b]}]"
    )
    model = Model({
        "Fix": [call("edit_file", {**EDIT, "replacement": "a * b"}), TEST, text("Fixed.")],
        "Tests fail": [call("edit_file", {**EDIT, "target": "a * b"}), TEST, text("Now it adds.")],
        "b": [call("git_status", {})] * 9,
    })  # fmt: skip
    options = AgentOptions(repo=place / "sums", provider="openai", model="scripted", approve=Approve.all)
    with ModelServer(model) as server, pytest.raises(typer.Exit):
        run_plan(place / "plan.yaml", replace(options, base_url=server.openai_url).made)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:2] == ["a      needs_fix  Fixed.", "b      stopped    repetition"]
    assert shown.out.splitlines()[2:] == ["c      blocked", "fix_a  completed  Now it adds."]
    assert "c: blocked, since a task that it depends on went wrong\n" in shown.err
    assert "a: tests fail; fix_a is to fix them\n" in shown.err
    assert "assert" in model.questions[1] or "AssertionError: 6 != 5" in model.questions[1]


def test_ctrl_c_leaves_the_run_to_be_gone_on_with(
    place: Path, warm: Warm, soon: Callable[[Callable[[], object]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "plan.yaml").write_text("tasks: [{id: a, task: Do it.}]")
    model = Model({"Do": [call("git_status", {}), hang(60)]})
    with ModelServer(model) as server:
        env = {**empty_environment(place), "MICRO_AGENT_STATE_DIR": str(place / "state"), "RESAMPLES": "0"}
        process = warm.start(
            "-c", PROGRAM, place / "sums", server.openai_url, place / "plan.yaml", cwd=place, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        soon(lambda: len(model.asked) == 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.wait(), out) == (130, b"a  running\n"), err
        assert b"Go on:   micro-agent" in err
        model.replies = {"Do": [call("git_status", {}), text("Well done.")]}
        assert ends(place, server.openai_url) == 0
    assert capsys.readouterr().out == "a  completed  Well done.\n"
    assert len(list((place / "state/repos").glob("*/traces/*.jsonl"))) == 1


def test_a_signal_breaks_into_what_is_done_and_not_into_what_is_written_down() -> None:
    leaving = Leaving()
    leaving.interrupt()
    assert (leaving.suspended, leaving.is_set()) == (True, False)
    leaving.performing = True
    with pytest.raises(SystemExit):
        leaving.interrupt()

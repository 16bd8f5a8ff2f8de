"""`micro-agent code plan FILE`: real git, tools and sandbox; the model is scripted."""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from micro_agent.coding.workplace import store_of
from micro_agent.plans.leaving import Leaving
from micro_agent.testing import ModelServer, call, hang, text
from tests.cli.conftest import Cli, Command, Done
from tests.coding.repositories import repository
from tests.plans.playing import Model

PLAN = """\
tasks:
  - {id: look, task: Look for the fault.}
  - {id: fix, task: Fix it., depends_on: [look]}
  - {id: tell, task: Tell of it., depends_on: [fix]}
"""
EDIT = {"path": "sums.py", "target": "a - b", "replacement": "a + b"}
TEST = call("run_tests", {"test_cmd": "python3 -m unittest -q"})
STATUS = call("git_status", {})
UNIT = """\
import unittest
from sums import add


class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a repository, a plan, and a state of its own."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("RESAMPLES", "0")
    repository(tmp_path / "sums")
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def words(server: ModelServer, *more: str) -> list[str]:
    """The command about that plan, and the options that name the model."""
    asked = ["--provider", "openai", "--base-url", server.openai_url, "--model", "scripted", "--gates", "off"]
    return ["code", "plan", "plan.yaml", "--repo", "sums", *asked, *more]


def test_a_plan_pauses_is_approved_and_goes_on(place: Path, command: Command) -> None:
    model = Model({
        "Look": [call("read_file", {"path": "sums.py"}), text("add subtracts.")],
        "Fix": [call("edit_file", EDIT), text("It adds.")],
    })  # fmt: skip
    with ModelServer(model) as server:
        paused = command(*words(server, "--system", "Be brief."))
        assert paused.code == 4, paused
        assert paused.out == "look  completed  add subtracts.\nfix   paused\ntell  pending\n"
        assert re.match(r"look: begins, run \w{32}\nlook: completed\nfix: begins, run \w{32}\n", paused.err), paused.err
        assert "fix is waiting for confirmation:\n  edit_file" in paused.err
        assert "  | +    return a + b\n" in paused.err
        decide = re.search(r"Decide:  micro-agent (approve \w{32} --repo \S+)   or   micro-agent reject ", paused.err)
        assert decide is not None
        assert "\nGo on:   micro-agent code plan plan.yaml --repo sums " in paused.err
        assert " --system 'Be brief.'\nState: " in paused.err
        assert command(*decide[1].split()).code == 0
        done = command(*words(server))
    assert (done.code, done.out) == (
        0,
        "look  completed  add subtracts.\nfix   completed  It adds.\ntell  completed  Done.\n",
    )
    assert done.err.startswith("fix: completed\ntell: begins")
    assert (place / "sums/sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    runs = store_of(place / "sums", state_dir=place / "state")
    assert {runs.load(ident).coach["corrections"] for ident in runs.ids()} == {0}  # pyright: ignore


def test_what_happens_can_be_read_as_json(place: Path, command: Command) -> None:
    model = Model({"Look": [text("Nothing.")], "Fix": [STATUS] * 9})
    with ModelServer(model) as server:
        done = command(*words(server, "--json", "--state", "s.json"))
        again = command(*words(server, "--json", "--state", "s.json", "--retry"))
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["event"], line.get("task"), line.get("status")) for line in lines] == [
        ("task_begun", "look", None), ("task_complete", "look", "completed"), ("task_begun", "fix", None),
        ("task_complete", "fix", "stopped"), ("task_complete", "tell", "blocked"), ("plan", None, "stopped"),
    ]  # fmt: skip
    assert (done.code, lines[-1]["state"], lines[-1]["waiting"]) == (3, "s.json", None)
    assert lines[-1]["task_status"] == {"look": "completed", "fix": "stopped", "tell": "blocked"}
    assert (again.code, json.loads(again.out.splitlines()[0])["task"]) == (3, "fix")


def test_failing_tests_in_the_sandbox_lead_to_a_correction(place: Path, command: Command) -> None:
    (place / "sums/test_sums.py").write_text(UNIT)
    (place / "plan.yaml").write_text(
        "tasks: [{id: a, task: Fix it.}, {id: b, task: b, depends_on: [a]}, {id: c, task: c, depends_on: [b]}]"
    )
    model = Model({
        "Fix": [call("edit_file", {**EDIT, "replacement": "a * b"}), TEST, text("Fixed.")],
        "Tests fail": [call("edit_file", {**EDIT, "target": "a * b"}), TEST, text("Now it adds.")],
        "b": [STATUS] * 9,
    })  # fmt: skip
    with ModelServer(model) as server:
        done = command(*words(server, "--approve", "all"))
    assert done.code == 3, done
    assert done.out.splitlines() == [
        "a      needs_fix  Fixed.",
        "b      stopped    git_status was called 5 times with the same arguments and the same result",
        "c      blocked", "fix_a  completed  Now it adds.",
    ]  # fmt: skip
    assert "a: tests fail; fix_a is to fix them\n" in done.err
    assert "Try what went wrong again:  micro-agent code plan plan.yaml" in done.err
    assert " --approve all --retry\nState: " in done.err
    assert "c: blocked, since a task that it depends on went wrong\n" in done.err
    assert "AssertionError: 6 != 5" in model.questions[1]


def test_ctrl_c_leaves_the_run_to_be_gone_on_with(
    cli: Cli, soon: Callable[[Callable[[], object]], None], tmp_path: Path
) -> None:
    repository(tmp_path / "sums")
    (tmp_path / "plan.yaml").write_text("tasks: [{id: a, task: Do it.}]")
    model = Model({"Do": [STATUS, hang(60)]})
    with ModelServer(model) as server:
        process = cli.start(*words(server))
        soon(lambda: len(model.asked) == 2)
        process.send_signal(signal.SIGINT)
        left: Done = cli.end(process)
        assert (left.code, left.out) == (130, "a  running\n"), left
        assert "Go on:   micro-agent code plan plan.yaml" in left.err
        model.replies = {"Do": [STATUS, text("Well done.")]}
        done = cli(*words(server))
        assert (done.code, done.out) == (0, "a  completed  Well done.\n"), done
    assert len(list(tmp_path.glob(".local/state/micro-agent/repos/*/traces/*.jsonl"))) == 1


def test_a_signal_breaks_into_what_is_done_and_not_into_what_is_written_down() -> None:
    leaving = Leaving()
    leaving.interrupt()
    assert (leaving.suspended, leaving.is_set()) == (True, False)
    leaving.performing = True
    with pytest.raises(SystemExit):
        leaving.interrupt()

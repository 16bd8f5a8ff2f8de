"""A trial in a repository: a copy of its own, what came of it, and how that is scored."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from micro_agent.cancel import Cancel
from micro_agent.coder import coding_agent
from micro_agent.evaluation.coding.asking import ask_in_place
from micro_agent.evaluation.coding.outcome import Hidden, Outcome, outcome_of, premature, with_outcome
from micro_agent.evaluation.coding.places import Place, Places, written
from micro_agent.evaluation.result import Check, Rubric
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trials import Trial
from micro_agent.run import LMCall, Run, Step
from micro_agent.testing import ScriptedLM
from micro_agent.testing.coding_model import CodingModel, Plan

ADD = {"path": "calc.py", "target": "a - b", "replacement": "a + b"}
TEST = """import unittest

from calc import add


class CalcTest(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 3), 5)
"""
TASK = Task.model_validate({
    "id": "calc", "question": "add is wrong: fix it.",
    "repository": {
        "files": {"calc.py": "def add(a, b):\n    return a - b\n", "tests/__init__.py": "", "tests/test_calc.py": TEST},
    },
    "expect_hidden": {"tests/test_hidden.py": TEST.replace("2, 3), 5", "7, 1), 8")},
    "expect_changed": ["calc.py"], "expect_gates": True,
    "plan": {
        "search": "def add", "read": ["calc.py"], "edits": [ADD], "test": "python3 -m unittest -q", "answer": "Done.",
    },
})  # fmt: skip


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with Places() as places:
        yield places


@pytest.fixture
def place(places: Places) -> Iterator[Place]:
    assert TASK.repository is not None
    with places.of(TASK.repository) as place:
        yield place


def git(place: Place, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=place.repo, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def ended(*tools: str, **update: Any) -> Run:
    return Run(question="?", status="completed", steps=[Step(tool=tool) for tool in tools], **update)


def outcome(run: Run, task: Task, place: Place, **options: Any) -> Outcome:
    found = outcome_of(with_outcome(run, task, place, **options))
    assert found is not None
    return found


def checks(task: Task, run: Run) -> dict[str, Check]:
    return {check.name: check for check in score(task, run, Rubric()).checks}


def test_a_task_is_done_in_a_copy_of_its_own_and_judged(places: Places):
    model = CodingModel(Plan.model_validate(TASK.plan), faults=0, follows=1, seed=1)
    seen: list[Path] = []

    def agent(place: Place) -> Any:
        seen.append(place.repo)
        return coding_agent(place.repo, lm=ScriptedLM(model), mode="native", confirm="all", state_dir=place.state)

    known: dict[str, Hidden] = {}
    run = ask_in_place(Trial(TASK), Cancel(), places=places, agent_for=agent, known=known)
    found = outcome_of(Run.model_validate_json(run.model_dump_json()))
    assert found is not None
    assert (found.changed, found.hidden, found.told, found.premature) == (["calc.py"], True, "", None)
    assert found.tokens is not None
    assert found.tokens > 1000
    scored = score(TASK, run, Rubric())
    assert (scored.score, scored.success, [check.name for check in scored.checks]) == (
        1.0, True, ["hidden", "changed", "gates"],
    )  # fmt: skip
    assert TASK.repository is not None
    with places.of(TASK.repository) as place:  # the next one begins anew, in the same folder
        assert place.repo == seen[0]
        assert "a - b" in (place.repo / "calc.py").read_text()
        (place.repo / "calc.py").write_text("def add(a, b):\n    return a + b\n")
        known.update(dict.fromkeys(known, (None, "as noted")))
        assert outcome(ended(), TASK, place, known=known).told == "as noted"


def test_the_same_files_are_the_same_commit(places: Places, place: Place):
    assert TASK.repository is not None
    with places.of(TASK.repository) as other, Places() as more, more.of(TASK.repository) as third:
        assert len({git(one, "rev-parse", "HEAD", "origin/main") for one in (place, other, third)}) == 1
        assert len({place.folder, other.folder, third.folder}) == 3
    assert not third.folder.exists()
    with Places():  # nothing to remove
        pass
    assert git(place, "status", "--porcelain") == ""


def test_all_that_was_changed_is_seen(place: Place):
    (place.repo / "calc.py").chmod(0o755)
    (place.repo / "tests" / "test_calc.py").unlink()
    (place.repo / "new").symlink_to("/etc")
    (place.repo / "tests" / "__pycache__").mkdir()
    (place.repo / "tests" / "__pycache__" / "x.pyc").write_bytes(b"")
    os.mkfifo(place.repo / "pipe")
    (place.repo / ".git" / "hooks").mkdir()
    (place.repo / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (place.folder / "beside" / "keep.txt").write_text("ours")
    git(place, "push", "-q", "origin", "HEAD:refs/heads/keys")
    plain = TASK.model_copy(update={"expect_hidden": None, "expect_changed": []})
    run = with_outcome(ended(), plain, place)
    found = outcome_of(run)
    assert found is not None
    assert set(found.changed) >= {
        "calc.py", "tests/test_calc.py", "new", "pipe", ".git/hooks/pre-push", "../beside/keep.txt",
        "../origin.git/refs/heads/keys",
    }  # fmt: skip
    assert not any("__pycache__" in name or "index" in name or "objects" in name for name in found.changed)
    check = checks(plain, run)["changed"]
    assert not check.passed
    assert check.detail.startswith("expected no change; changed: ")


def test_what_may_be_changed_is_no_fault(place: Place):
    (place.repo / "calc.py").write_text("# other\n")
    (place.repo / "more.py").write_text("")
    run = with_outcome(ended(), TASK, place)
    assert checks(TASK, run)["changed"].detail == "expected no change but in calc.py; changed: more.py"
    wider = TASK.model_copy(update={"expect_changed": ["*.py"]})
    assert checks(wider, run)["changed"].passed


def test_hidden_tests_that_fail_say_how(place: Place):
    run = with_outcome(ended("edit_file", "run_tests"), TASK, place)
    found = outcome_of(run)
    assert found is not None
    assert found.hidden is False
    assert "FAILED" in found.told
    check = checks(TASK, run)["hidden"]
    assert (check.passed, "FAILED" in check.detail) == (False, True)


def test_tests_that_do_not_run_are_no_pass(place: Place):
    assert TASK.repository is not None
    none = TASK.model_copy(update={"expect_hidden": {"notes.txt": "no test\n"}})
    (place.repo / "tests" / "test_calc.py").unlink()
    assert outcome(ended(), none, place).hidden is False
    loose = TASK.model_copy(update={"repository": TASK.repository.model_copy(update={"test": "sudo rm -rf /"})})
    found = outcome(ended(), loose, place)
    assert found.hidden is None
    assert "could not be run" in found.told


def test_a_link_of_the_models_does_not_lead_the_hidden_tests_out(place: Place):
    target = place.folder / "beside" / "keep.txt"
    (place.repo / "tests" / "test_hidden.py").symlink_to(target)
    outcome(ended(), TASK, place)
    assert "unittest" not in target.read_text()


def test_nor_does_a_folder_that_is_a_link(place: Place):
    outside = place.folder / "outside"
    outside.mkdir()
    (outside / "test_hidden.py").symlink_to("kept")
    shutil.rmtree(place.repo / "tests", ignore_errors=True)
    (place.repo / "tests").symlink_to(outside)
    written({"tests/test_hidden.py": TEST}, place.repo)
    assert (place.repo / "tests" / "test_hidden.py").read_text() == TEST
    assert not (place.repo / "tests").is_symlink()
    assert [(path.name, path.is_symlink()) for path in outside.iterdir()] == [("test_hidden.py", True)]


def test_an_answer_before_the_change_or_its_test_came_too_early():
    changed = ["calc.py"]
    assert premature(TASK, ended("rg_search", "read_file", "run_tests"), []) == "no change"
    assert premature(TASK, ended("run_tests", "edit_file"), changed) == "not verified"
    assert premature(TASK, ended("propose_patch", "run_tests", "apply_patch"), changed) == "not verified"
    assert premature(TASK, ended("edit_file", "run_tests"), changed) is None
    assert premature(TASK, ended("run_cmd"), changed) is None
    failed = ended("edit_file")
    failed.steps.append(Step(tool="run_tests", ok=False, error="COMMAND_DENIED"))
    assert premature(TASK, failed, changed) == "not verified"
    assert premature(TASK, ended().model_copy(update={"status": "stopped"}), []) is None
    assert premature(TASK.model_copy(update={"expect_hidden": None}), ended(), []) is None


def test_tokens_that_one_call_does_not_know_are_unknown(place: Place):
    calls = [LMCall(reply={}, request={"tokens": 5}), LMCall(reply={}, request={})]
    plain = TASK.model_copy(update={"expect_hidden": None})
    assert outcome(ended(calls=calls), plain, place).tokens is None
    assert outcome(ended(calls=calls[:1]), plain, place).tokens == 5


def test_a_run_from_elsewhere_has_no_outcome():
    found = checks(TASK, ended())
    for name in ("hidden", "changed"):
        assert found[name].detail.endswith("the run was not asked in the repository of the task")
    assert outcome_of(ended()) is None


def test_gates_are_those_of_the_run():
    gates = {"understanding": True, "change": True, "verification": False, "all_passed": False}
    assert checks(TASK, ended(gates=gates))["gates"].detail == "expected all gates passed; not passed: verification"
    waiting = {"understanding": True, "change": True, "verification": True, "readiness": False, "all_passed": False}
    assert checks(TASK, ended(gates=waiting))["gates"].detail == "expected all gates passed; not passed: readiness"
    assert not checks(TASK, ended())["gates"].passed
    assert checks(TASK, ended(gates={**gates, "all_passed": True}))["gates"].passed
    open_ = TASK.model_copy(update={"expect_gates": False})
    assert checks(open_, ended(gates=gates))["gates"].passed
    assert not checks(open_, ended(gates={"all_passed": True}))["gates"].passed

"""The coding tasks: what is planted fails, the edits of the plan pass, and what a model does wrong does not."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.coding.places import written
from micro_agent.evaluation.coding.repository import TEST_CMD, Change
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.evaluation.datasets.shipped import coding_tasks
from micro_agent.evaluation.rubrics import rubric_for
from micro_agent.evaluation.task import Task
from micro_agent.testing.coding_model import Plan

TASKS = load_tasks(coding_tasks()).tasks
KINDS = {"bug", "feature", "rename", "question", "refusal", "second-look"}
WORK = [task for task in TASKS if task.expect_hidden]
_IN_TURN = """
import io, os, sys, unittest
failed = []
for folder in sys.argv[1:]:
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.path.insert(0, folder)
        suite = unittest.defaultTestLoader.discover(".")
        done = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
        os._exit(0 if done.testsRun and done.wasSuccessful() else 1)
    if os.waitpid(child, 0)[1]:
        failed.append(folder)
print("\\n".join(failed))
"""
"""Runs the tests of many folders in one interpreter, which starts a hundred times as often otherwise."""


def edited(files: dict[str, str], changes: list[Change]) -> dict[str, str]:
    for change in changes:
        files = change.applied(files)
    return files


def changes(task: Task, name: str) -> list[Change]:
    return [Change.model_validate(one.model_dump()) for one in getattr(Plan.model_validate(task.plan), name)]


def in_turn(folders: dict[str, Path]) -> dict[str, bool]:
    """Whether the tests of each folder fail."""
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", _IN_TURN, *map(str, folders.values())],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    failures = set(done.stdout.split())
    return {name: str(folder) in failures for name, folder in folders.items()}


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Whether the tests fail, by the id of the task and the state of its repository."""
    folders: dict[str, Path] = {}
    for task in WORK:
        assert task.repository is not None
        assert task.expect_hidden is not None
        files = task.repository.contents()
        states = {"found": files, "done": edited(files, changes(task, "edits")),
                  "wrong": edited(files, changes(task, "wrong"))}  # fmt: skip
        for state, contents in states.items():
            seen = {"found", "wrong"} if task.tags[0] == "second-look" else set[str]()
            for name, more in {"hidden": task.expect_hidden, **({"visible": {}} if state in seen else {})}.items():
                folder = tmp_path_factory.mktemp("state")
                written(contents, folder)
                written(more, folder)
                folders[f"{task.id} {state} {name}"] = folder
    return in_turn(folders)


def test_there_are_tasks_of_each_kind():
    counts = Counter(task.tags[0] for task in TASKS)
    assert counts.keys() == KINDS
    assert len(TASKS) >= 40
    assert min(counts.values()) >= 5
    assert all(task.repository and task.repository.test == TEST_CMD for task in TASKS)
    assert len({task.question for task in TASKS}) == len(TASKS)


@pytest.mark.torture
def test_hidden_tests_fail_until_the_edits_are_made(failed: dict[str, bool]):
    wrong = {name: is_failed for name, is_failed in failed.items() if name.endswith("hidden")}
    assert {name for name, is_failed in wrong.items() if is_failed == (" done " in name)} == set()


def test_a_second_look_is_needed_where_the_tests_fail_after_the_first_edit(failed: dict[str, bool]):
    seen = {name: is_failed for name, is_failed in failed.items() if name.endswith("visible")}
    assert {name for name, is_failed in seen.items() if is_failed != (" wrong " in name)} == set()


def test_a_wrong_edit_stands_where_a_right_one_belongs():
    for task in WORK:
        right = {(one.path, one.target) for one in changes(task, "edits")}
        assert right >= {(one.path, one.target) for one in changes(task, "wrong")}, task.id


def test_what_is_asked_and_what_is_expected_fit_each_other():
    rubric = rubric_for(coding_tasks(), None)
    assert rubric.weights["gates"] == 0
    for task in TASKS:
        plan, kind = Plan.model_validate(task.plan), task.tags[0]
        assert plan.needs_change == (kind not in ("question", "refusal")) == bool(task.expect_hidden), task.id
        assert bool(task.expect_changed) == plan.needs_change, task.id
        assert (task.expect_gates is None) == (kind == "refusal"), task.id
        if kind == "question":
            assert task.expect_contains or task.expect_regex, task.id


def broken(**update: Any) -> str:
    whole: dict[str, Any] = {"question": "?", "repository": {"files": {"a.py": "x = 1\n"}}, "expect_changed": []}
    with pytest.raises(ValidationError) as caught:
        Task.model_validate({**whole, **update})
    return str(caught.value)


def test_a_task_that_cannot_be_made_says_why():
    planted = {"path": "a.py", "target": "y", "replacement": ""}
    assert "'y' stands there 0 times" in broken(repository={"files": {"a.py": "x"}, "planted": [planted]})
    for path in ("/etc/passwd", "../a", ".git/config", "", "a\0"):
        assert "not a path in a repository" in broken(repository={"files": {path: ""}})
    assert "there is none; give repository" in broken(repository=None)


def test_what_is_wrong_with_a_repository_is_said_with_its_place(tmp_path: Path):
    path = tmp_path / "t.yaml"
    for repository, said in {
        "{fils: {a: b}}": "repository: 'fils' is not a field; did you mean files?",
        "{test: make}": "repository.files: is missing; write it",
        "{files: {a: b}, planted: [{path: a, target: b, replace: c}]}": "'replace' is not a field; did you mean rep",
    }.items():
        path.write_text(f"- {{question: q, expect_changed: [], repository: {repository}}}")
        with pytest.raises(ConfigurationError) as caught:
            load_tasks(path)
        assert said in str(caught.value)


def test_tasks_are_read_from_lines_of_json_as_well(tmp_path: Path):
    task = TASKS[0].model_dump(mode="json", exclude_none=True)
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(task) + "\n")
    assert load_tasks(path).tasks == TASKS[:1]

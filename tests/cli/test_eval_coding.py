"""`micro-agent eval run` on tasks in repositories: the coding agent works in a copy of each."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.coding.coach import CoachSettings
from micro_agent.evaluation import Header, Result, read_results
from micro_agent.evaluation.coding.outcome import outcome_of
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.evaluation.datasets.shipped import coding_tasks
from micro_agent.testing import ModelServer, Received, Reply, text
from micro_agent.testing.coding_model import CodingModel, Plan

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("prose_is_final")

CODING = {task.id: task for task in load_tasks(coding_tasks()).tasks}
FIX = CODING["shelf-bug-low"]
PLANS = {task.question: Plan.model_validate(task.plan) for task in CODING.values()}


@pytest.fixture
def evaluate(command: "Command") -> "Command":
    """``micro-agent eval`` in this process, in a directory with one task in a repository and one without."""
    tasks = [
        FIX.model_dump(mode="json", exclude_none=True),
        {"id": "word", "question": "Say yes.", "expect_contains": "yes"},
    ]
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return partial(command, "eval")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    model = CodingModel(PLANS, faults=0, follows=1, seed=1)

    def both(request: Received) -> Reply:
        return text("yes") if "Say yes." in str(request.messages) else model(request)

    with ModelServer(both) as server:
        yield server


def on(server: ModelServer, *more: str) -> list[str]:
    return ["run", "--base-url", server.openai_url, "--model", "m", "--out", "r.jsonl", "--concurrency", "1", *more]


def results(name: str = "r.jsonl") -> tuple[Header, dict[str, Result]]:
    header, read = read_results(name)
    return header, {result.task.id: result for result in read}


def test_a_task_in_a_repository_is_done_there_beside_one_without(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "--tasks", "tasks.jsonl", "--faults", "0.0001"))
    assert done.code == 0, done.err
    for name in ("r.jsonl", "r-faults.jsonl"):
        header, found = results(name)
        assert header.settings["max_steps"] == 25
        assert header.settings["coach"] == CoachSettings(exemplars=0).record()
        assert {key: result.success for key, result in found.items()} == {FIX.id: True, "word": True}
        outcome = outcome_of(found[FIX.id].run)
        assert outcome is not None
        assert (outcome.changed, outcome.hidden) == (["shelf/report.py"], True)
        assert [check.name for check in found[FIX.id].checks] == ["hidden", "changed", "gates"]
        assert found["word"].run.coach is None
    assert list(Path().glob("*.traces/*.jsonl"))


def test_the_suite_is_asked_by_its_name_and_taken_up_again(
    evaluate: "Command", server: ModelServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GATE_MODE", "warning")
    arguments = on(server, "--suite", "coding", "--tag", "question", "--n", "2")
    assert evaluate(*arguments, "--max-steps", "9").code == 0
    header, found = results()
    assert header.settings["coach"]["gates"] == "warn"
    assert (header.settings["max_steps"], header.rubric.weights["gates"]) == (9, 0)
    assert [result.success for result in found.values()] == [True, True]
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    Path("r.jsonl").write_text("".join(lines[:2]))
    monkeypatch.delenv("GATE_MODE")
    assert evaluate("run", "--resume", "r.jsonl").code == 0
    again = results()[1]
    assert again.keys() == found.keys()
    assert [(result.run.coach or {})["gates"] for result in again.values()] == ["warn", "warn"]
    assert evaluate("report", "r.jsonl").code == 0
    assert "2" in evaluate("compare", "r.jsonl", "r.jsonl").out


def test_a_suite_and_a_file_are_one_too_many(evaluate: "Command", server: ModelServer):
    done = evaluate(*on(server, "--suite", "coding", "--tasks", "tasks.jsonl"))
    assert (done.code, "leave out one of them" in done.err) == (2, True)
    assert not Path("r.jsonl").exists()

"""The metric of training: all checks, a run that completed, and nothing that the loop had to refuse."""

import pytest

from micro_agent import MicroAgent, Run, tool
from micro_agent.evaluation.task import Task
from micro_agent.optimize.judge import judge
from micro_agent.testing import Reply, ScriptedLM, call, error, text

TASK = Task(id="t", question="Add 2 and 3.", expect_number=5, expect_tools=["add"])  # pyright: ignore[reportArgumentType]


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def asked(*script: Reply) -> Run:
    return MicroAgent(tools=[add], lm=ScriptedLM(script), rules=[]).ask(TASK.question)


def test_a_run_without_a_fault_passes() -> None:
    judged = judge(TASK, asked(call("add", {"a": 2, "b": 3}), text("It is 5.")))
    assert (judged.passed, judged.feedback) == (True, "All is right.")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([call("add", {"a": 2, "b": 3}), text("It is 6.")], "number"),
        ([text("It is 5.")], "tools"),
        ([error(400, "no")], "failed"),
        ([call("add", {"a": "two"}), call("add", {"a": 2, "b": 3}), text("It is 5.")], "⛔️validation_error"),
        ([text(""), call("add", {"a": 2, "b": 3}), text("It is 5.")], "⛔️no_action"),
    ],
    ids=["wrong", "no tool", "failed", "bad call first", "empty reply first"],
)
def test_a_run_with_a_fault_does_not_and_is_told_why(script: list[Reply], told: str) -> None:
    judged = judge(TASK, asked(*script))
    assert not judged.passed
    assert told in judged.feedback
    assert judged.feedback.splitlines()[0] == "Not right."


def test_the_feedback_holds_the_answer() -> None:
    assert "The answer was: It is 6." in judge(TASK, asked(text("It is 6."))).feedback
    assert "There was no answer." in judge(TASK, asked(error(400, "no"))).feedback


def test_a_run_that_had_to_be_told_about_its_tool_does_not_pass() -> None:
    script = [text("It is 16."), call("calculator", {"expression": "2*8"}), text("It is 16.")]
    run = MicroAgent(lm=ScriptedLM(script)).ask("What is 2*8?")
    task = Task(id="t", question="What is 2*8?", expect_number=16)  # pyright: ignore[reportArgumentType]
    assert run.status == "completed"
    assert not judge(task, run).passed

"""The tasks that failed, as they are named on a terminal."""

from typing import Any

from micro_agent.evaluation.failing import failing_lines
from micro_agent.evaluation.result import Check, Header, Result
from micro_agent.evaluation.task import ExpectedNumber, Task
from micro_agent.run import Run


def result(task: str, *, ok: bool = False, epoch: int = 0, detail: str = "no 5", **run: Any) -> Result:
    ended: dict[str, Any] = {"status": "completed", "termination_reason": "final"} | run
    checks = [Check(name="number", passed=ok, detail=detail), Check(name="tools", passed=True)]
    return Result(
        task=Task(id=task, question="?", expect_number=ExpectedNumber(value=5)), epoch=epoch,
        run=Run(question="?", **ended), checks=checks, score=float(ok), success=ok,
        trace=f"r.traces/{task}-{epoch}.jsonl",
    )  # fmt: skip


def lines(*results: Result, tasks: int = 0) -> list[str]:
    names = [f"t{n}" for n in range(tasks)] or list(dict.fromkeys(one.task.id for one in results))
    return list(failing_lines(Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=names), results))


def test_nothing_is_said_when_all_is_well():
    assert lines(result("a", ok=True)) == []
    assert lines() == []


def test_they_stand_in_the_order_of_the_eval_each_with_what_failed():
    stopped = result("t2", status="stopped", termination_reason="max_steps")
    broken = result("t0", status="failed", termination_reason="lm_error", error={"code": "X", "message": "gone\naway"})
    assert lines(stopped, result("t1", ok=True), broken, tasks=4) == [
        "failed: 2 of 3 tasks",
        "  t0  lm_error: gone away",
        "  t2  max_steps",
        "show the first: micro-agent replay --path r.traces/t0-0.jsonl",
    ]


def test_of_epochs_the_first_that_failed_counts():
    trials = [result("a", ok=True), result("a", epoch=1), result("a", epoch=2, detail="another")]
    assert lines(*trials) == [
        "failed: 1 of 1 task",
        "  a  in 2 of 3 epochs, number: no 5",
        "show the first: micro-agent replay --path r.traces/a-1.jsonl",
    ]


def test_ten_are_named_on_a_line_each_and_the_others_counted():
    many = lines(*(result(f"t{n}", detail="long \x1b[2J" * 40) for n in range(12)), tasks=12)
    assert len(many) == 1 + 10 + 2
    assert many[11] == "  … and 2 more"
    assert all(len(line) <= 100 and "\x1b" not in line for line in many)
    assert many[1].startswith("  t0  number: long \\x1b[2Jlong")
    assert many[1].endswith("…")


def test_without_a_trace_there_is_no_command():
    one = result("a")
    one.trace = None
    assert lines(one) == ["failed: 1 of 1 task", "  a  number: no 5"]

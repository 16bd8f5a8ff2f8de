"""``expect_gates``: the gates of the coding agent, at the end of the run."""

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run

_GATES = ("understanding", "change", "verification")


def check(task: Task, run: Run) -> Check | None:
    """Whether all of them passed, or some did not, as expected; ``None`` if nothing is expected."""
    if task.expect_gates is None:
        return None
    gates = run.gates or {}
    if bool(gates.get("all_passed")) == task.expect_gates:
        return met("gates")
    if not task.expect_gates:
        return unmet("gates", "a gate that is not passed", "all passed")
    left = ", ".join(name for name in _GATES if not gates.get(name))
    return unmet("gates", "all gates passed", f"not passed: {left}")

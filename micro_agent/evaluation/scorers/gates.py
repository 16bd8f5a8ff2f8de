"""``expect_gates``: the gates of the coding agent, at the end of the run."""

from micro_agent.coding.gates import GATES
from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether all of them passed, or some did not, as expected; ``None`` if nothing is expected."""
    if task.expect_gates is None:
        return None
    gates = run.gates or {}
    if bool(gates.get("all_passed")) == task.expect_gates:
        return met("gates")
    if not task.expect_gates:
        return unmet("gates", "a gate that is not passed", "all passed")
    left = [name for name in GATES if not gates.get(name)]
    # The last one follows from those before it, and is told where it alone does not pass.
    return unmet("gates", "all gates passed", f"not passed: {', '.join(left[:-1] or left)}")

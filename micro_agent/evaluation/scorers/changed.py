"""``expect_changed``: the files that may be changed."""

from fnmatch import fnmatchcase

from micro_agent.evaluation.coding.outcome import outcome_of
from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether nothing else was changed, in the repository, its git or beside it; ``None`` if nothing is expected."""
    allowed = task.expect_changed
    if allowed is None:
        return None
    expected = f"no change but in {', '.join(allowed)}" if allowed else "no change"
    outcome = outcome_of(run)
    if outcome is None:
        return unmet("changed", expected, "the run was not asked in the repository of the task")
    others = [name for name in outcome.changed if not any(fnmatchcase(name, pattern) for pattern in allowed)]
    return unmet("changed", expected, f"changed: {', '.join(others)}") if others else met("changed")

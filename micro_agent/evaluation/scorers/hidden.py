"""``expect_hidden``: tests that the model never saw."""

from micro_agent.evaluation.coding.outcome import outcome_of
from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether they passed in the repository as the run left it; ``None`` if there are none."""
    if task.expect_hidden is None:
        return None
    outcome = outcome_of(run)
    if outcome is None:
        return unmet("hidden", "passing hidden tests", "the run was not asked in the repository of the task")
    return met("hidden") if outcome.hidden else unmet("hidden", "passing hidden tests", quoted(outcome.told[-80:]))

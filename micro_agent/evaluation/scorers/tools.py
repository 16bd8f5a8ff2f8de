"""``expect_tools``: tools that were called."""

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether each tool was called with success; ``[]``: none was called at all; ``None``: nothing expected."""
    if task.expect_tools is None:
        return None
    called = list(dict.fromkeys(step.tool for step in run.steps if step.is_tool))
    if not task.expect_tools:
        return unmet("tools", "no tool call", f"called: {_names(called)}") if called else met("tools")
    succeeded = list(dict.fromkeys(step.tool for step in run.steps if step.is_tool and step.ok))
    missing = [name for name in task.expect_tools if name not in succeeded]
    return unmet("tools", _names(missing), f"called with success: {_names(succeeded)}") if missing else met("tools")


def _names(names: list[str]) -> str:
    return ", ".join(names) or "none"

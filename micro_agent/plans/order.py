"""Which task is next: a task begins when those that it depends on, with their corrections, are completed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.plans.plan import Plan
from micro_agent.plans.state import PlanState

_BAD = ("failed", "stopped", "blocked")


@dataclass(frozen=True, slots=True)
class Node:
    """A task of the plan, or a correction of one."""

    id: str
    task: str
    verify: str | None
    depends_on: Sequence[str]
    """The tasks whose results it is told of: their ids in the plan."""
    fixes: str | None = None
    """The task that it corrects."""


def chain(plan: Plan, state: PlanState, task: str) -> list[Node]:
    """A task, and behind it its corrections."""
    (own,) = (one for one in plan.tasks if one.id == task)
    fixes = [_fix(fix) for fix in state.fixes if fix["fixes"] == task]
    return [Node(own.id, own.task, own.verify, own.depends_on), *fixes]


def next_node(plan: Plan, state: PlanState) -> Node | None:
    """What is to be done now: a run that was begun, else the first task that may begin; ``None``: nothing more."""
    last = {task.id: chain(plan, state, task.id)[-1] for task in plan.tasks}
    status = {task: state.task_status[node.id] for task, node in last.items()}
    begun = [node for task, node in last.items() if status[task] in ("running", "paused")]
    ready = [
        last[task.id] for task in plan.tasks
        if status[task.id] == "pending" and all(status[other] == "completed" for other in task.depends_on)
    ]  # fmt: skip
    return next(iter([*begun, *ready]), None)


def blocked(plan: Plan, state: PlanState) -> Iterator[str]:
    """The tasks that can never begin, since one that they depend on went wrong."""
    ends = {task.id: state.task_status[chain(plan, state, task.id)[-1].id] for task in plan.tasks}
    found = True
    while found:
        found = False
        for task in plan.tasks:
            if ends[task.id] == "pending" and any(ends[other] in _BAD for other in task.depends_on):
                ends[task.id], found = "blocked", True
                yield task.id


def _fix(fix: Mapping[str, Any]) -> Node:
    return Node(fix["id"], fix["task"], fix["verify"], (), fix["fixes"])

"""A plan: tasks for an agent, and which of them depend on which."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.files.jsonl import encode
from micro_agent.plans.reading import read_data

MOST_ROUNDS = 3
"""So many corrections one after the other are tried where tests fail after a task."""
_OF_PLAN = ("goal", "tasks")
_OF_TASK = ("id", "task", "depends_on", "verify")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTask:
    """One task.

    Attributes:
        id: What it is called: letters, digits, ``_``, ``.`` and ``-``.
        task: What the agent is asked to do.
        depends_on: The ids of the tasks that have to be completed before it begins.
        verify: A test command. The task is completed only when its last run, after the last change, passed.
    """

    id: str
    task: str
    depends_on: Sequence[str] = ()
    verify: str | None = None

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            what = "an id is 1 to 64 letters, digits, `_`, `.` and `-`, and begins with a letter or digit"
            raise ConfigurationError(f"{self.id[:80]!a} is no id of a task: {what}")
        for name, text in (("task", self.task), ("verify", self.verify)):
            if text is not None and not text.strip():
                raise ConfigurationError(f"the task {self.id!r} has an empty `{name}`: write it, or leave it out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Tasks that depend on one another. They are run one at a time, in this order as far as they depend on nothing.

    Attributes:
        tasks: The tasks.
        goal: What all of them are for; each task is told.
        source: The file it was read from.

    Raises:
        ConfigurationError: There is no task, an id is there twice or unknown, or tasks depend in a circle.
    """

    tasks: Sequence[PlanTask]
    goal: str | None = None
    source: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for told in _faults(self.tasks):
            raise ConfigurationError(told)

    @classmethod
    def load(cls, path: str | Path) -> "Plan":
        """Read a plan from a file of JSON (``.json``) or YAML. Raises `ConfigurationError` with what to change."""
        file = Path(path)
        try:
            return _plan(read_data(file), file)
        except (ValueError, ConfigurationError) as error:
            raise ConfigurationError(f"the plan {file}: {error}") from error

    @property
    def digest(self) -> str:
        """The sha256 of all that it says: a plan that was changed is another plan."""
        return sha256(encode(self.record())).hexdigest()

    def record(self) -> dict[str, Any]:
        """What it says, as JSON."""
        tasks = [
            {"id": one.id, "task": one.task, "depends_on": list(one.depends_on), "verify": one.verify}
            for one in self.tasks
        ]
        return {"goal": self.goal, "tasks": tasks}


def fix_of(task: str, number: int) -> str:
    """The id of the correction of a task with this number, counted from 1."""
    return f"fix_{task}" if number == 1 else f"fix_{task}_{number}"


def _faults(tasks: Sequence[PlanTask]) -> Iterator[str]:
    """What is wrong with some tasks, the first fault first."""
    if not tasks:
        yield "the plan has no tasks: write at least one under `tasks`"
    known: set[str] = set()
    for task in tasks:
        if task.id in known:
            yield f"two tasks have the id {task.id!r}: name one of them otherwise"
        known.add(task.id)
    for task in tasks:
        for other in task.depends_on:
            if other not in known:
                named = ", ".join(one.id for one in tasks)
                yield f"the task {task.id!r} depends on {other!r}, which is no task: name one of {named}"
        for number in range(1, MOST_ROUNDS + 1):
            if (taken := fix_of(task.id, number)) in known:
                yield f"{taken!r} is what a correction of the task {task.id!r} is called: name that task otherwise"
    try:
        TopologicalSorter({task.id: task.depends_on for task in tasks}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        yield f"tasks depend on each other in a circle ({circle}): take one of these out of `depends_on`"


def _plan(data: Any, path: Path) -> Plan:
    if not isinstance(data, dict):
        raise ValueError("it is no plan: begin it with `tasks:`, a list of tasks with `id` and `task`")
    fields = _fields(cast("dict[str, Any]", data), _OF_PLAN, "the plan")
    tasks = fields.get("tasks")
    if not isinstance(tasks, list):
        raise ValueError("it has no list of tasks: write them under `tasks`, each with `id` and `task`")
    listed = [_task(number, one) for number, one in enumerate(cast("list[Any]", tasks), 1)]
    return Plan(tasks=listed, goal=_text(fields, "goal", "the plan"), source=path.absolute())


def _task(number: int, data: Any) -> PlanTask:
    where = f"task {number}"
    if not isinstance(data, dict):
        raise ValueError(f"{where} is {data!r:.60}: write `id` and `task` there")
    fields = _fields(cast("dict[str, Any]", data), _OF_TASK, where)
    if missing := [name for name in ("id", "task") if _text(fields, name, where) is None]:
        raise ValueError(f"{where} has no `{missing[0]}`: write it")
    before: Any = fields.get("depends_on") or []
    if not isinstance(before, list) or not all(isinstance(one, str) for one in cast("list[Any]", before)):
        raise ValueError(f"`depends_on` of {where} is {before!r:.60}: write a list of ids there, such as [first]")
    return PlanTask(
        id=fields["id"], task=fields["task"], depends_on=tuple(cast("list[str]", before)),
        verify=_text(fields, "verify", where),
    )  # fmt: skip


def _fields(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> Mapping[str, Any]:
    if unknown := sorted(data.keys() - set(known)):
        raise ValueError(f"{where} has `{unknown[0][:60]}`, which is unknown: it may have {', '.join(known)}")
    return data


def _text(fields: Mapping[str, Any], name: str, where: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"`{name}` of {where} is {value!r:.60}: write text there, in quotes")
    return value

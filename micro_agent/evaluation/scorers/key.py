"""``expect_key``: keys of what a tool returned."""

from typing import Any, cast

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether each key is in the result of some tool call that succeeded; ``None`` if the task expects no key."""
    if task.expect_key is None:
        return None
    done = [step for step in run.steps if step.is_tool and step.ok]
    seen = [step.observation if step.result is None else step.result for step in done]
    missing = [key for key in task.expect_key if not any(has_key(observation, key) for observation in seen)]
    if not missing:
        return met("key")
    return unmet("key", f"the keys {', '.join(map(quoted, missing))}", f"the observations have {_keys(seen)}")


def has_key(value: Any, path: str) -> bool:
    """Whether JSON data has a key; ``a.b`` is ``b`` of the object under ``a``, or a key of this very name.

    Lists are looked into: it is enough that one of the items has it.
    """
    waiting = [(value, path)]
    while waiting:
        value, path = waiting.pop()
        if isinstance(value, list):
            waiting += [(item, path) for item in cast("list[Any]", value)]
        elif isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            if path in found:
                return True
            dots = [at for at, character in enumerate(path) if character == "."]
            waiting += [(found[path[:at]], path[at + 1 :]) for at in dots if path[:at] in found]
    return False


def _keys(seen: list[Any]) -> str:
    keys = [key for value in seen if isinstance(value, dict) for key in cast("dict[str, Any]", value)]
    return ", ".join(map(quoted, dict.fromkeys(keys))) or "none"

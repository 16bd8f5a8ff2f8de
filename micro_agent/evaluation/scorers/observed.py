"""``expect_observed``: tools whose last value stands in the answer."""

from collections.abc import Iterator
from math import isfinite
from typing import Any, cast

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.contains import plain
from micro_agent.evaluation.scorers.wording import answer_of, met, quoted, unmet
from micro_agent.evaluation.task import Task
from micro_agent.rules.answer_values import holds_number
from micro_agent.rules.required_tools import holds_last_value, last_observation
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether the answer holds the last value of each tool; ``None`` if the task expects none.

    The values of `calculator` and `now` are compared as the rule of required tools does it.
    """
    if task.expect_observed is None:
        return None
    for tool in task.expect_observed:
        last = last_observation(run, tool)
        if last is None:
            return unmet("observed", f"the last value of {tool}", "it was never called with success")
        if run.model_answer is None or not _holds(run, tool, last, run.model_answer):
            return unmet("observed", f"the last value of {tool}, {quoted(str(last)[:1000])}", answer_of(run))
    return met("observed")


def _holds(run: Run, tool: str, last: Any, answer: str) -> bool:
    known = holds_last_value(run, tool, answer)
    if known is not None:
        return known
    values = list(_values(last))
    text = plain(answer)
    return bool(values) and all(_shows(answer, text, value) for value in values)


def _values(observation: Any) -> Iterator[str | float]:
    """The texts and numbers in an observation; of an object with ``result`` or ``value`` those in that alone."""
    if isinstance(observation, dict):
        found = cast("dict[str, Any]", observation)
        observation = found.get("result", found.get("value", observation))
    waiting = [observation]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield value


def _shows(answer: str, text: str, value: str | float) -> bool:
    if isinstance(value, str):
        return plain(value) in text
    return isfinite(value) and holds_number(answer, value)

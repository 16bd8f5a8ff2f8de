"""Which decisions of a run may become demos: none of a failure, of the clock, or without anything that proves it."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, cast

from micro_agent.evaluation.task import Task
from micro_agent.optimize.decisions import decisions
from micro_agent.optimize.judge import judge
from micro_agent.rules.answer_values import holds_moment, holds_weekday
from micro_agent.rules.implied_tools import NOW
from micro_agent.run import CONTEXT_TRIMMED, Run, Step
from micro_agent.run.finishing import stands

_SAY_NOTHING = (
    "I do not know.",
    "I cannot answer that, because I do not have the information.",
    "I'm sorry, that is impossible to say without more details; please provide them.",
)
"""Answers to anything. Checks that take one of them for right do not show that an answer is one."""
_TIME = re.compile(r"(?<![\d:])\d{1,2}(?::\d\d|(?::\d\d)? ?[ap]\.?m\b)", re.IGNORECASE)
_DAY_S = 86_400


def showable(task: Task, run: Run) -> list[dict[str, Any]]:
    """The decisions of a run that may be shown, as `decisions` has them; none of one with images or a failed step.

    Left out is what comes after a step with a value of the clock, or names the day of the run. So is the answer where
    the checks of the task would have passed with "I do not know", too: it may be that, or invented.
    """
    if run.images or any(map(_failed, run.steps)):
        return []
    timeless = next((place for place, step in enumerate(run.steps) if _tells_the_time(step, run)), len(run.steps))
    unproven = _passes_with_nothing(task, run)
    return [
        found
        for found in decisions(run)
        if "error" not in found["decision"]
        and len(found["steps"]) <= timeless
        and not _names_the_day(found, run)
        and not (unproven and "final" in found["decision"])
    ]


def _failed(step: Step) -> bool:
    """Whether a tool failed, said so in what it returned, or the loop had something to say."""
    seen = step.observation
    told = isinstance(seen, Mapping) and bool(cast("Mapping[str, Any]", seen).get("error"))
    slipped = not step.is_tool and step.tool != CONTEXT_TRIMMED and not stands(step)
    return not step.ok or told or slipped


def _passes_with_nothing(task: Task, run: Run) -> bool:
    return any(judge(task, run.model_copy(update={"model_answer": words})).passed for words in _SAY_NOTHING)


def _tells_the_time(step: Step, run: Run) -> bool:
    """Whether a step shows a value of the clock: `now` does, and so may any tool.

    That is a day of the week or a Unix timestamp of about the time of the run, or a time of the day of which nothing
    says whose it is. What the question says itself does not count.
    """
    text = _text(step.observation)
    return (
        step.tool == NOW
        or any(shown not in run.question for shown in _TIME.findall(text))
        or any(holds_weekday(text, day) and not holds_weekday(run.question, day) for day in _days(run))
        or _has_timestamp(step.observation, datetime.fromisoformat(run.ts).timestamp())
    )


def _names_the_day(found: dict[str, Any], run: Run) -> bool:
    """Whether what was seen or decided has the date of the run, anywhere on Earth, which the question does not have."""
    text = _text([found["steps"], found["decision"]])
    return any(holds_moment(text, day) and not holds_moment(run.question, day) for day in _days(run))


def _days(run: Run) -> list[date]:
    today = datetime.fromisoformat(run.ts).date()
    return [today + timedelta(days=days) for days in (-1, 0, 1)]


def _has_timestamp(value: Any, now: float) -> bool:
    """Whether a number in the data is one in seconds or milliseconds, of the same day."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += cast("Mapping[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, int | float) and any(
            (now - _DAY_S) * unit < value < (now + _DAY_S) * unit for unit in (1, 1000)
        ):
            return True
    return False


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)

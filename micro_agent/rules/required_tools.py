"""Required tools: a question that implies arithmetic or the clock is answered with the tool, not from memory.

Before the run finishes, each tool that the question implies (`implied`) and that the agent has must have been used,
unless the answer tells what a tool of the user's own gave. An answer that states another number than the calculator
gave is asked about once. A value that the model leaves out of its answer is appended.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from micro_agent.rules.answer_values import holds_moment, holds_number, holds_weekday
from micro_agent.rules.implied_tools import CALCULATOR, NOW, asks_weekday, implied
from micro_agent.rules.other_values import other_value
from micro_agent.rules.own_values import founded, moment_told, number_of, number_told
from micro_agent.rules.question import left_to_answer, question_in
from micro_agent.rules.verdict import Amend, BeforeFinish, Event, Rule, Verdict, Violation
from micro_agent.rules.words import Words, words
from micro_agent.run import POLICY_VIOLATION, Run, Step
from micro_agent.run.usage import NEVER_RAN
from micro_agent.text.encoding import as_json

__all__ = ["check", "holds_last_value", "implied", "last_observation", "with_words"]

# A model must be able to report that something cannot be computed, so failed calls count from this number on.
_FAILURES_THAT_COUNT = 2
# That there is no result is one.
_RESULTS = frozenset({"DIVISION_BY_ZERO"})
_NOT_EXECUTED = NEVER_RAN | {"INTERRUPTED"}
_MISSING = {
    CALCULATOR: "this question needs the calculator tool. Call calculator with the expression, for example "
    '{"expression": "2*(3+5)"}, before you answer.',
    NOW: 'this question needs the now tool. Call now, for example {"timezone": "utc"}, before you answer.',
}
_GAVE = "the calculator gave "
_BUILT_IN = frozenset({CALCULATOR, NOW})
_PLAINLY = 2.5
"""The odds (their logarithm) from which a question needs the tool though the answer tells what another one gave."""
_ARGUMENTS = {CALCULATOR: '{"expression": "<the arithmetic>"}', NOW: '{"timezone": "utc"}'}


def with_words(path: str | Path) -> Rule:
    """The rule for questions in another language than English.

    Args:
        path: A file of its words, see docs/required-tools.md. It stands in the place of the English one.

    Raises:
        ConfigurationError: The file cannot be used.
    """
    language = words(path)

    def rule(run: Run, event: Event) -> Verdict | None:
        return check(run, event, language)

    return rule


def check(run: Run, event: Event, language: Words | None = None) -> Verdict | None:
    """Refuse to finish without the implied tools, or with another value; append their last one when it is left out.

    Args:
        run: The run so far.
        event: Anything but `BeforeFinish` gives ``None``. A tool that is not among its ``tools`` is not asked for.
        language: The words of the question's language; ``None`` is English.
    """
    if not isinstance(event, BeforeFinish) or event.tools.isdisjoint(_ARGUMENTS):
        return None
    left = left_to_answer(run, event.read_only)
    required = implied(left, language) & event.tools
    if required and founded(run, event.answer, but=_BUILT_IN):
        required &= implied(left, language, odds=_PLAINLY)
    # The clock first: what is computed from it comes after.
    for tool in (NOW, CALCULATOR):
        if tool in required and not _used(run.steps, tool) and not _told_by_another(run, tool, event.answer, language):
            return Violation(_missing(run, tool), wants=tool)
    if CALCULATOR in required and (told := _another_value(run, event.answer)) is not None:
        return Violation(told)
    left_out = [_left_out(run, tool, event.answer, language) for tool in (CALCULATOR, NOW) if tool in required]
    answer = " ".join(text for text in (event.answer if event.answer.strip() else "", *left_out) if text)
    return Amend(answer) if any(left_out) else None


def _another_value(run: Run, answer: str) -> str | None:
    """What is said, once, of an answer that states another number than the calculator gave."""
    made = [step for step in run.steps if step.tool == CALCULATOR and step.ok]
    computed = [value for step in made if (value := number_of(step.observation)) is not None]
    other = other_value(run.question, answer, computed, [as_json(step.args) for step in made])
    if other is None or any(str(step.observation).startswith(_GAVE) for step in run.steps):
        return None
    said = f"{_GAVE}{computed[-1]!r}, and your answer says {float(other):.15g}"
    return f"{said}. Answer again, with the value that is right."


def _told_by_another(run: Run, tool: str, answer: str, language: Words | None) -> bool:
    """Whether the answer tells what a tool of the user's own gave, so that ``tool`` is not needed for it.

    What is counted from the present is one value: a number, or a moment that was computed.
    """
    either = implied(question_in(run), language) >= _BUILT_IN
    if (tool == CALCULATOR or either) and number_told(run, answer, but=_BUILT_IN):
        return True
    return (tool == NOW or either) and moment_told(run, answer, but=_BUILT_IN, computed=tool == CALCULATOR)


def _missing(run: Run, tool: str) -> str:
    """What the model is told: why at first, then the very call to make, in the form of the run's mode."""
    if not any(step.tool == POLICY_VIOLATION and step.args.get("wants") == tool for step in run.steps):
        return _MISSING[tool]
    if run.mode == "json":
        form = f'{{"tool": {{"name": "{tool}", "args": {_ARGUMENTS[tool]}}}}}'
        return f"an answer without the {tool} tool is not taken. Reply with this and nothing else: {form}"
    return f"an answer without the {tool} tool is not taken. Do not answer now. Call {tool} with {_ARGUMENTS[tool]}."


def _used(steps: Iterable[Step], tool: str) -> bool:
    calls = [step for step in steps if step.tool == tool and step.error not in _NOT_EXECUTED]
    return any(step.ok or step.error in _RESULTS for step in calls) or len(calls) >= _FAILURES_THAT_COUNT


def last_observation(run: Run, tool: str) -> Any:
    """What the tool returned the last time it succeeded; ``None`` if it never did."""
    return next((step.observation for step in reversed(run.steps) if step.tool == tool and step.ok), None)


def holds_last_value(run: Run, tool: str, answer: str) -> bool | None:
    """Whether the answer holds the last value of `calculator` or `now`: a number as shown, a moment by date or minute.

    ``None`` where there is no such value: the tool never succeeded, is another one, or returned no number or moment.
    """
    last = last_observation(run, tool)
    known = number_of(last) if tool == CALCULATOR else _moment(_seen(last)) if tool == NOW else None
    return None if known is None else not _left_out(run, tool, answer)


def _left_out(run: Run, tool: str, answer: str, language: Words | None = None) -> str:
    """``(calculator: 16)`` when the tool's last value is not in the answer, else nothing."""
    last = last_observation(run, tool)
    if tool == CALCULATOR:
        value = number_of(last)
        return "" if value is None or holds_number(answer, value) else f"(calculator: {value!r})"
    seen = _seen(last)
    moment = _moment(seen)
    if moment is None or _moment_in(answer, moment, question_in(run), language) or _unix_in(answer, seen.get("unix")):
        return ""
    return f"(now: {moment:%Y-%m-%d %H:%M} {_zone(seen, moment)})"


def _seen(observation: object) -> dict[str, Any]:
    return cast("dict[str, Any]", observation) if isinstance(observation, dict) else {"iso": observation}


def _moment(seen: dict[str, Any]) -> datetime | None:
    for text in (seen.get("iso"), f"{seen.get('date')}T{seen.get('time')}"):
        try:
            return datetime.fromisoformat(str(text))
        except ValueError:
            continue
    return None


def _moment_in(answer: str, moment: datetime, question: str, language: Words | None) -> bool:
    return holds_moment(answer, moment) or (asks_weekday(question, language) and holds_weekday(answer, moment))


def _unix_in(answer: str, unix: object) -> bool:
    return isinstance(unix, int) and holds_number(answer, unix)


def _zone(seen: dict[str, Any], moment: datetime) -> str:
    if seen.get("timezone"):
        return str(seen["timezone"])
    return "UTC" if moment.utcoffset() in (None, timedelta(0)) else f"{moment:%z}"

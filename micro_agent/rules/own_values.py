"""What tools of the user's own gave in the place of `calculator` and `now`: a value that the answer tells.

Only what is a value and nothing else counts: a bare number, or one under ``result`` or ``value``; a bare time or date,
or one under a name for it. The numbers of lines, hits and ids come in lists, in text or under names of their own.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from math import isfinite
from typing import Any, cast

from micro_agent.rules.answer_values import holds_moment, holds_number, numbers_in
from micro_agent.run import Run, Step

_NUMBER_KEYS = ("result", "value")
_MOMENT_KEYS = frozenset({
    "result", "value", "time", "date", "datetime", "iso", "now", "today", "timestamp", "current", "local", "utc",
})  # fmt: skip
"""The words that the name of a moment consists of, such as ``local_time``; ``start_time`` is the time of something."""
_NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?:\.\d+)?")
_WORD = re.compile(r"\w+")
_CLOCKS = ("%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I %p", "%I%p")
_LONGEST = 400
"""Characters of a number or a moment; what is longer is neither."""
_LONGEST_VALUE = 60
"""Characters. A longer text in a result is not a value that an answer repeats."""


def number_told(run: Run, answer: str, *, but: frozenset[str]) -> bool:
    """Whether the answer tells a number that a tool gave and the question does not have; ``but`` are left out."""
    return any(
        holds_number(answer, number) and not holds_number(run.question, number)
        for step in _own(run, but)
        if (number := number_of(step.observation, as_text=True)) is not None
    )


def moment_told(run: Run, answer: str, *, but: frozenset[str], computed: bool = False) -> bool:
    """Whether the answer tells a time or date that a tool gave and the question does not have.

    ``computed``: by a tool that was given a number of the question, such as the 45 of "45 days from today".
    """
    return any(
        holds_moment(answer, moment) and not holds_moment(run.question, moment)
        for step in _own(run, but)
        if not computed or _got_a_number(step, run.question)
        for moment in _moments(step.observation)
    )


def founded(run: Run, answer: str, *, but: frozenset[str]) -> bool:
    """Whether the answer tells a value that a tool gave and the question does not have, and no number from elsewhere.

    A value is a number or a short text anywhere in what the tool gave; ``but`` are left out. Never of a question with
    numbers: what is to be computed from these may stand in a result by chance.
    """
    if numbers_in(run.question):
        return False
    given = [_words(text) for step in _own(run, but) for text in _leaves(step.observation)]
    question, said = _words(run.question), _words(answer)
    known = {word for words in given for word in words.split()}
    digits = {word for word in said.split() if any(map(str.isdigit, word))}
    told = (words for words in given if len(words) <= _LONGEST_VALUE and words in said and words not in question)
    return digits <= known and any(told)


def _words(text: str) -> str:
    """The words of a text, each between blanks."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def number_of(observation: object, *, as_text: bool = False) -> float | None:
    """The number that an observation is, bare or under ``result`` or ``value``; ``None`` if it is not one.

    ``as_text``: one in a string counts, too.
    """
    if isinstance(observation, Mapping):
        fields = cast("Mapping[str, object]", observation)
        observation = next((fields[key] for key in _NUMBER_KEYS if key in fields), None)
    if as_text and isinstance(observation, str) and _is_number(observation):
        digits = observation.replace(",", "")
        observation = float(digits) if "." in digits else int(digits)
    if isinstance(observation, bool) or not isinstance(observation, int | float):
        return None
    # Longer integers than Python would write (4300 digits), infinities and NaN cannot be shown.
    shown = abs(observation) < 10**4000 if isinstance(observation, int) else isfinite(observation)
    return observation if shown else None


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST and _NUMBER.fullmatch(text.strip()) is not None


def _got_a_number(step: Step, question: str) -> bool:
    numbers = (number_of(value, as_text=True) for value in step.args.values())
    return any(holds_number(question, number) for number in numbers if number is not None)


def _own(run: Run, but: frozenset[str]) -> Iterator[Step]:
    return (step for step in run.steps if step.is_tool and step.ok and step.tool not in but)


def _moments(observation: object) -> Iterator[date | time]:
    if isinstance(observation, str):
        yield from _parsed(observation.strip())
    elif isinstance(observation, Mapping):
        for name, value in cast("Mapping[str, Any]", observation).items():
            if isinstance(value, str) and _MOMENT_KEYS.issuperset(re.split(r"[\W_]+", name.lower())):
                yield from _parsed(value.strip())


def _leaves(observation: object) -> Iterator[str]:
    """The texts and numbers in an observation, as texts."""
    waiting = [observation]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            waiting += cast("Mapping[str, object]", part).values()
        elif isinstance(part, list):
            waiting += cast("list[object]", part)
        elif isinstance(part, str | int | float) and not isinstance(part, bool) and str(part).strip():
            yield str(part)


def _parsed(text: str) -> Iterator[date | time]:
    """The time, date or both that a text is, in ISO 8601 or as a clock of twelve hours."""
    if len(text) > _LONGEST:
        return
    for read in (date.fromisoformat, datetime.fromisoformat, time.fromisoformat):
        with suppress(ValueError):
            yield read(text)
            return
    for form in _CLOCKS:
        with suppress(ValueError):
            yield datetime.strptime(text.upper().replace(".", ""), form).time()
            return

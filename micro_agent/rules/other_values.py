"""Whether an answer states another value than the one that was computed, and not that one."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from micro_agent.rules.answer_values import holds_number, numbers_in

_POINTS = re.compile(r"(?<![\d.,])([1-9]\d{0,2})\.(\d{3})(?![\d.])")
_PARTS = (60, 24, 7, 12, 100)
"""So many of a unit make the next larger one, such as minutes an hour."""


def other_value(question: str, answer: str, computed: Sequence[float], given: Iterable[str] = ()) -> Fraction | None:
    """The first number of the answer that nobody gave, where the last of ``computed`` is not in it.

    Args:
        question: What its numbers are is given.
        answer: The answer.
        computed: The values that were computed, in order.
        given: Other texts whose numbers are given, such as the expressions that were computed.
    """
    if not computed or _holds(answer, computed[-1]):
        return None
    shown = numbers_in(answer)
    if any(_in_parts(one, other, computed[-1]) for one, other in pairwise(shown)):
        return None
    texts = " ".join([question, *given])
    known = {*numbers_in(texts), *(Fraction(repr(value)) for value in computed)}
    return next((number for number in shown if not _is_known(number, known, computed)), None)


def _holds(answer: str, value: float) -> bool:
    """Whether the answer has the value, also without its sign ("40 short"), and with points between thousands."""
    return any(holds_number(text, abs(value)) for text in (answer, _POINTS.sub(r"\1\2", answer)))


def _is_known(number: Fraction, known: set[Fraction], computed: Sequence[float]) -> bool:
    spelled = str(float(number))
    return bool({number, number * 100, number / 100} & known) or any(
        holds_number(spelled, abs(value)) for value in computed
    )


def _in_parts(larger: Fraction, smaller: Fraction, value: float) -> bool:
    """Whether two numbers are the value in two units: 1 and 35 are 95, of minutes."""
    return any(0 <= smaller < size and larger * size + smaller == Fraction(repr(value)) for size in _PARTS)

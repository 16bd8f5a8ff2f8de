"""``expect_number``: a number that the answer shows."""

from fractions import Fraction

from micro_agent.evaluation.result import Check
from micro_agent.evaluation.scorers.wording import answer_of, met, unmet
from micro_agent.evaluation.task import ExpectedNumber, Task
from micro_agent.rules.answer_values import holds_number, numbers_in
from micro_agent.run import Run


def check(task: Task, run: Run) -> Check | None:
    """Whether the answer shows the number, or one within the tolerance; ``None`` if the task expects none.

    Without a tolerance a number counts that is equal, or correctly rounded to the digits that it shows.
    """
    expected = task.expect_number
    if expected is None:
        return None
    if run.model_answer is not None and _shows(run.model_answer, expected):
        return met("number")
    within = "" if expected.tolerance is None else f" ± {expected.tolerance:g}"
    return unmet("number", f"the number {expected.value}{within}", answer_of(run))


def _shows(answer: str, expected: ExpectedNumber) -> bool:
    if expected.tolerance is None:
        return holds_number(answer, expected.value)
    # As decimals: 0.3 is within 0.1 of 0.2, which floats deny.
    value, tolerance = Fraction(repr(expected.value)), Fraction(repr(expected.tolerance))
    return any(abs(shown - value) <= tolerance for shown in numbers_in(answer))

"""Scorers: what a task expects, checked against the run; one file for each kind of expectation.

Judged is what the model answered (``model_answer``), not what a rule has appended to it.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from micro_agent.evaluation.result import Check, Rubric
from micro_agent.evaluation.scorers import (
    args,
    changed,
    contains,
    gates,
    hidden,
    key,
    number,
    observed,
    regex,
    tools,
)
from micro_agent.evaluation.task import Task
from micro_agent.run import Run

Scorer = Callable[[Task, Run], Check | None]
"""Checks one kind of expectation; ``None`` if the task has none of it."""

SCORERS: dict[str, Scorer] = {
    "contains": contains.check,
    "number": number.check,
    "regex": regex.check,
    "key": key.check,
    "tools": tools.check,
    "args": args.check,
    "observed": observed.check,
    "hidden": hidden.check,
    "changed": changed.check,
    "gates": gates.check,
}
"""By the name of the check, in the order in which they are shown."""


class Scored(NamedTuple):
    """What became of a task: ``score`` from 0 to 1; ``success``: the run completed and the score is enough."""

    checks: list[Check]
    score: float
    success: bool


def score(task: Task, run: Run, rubric: Rubric) -> Scored:
    """Check a run against what its task expects.

    The score is the weight of the checks that passed over that of all checks of the task. If all of them weigh 0, it
    is 1 when all passed and else 0. Weights and shares are computed as the decimals that they are written as, so three
    checks of weight 0.1 are 1 and not a bit less.

    Raises:
        MicroAgentError: An ``expect_regex`` cannot be searched for, because no process can be started.
    """
    checks = [check for scorer in SCORERS.values() if (check := scorer(task, run)) is not None]
    share = _share(checks, rubric)
    return Scored(checks, float(share), run.status == "completed" and share >= _exact(rubric.pass_score))


def _share(checks: Sequence[Check], rubric: Rubric) -> Fraction:
    if all(check.passed for check in checks):
        return Fraction(1)
    weights = [_exact(rubric.weights.get(check.name, 1.0)) for check in checks]
    passed = (weight for weight, check in zip(weights, checks, strict=True) if check.passed)
    return sum(passed, Fraction(0)) / (sum(weights) or 1)


@lru_cache(maxsize=64)
def _exact(value: float) -> Fraction:
    """The decimal as it is written: 1/10 for 0.1, which as a float is a little more."""
    return Fraction(repr(value))

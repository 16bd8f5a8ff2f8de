"""A check as data, with one short line for a person when it failed."""

from micro_agent.evaluation.result import Check
from micro_agent.run import Run

_LONGEST = 200
_QUOTED = 80


def met(name: str) -> Check:
    """A check that passed."""
    return Check(name=name, passed=True)


def unmet(name: str, expected: str, found: str) -> Check:
    """A check that failed: what was expected, and what was found."""
    detail = f"expected {expected}; {found}"
    return Check(name=name, passed=False, detail=detail if len(detail) <= _LONGEST else detail[: _LONGEST - 1] + "…")


def answer_of(run: Run) -> str:
    """What was found, where the answer is what was looked at."""
    if run.model_answer is None:
        return f"there is no answer ({run.termination_reason or run.status})"
    return f"the answer is {quoted(run.model_answer)}"


def quoted(text: str) -> str:
    """Text in quotes on one line, cut when it is long; control characters are escaped, so a terminal can show it."""
    start = " ".join(text[: 4 * _QUOTED].split())
    cut = len(start) > _QUOTED or len(text) > 4 * _QUOTED
    return repr(start[:_QUOTED] + "…" if cut else start)

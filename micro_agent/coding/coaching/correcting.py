"""Tests that fail after a change are given back to be fixed, a few times; then the run ends and says so.

A round is a failing verification after a new change. The same failures again without one are no new round, and tests
that failed before any change are none of the model's.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from micro_agent.coding.coaching.next_call import NextCall, reading
from micro_agent.coding.coaching.work import Done, work_of
from micro_agent.rules.verdict import AfterStep, Event, Hint, Rule, Stop, Verdict
from micro_agent.run import Run
from micro_agent.text.printable import printable

REASON = "corrections"
"""The termination reason of a run whose rounds are used up."""
_MOST_SHOWN, _MOST_ASSERTION = 5, 200


def correcting(*, rounds: int) -> Rule:
    """The rule, with so many rounds."""

    def check(run: Run, event: Event) -> Verdict | None:
        if not isinstance(event, AfterStep):
            return None
        work = work_of(run)
        last = work.tools[-1]
        if not last.fails or work.last_change is None or work.corrects:
            return None
        if work.rounds >= rounds:
            times = "1 round" if rounds == 1 else f"{rounds} rounds"
            return Stop(REASON, f"The tests still fail after {times} of correction: {_count(last.result)}")
        reading = _place(last.result)
        first = reading.told(run.mode) if reading else "Read the output above, and the code that it is about."
        then = f"Then change the code and call {last.step.tool} again."
        head = f"Fix these failing tests (round {work.rounds + 1} of {rounds}). {_count(last.result)}"
        return Hint("\n".join([head, *_failures(last), first, then]))

    return check


def _count(result: Mapping[str, Any]) -> str:
    failed, passed = result.get("failed"), result.get("passed")
    if not failed:
        return f"The exit status is {result.get('exit')}."
    return f"{failed} failed" + (f", {passed} passed." if isinstance(passed, int) else ".")


def _failures(done: Done) -> Iterator[str]:
    """The failures, condensed: a line for each."""
    failures = _listed(done.result)
    for failure in failures[:_MOST_SHOWN]:
        assertion, place = failure.get("assertion"), failure.get("place")
        said = f": {str(assertion)[:_MOST_ASSERTION]}" if assertion else ""
        yield " ".join(printable(f"- {failure.get('test')}{said}{f' ({place})' if place else ''}").split())
    if len(failures) > _MOST_SHOWN:
        yield f"- and {len(failures) - _MOST_SHOWN} more"


def _listed(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    failures = result.get("failures")
    listed = cast("list[Any]", failures) if isinstance(failures, list) else []
    return [failure for failure in listed if isinstance(failure, dict)]


def _place(result: Mapping[str, Any]) -> NextCall | None:
    """The call that reads around the place of the first failure that has one."""
    places = (failure.get("place") for failure in _listed(result))
    return next((reading(place) for place in places if isinstance(place, str)), None)

"""A finish before the gates pass is refused, with what is missing and the call that comes next; not for ever.

What the model can do nothing about is asked for once: whether a change is needed where it made none, and tests that
could not be run. After `MOST` refusals with nothing gained between, the run ends.
"""

from micro_agent.coding.coaching.next_call import NextCall, next_call
from micro_agent.coding.coaching.work import QUESTION, work_of
from micro_agent.coding.gates import Lack, lacks
from micro_agent.rules.verdict import BeforeFinish, BeforePlan, Event, Rule, Stop, Verdict, Violation
from micro_agent.run import Run

MOST = 3


def blocking(*, green: bool) -> Rule:
    """The rule; ``green``: verification means that the tests passed."""

    def check(run: Run, event: Event) -> Verdict | None:
        if isinstance(event, BeforePlan):
            return _stop(run, green)
        return _block(run, event, green) if isinstance(event, BeforeFinish) else None

    return check


def _block(run: Run, event: BeforeFinish, green: bool) -> Violation | None:
    work = work_of(run)
    for lack in lacks(run, work, green=green, answers=True):
        excused = lack.gate == "verification" and work.is_excused and not green
        following = None if excused else next_call(run, work, lack.wants, event.tools)
        if following is not None:  # what no tool is there for cannot be asked for
            return Violation(_told(run, lack, following), wants=following.tool, at_once=True)
    return None


def _told(run: Run, lack: Lack, following: NextCall) -> str:
    told = f"Not finished. Missing: {lack.what}. {following.told(run.mode)}"
    return f"{told}\n{QUESTION}" if lack.gate == "change" else told


def _stop(run: Run, green: bool) -> Stop | None:
    work = work_of(run)
    if not work.is_blocked or work.blocks < MOST:
        return None
    missing = ", ".join(lack.what for lack in lacks(run, work, green=green, answers=True))
    return Stop("policy", f"{work.blocks} answers in a row were refused, and nothing was gained; missing: {missing}")

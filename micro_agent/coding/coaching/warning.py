"""Warnings before the next request: nothing but a look around so far, and what the gates still lack.

None is said twice between two steps, nor any text twice in a row.
"""

from collections.abc import Sequence

from micro_agent.coding.coaching.next_call import next_call
from micro_agent.coding.coaching.work import LOST, MISSING, QUESTION, STUCK, Work, work_of
from micro_agent.coding.gates import lacks
from micro_agent.rules.verdict import BeforePlan, Event, Rule, Verdict, Warn
from micro_agent.run import Run

LOST_AFTER = 2
"""So many steps that only look around are told."""
MISSING_FROM = 5
"""From this step on it is said what is missing."""


def warning(*, most: int, interval: int, green: bool, missing: bool, changing: Sequence[str]) -> Rule:
    """The rule.

    Args:
        most: After so many steps that only look around a search is suggested.
        interval: Steps between two words about what is missing.
        green: Whether verification means that the tests passed.
        missing: Whether it is said what the gates lack. Blocking says that at the end.
        changing: The tools for changing files that the model has.
    """

    def check(run: Run, event: Event) -> Verdict | None:
        if not isinstance(event, BeforePlan):
            return None
        work = work_of(run)
        last, at = work.warned[-1] if work.warned else ("", -1)
        if at == work.taken:
            return None
        text = _lost(run, work, most)
        if text is None and missing and work.taken >= _due(work, interval):
            text = _missing(run, work, green, changing)
        return None if text in (None, last) else Warn(text)

    return check


def _due(work: Work, interval: int) -> int:
    """The step at which it is said next what is missing."""
    said = [at for text, at in work.warned if text.startswith(MISSING)]
    return said[-1] + interval if said else MISSING_FROM


def _lost(run: Run, work: Work, many: int) -> str | None:
    """What is said of a run that has only looked around: once, and once more with a search to make."""
    count = len(work.tools)
    said = {text.split(":")[0] for text, _ in work.warned}
    if not work.no_progress or count < LOST_AFTER:
        return None
    search = next_call(run, work, "search")
    assert search is not None, "the toolset has one"
    if count >= many:
        return None if STUCK in said else f"{STUCK}: {count} steps only looked around. {search.told(run.mode)}"
    return None if said else f"{LOST}: {count} steps only looked around. Call {search.tool} next, then read a file."


def _missing(run: Run, work: Work, green: bool, changing: Sequence[str]) -> str | None:
    found = lacks(run, work, green=green)
    if not found:
        return None
    most = run.limits.get("max_steps")
    left = f" ({most - work.taken:g} steps are left)" if most else ""
    following = next_call(run, work, found[0].wants, changing if found[0].wants == "change" else None)
    told = f"{MISSING}: {', '.join(lack.what for lack in found)}{left}."
    told = f"{told} {following.told(run.mode)}" if following else told
    return f"{told}\n{QUESTION}" if found[0].gate == "change" else told

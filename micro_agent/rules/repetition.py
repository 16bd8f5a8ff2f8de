"""The same call with the same observation, again and again: warned about first, then stopped.

A weak model repeats a call that has told it everything already. Calls are counted over the whole run, not in a row, so
that two calls taking turns (A-B-A-B) are seen too. A call whose observation differs (a poll, a clock) is no repetition.
"""

from typing import cast

from micro_agent.rules.verdict import AfterStep, Event, Stop, Verdict, Warn
from micro_agent.run import Run, Step

WARN_AT = 3
STOP_AT = 5


def check(run: Run, event: Event) -> Verdict | None:
    """Warn at the third call with equal tool, arguments and observation, stop the run at the fifth.

    Args:
        run: The run so far; the step of ``event`` is the last of its steps.
        event: Anything but `AfterStep` of a tool step gives ``None``.
    """
    if not isinstance(event, AfterStep) or not event.step.is_tool:
        return None
    tool, count = event.step.tool, sum(1 for step in run.steps if _alike(step, event.step))
    if count >= STOP_AT:
        return Stop("repetition", f"{tool} was called {count} times with the same arguments and the same result")
    if count == WARN_AT:
        return Warn(
            f"You called {tool} {count} times with the same arguments and got the same result each time. "
            f"The result will not change. Call another tool or use other arguments, or give your answer now."
        )
    return None


def _alike(one: Step, other: Step) -> bool:
    return one.tool == other.tool and _same(one.args, other.args) and _same(one.observation, other.observation)


def _same(one: object, other: object) -> bool:
    """Whether both are the same JSON: key order aside, and 1, 1.0 and true told apart.

    Nothing is written out as JSON, so that big observations cost no more than up to their first difference.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(one, list):
        items, others = cast("list[object]", one), cast("list[object]", other)
        return len(items) == len(others) and all(_same(a, b) for a, b in zip(items, others, strict=True))
    return one == other

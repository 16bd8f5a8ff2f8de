"""Which calls of a reply may begin beside the one whose turn it is.

Their steps stand in the order in which the reply asked for them, each after the rules were asked again at its turn.
"""

from collections.abc import Callable, Mapping
from itertools import islice

from micro_agent.loop.preparing import before, confirmation, prepared
from micro_agent.loop.unsettled import unanswered
from micro_agent.rules import BeforeTool
from micro_agent.rules.limits import Limits
from micro_agent.run import Run
from micro_agent.tools import Ready, Tool

MOST = 8
"""So many calls run at once."""


def beside(
    ready: Ready, run: Run, tools: Mapping[str, Tool], limits: Limits, verdict: Callable[[BeforeTool], object]
) -> tuple[Ready, ...]:
    """The calls right behind a call that only reads which only read, too, and about which no rule has a word."""
    found = list[Ready]()
    for call in islice(unanswered(run), 1, MOST) if _reads(ready) else ():
        other = prepared(run, tools, call)
        if not isinstance(other, Ready) or not _reads(other) or any(_same(other, one) for one in (ready, *found)):
            break
        if confirmation(run, other) is not None or verdict(before(other)) is not None:
            break
        found.append(other)
    return tuple(found[: limits.steps_left(run) - 1] if found else ())


def _reads(ready: Ready) -> bool:
    """Whether a call may begin before its turn. One without a time limit runs in the caller's own thread."""
    return ready.tool.read_only and ready.tool.timeout_s is not None


def _same(one: Ready, other: Ready) -> bool:
    return (one.tool.name, one.args) == (other.tool.name, other.args)

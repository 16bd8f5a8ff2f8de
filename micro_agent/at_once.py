"""Calls of one reply that only read run at once. Their steps stand in the order in which the reply asked for them.

The loop says which may begin beside the call it wants, and takes their outcomes one by one, each after the rules were
asked again. What was begun and is not wanted any more is dropped: it has changed nothing. A step's time is what the run
waited for it, so that the times of a run add up.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from time import perf_counter

from micro_agent.asked_within import Part, Within
from micro_agent.effects import Act, confirmation, interrupted
from micro_agent.rules import BeforeTool
from micro_agent.rules.limits import Limits
from micro_agent.run import Run
from micro_agent.tools import Outcome, Ready, Tool, Underway, prepare
from micro_agent.unsettled import unanswered

MOST = 8
"""So many calls run at once."""


def beside(
    ready: Ready, run: Run, tools: Mapping[str, Tool], limits: Limits, verdict: Callable[[BeforeTool], object]
) -> tuple[Ready, ...]:
    """The calls right behind a call that only reads which only read, too, and about which no rule has a word."""
    found = list[Ready]()
    for call in islice(unanswered(run), 1, MOST) if _reads(ready) else ():
        other = prepare(tools, call, native=run.mode != "json")
        if not isinstance(other, Ready) or not _reads(other) or any(_same(other, one) for one in (ready, *found)):
            break
        if confirmation(run, other) is not None or verdict(BeforeTool(other.tool.name, other.args)) is not None:
            break
        found.append(other)
    return tuple(found[: limits.steps_left(run) - 1] if found else ())


class AtOnce:
    """The calls of one run that have begun before the loop came to them."""

    def __init__(self, run: Run) -> None:
        from micro_agent.program import tool_calls  # with DSPy, which the loop is read without

        self._calls = tool_calls
        self._begun: dict[tuple[int, str | None], tuple[Within, Underway | asyncio.Task[Outcome]]] = {}
        self._part, self._within = Part(run), Within()

    def outcome(self, effect: Act) -> Outcome:
        """What came of a call, begun now or before."""
        for ready in _beginning(effect):
            key = effect.call, ready.call_id
            if key not in self._begun:
                with Within() as within:
                    self._begun[key] = within, self._calls.Underway(ready.tool, ready.args)
        self._within, begun = self._begun.pop((effect.call, effect.ready.call_id), (Within(), None))
        if isinstance(begun, Underway):
            return self._counted(begun.outcome())
        with self._within:
            outcome = self._calls.execute(effect.ready.tool, effect.ready.args)
        return self._counted(outcome)

    async def aoutcome(self, effect: Act) -> Outcome:
        """The same on the running event loop."""
        for ready in _beginning(effect):
            key = effect.call, ready.call_id
            if key not in self._begun:
                with Within() as within:
                    self._begun[key] = within, asyncio.create_task(self._calls.aexecute(ready.tool, ready.args))
        self._within, begun = self._begun.pop((effect.call, effect.ready.call_id), (Within(), None))
        if isinstance(begun, asyncio.Task):
            waited = perf_counter()
            return self._counted(replace(await begun, latency_s=perf_counter() - waited))
        with self._within:
            outcome = await self._calls.aexecute(effect.ready.tool, effect.ready.args)
        return self._counted(outcome)

    def broken_off(self) -> Outcome:
        """What came of the call under way, which nobody waits for any more."""
        return self._counted(interrupted())

    def _counted(self, outcome: Outcome) -> Outcome:
        """With what the agents that this call asked have used."""
        within, self._within = self._within, Within()
        return within.counted(outcome)

    def close(self) -> None:
        """Wait for none of them any more. The run's session is over."""
        self._part.over = True
        while self._begun:
            self._begun.popitem()[1][1].cancel()


def _beginning(effect: Act) -> tuple[Ready, ...]:
    """What begins with this effect, in the order of the reply; a call with none beside it is simply made."""
    return (effect.ready, *effect.beside) if effect.beside else ()


def _reads(ready: Ready) -> bool:
    """Whether a call may begin before its turn. One without a time limit runs in the caller's own thread."""
    return ready.tool.read_only and ready.tool.timeout_s is not None


def _same(one: Ready, other: Ready) -> bool:
    return (one.tool.name, one.args) == (other.tool.name, other.args)

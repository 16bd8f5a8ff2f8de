"""Calls of one reply that only read run at once: the loop says which (`micro_agent.loop.beside`).

It takes their outcomes one by one. What was begun and is not wanted any more is dropped: it has changed nothing. A
step's time is what the run waited for it, so that the times of a run add up.
"""

import asyncio
from dataclasses import replace
from time import perf_counter

from micro_agent.effects import Act, interrupted
from micro_agent.run import Run
from micro_agent.running.asked_within import Part, Within
from micro_agent.tools import Outcome, Ready, Underway


class AtOnce:
    """The calls of one run that have begun before the loop came to them."""

    def __init__(self, run: Run) -> None:
        from micro_agent.running import tool_calls  # with DSPy, which replays are shown without

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

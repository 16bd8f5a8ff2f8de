"""Calls of one reply that only read run at once: the loop says which (`micro_agent.loop.beside`).

It takes their outcomes one by one. What was begun and is not wanted any more is dropped: it has changed nothing. A
step's time is what the run waited for it, so that the times of a run add up.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

from micro_agent.effects import Act, interrupted
from micro_agent.run import Run
from micro_agent.running.asked_within import Part, Within
from micro_agent.running.confirming import Key, Noted
from micro_agent.tools import Outcome, Ready, Underway


class AtOnce:
    """The calls of one run that have begun before the loop came to them."""

    def __init__(self, run: Run, approvals: Noted) -> None:
        from micro_agent.running import tool_calls  # with DSPy, which replays are shown without

        self._calls = tool_calls
        self._begun: dict[Key, tuple[Within, Underway | asyncio.Task[Outcome]]] = {}
        self._run, self._approvals, self._part = run, approvals, Part(run)
        self._now: tuple[Key, Within] | None = None
        self.on_begin: Callable[[Act], None] = lambda effect: None
        """Told of each call before its tool is run."""

    def outcome(self, effect: Act) -> Outcome:
        """What came of a call, begun now or before."""
        self.on_begin(effect)
        for ready in _beginning(effect):
            key = effect.call, ready.call_id
            if key not in self._begun:
                with Within(self._run, *key) as within:
                    self._begun[key] = within, self._calls.Underway(ready.tool, ready.args)
        within, begun = self._taken(effect)
        if isinstance(begun, Underway):
            return self._counted(begun.outcome())
        with within:
            outcome = self._calls.execute(effect.ready.tool, effect.ready.args)
        return self._counted(outcome)

    async def aoutcome(self, effect: Act) -> Outcome:
        """The same on the running event loop."""
        self.on_begin(effect)
        for ready in _beginning(effect):
            key = effect.call, ready.call_id
            if key not in self._begun:
                with Within(self._run, *key) as within:
                    self._begun[key] = within, asyncio.create_task(self._calls.aexecute(ready.tool, ready.args))
        within, begun = self._taken(effect)
        if isinstance(begun, asyncio.Task):
            waited = perf_counter()
            return self._counted(replace(await begun, latency_s=perf_counter() - waited))
        with within:
            outcome = await self._calls.aexecute(effect.ready.tool, effect.ready.args)
        return self._counted(outcome)

    def broken_off(self) -> Outcome:
        """What came of the call under way, which nobody waits for any more."""
        return self._counted(interrupted())

    def _taken(self, effect: Act) -> tuple[Within, Underway | asyncio.Task[Outcome] | None]:
        """The call under way from here on, begun before or not."""
        key = effect.call, effect.ready.call_id
        within, begun = self._begun.pop(key, None) or (Within(self._run, *key), None)
        self._now = key, within
        return within, begun

    def _counted(self, outcome: Outcome) -> Outcome:
        """With what is noted of this call, and what the agents that it asked have used."""
        now, self._now = self._now, None
        return outcome if now is None else now[1].counted(outcome, self._approvals.pop(now[0], None))

    def close(self) -> None:
        """Wait for none of them any more. The run's session is over."""
        self._part.over = True
        while self._begun:
            self._begun.popitem()[1][1].cancel()


def _beginning(effect: Act) -> tuple[Ready, ...]:
    """What begins with this effect, in the order of the reply; a call with none beside it is simply made."""
    return (effect.ready, *effect.beside) if effect.beside else ()

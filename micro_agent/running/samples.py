"""Several replies to one request, asked for at once: in threads, or as tasks of the running event loop.

Those that cannot be had are left out, unless there is no other.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread
from time import perf_counter

from micro_agent.effects import Asked, Plan, Planned
from micro_agent.models.failures import LM_ERRORS
from micro_agent.models.identity import traits_of
from micro_agent.models.scope import Noted, noting, spanned
from micro_agent.planning.planner import Planner
from micro_agent.run import LMCall, utc_now
from micro_agent.run.sampling import under_way
from micro_agent.run.span_ids import traceparent
from micro_agent.running.observers import observers

_Tried = tuple[Planned, int]
"""What was planned, and how often it was tried again."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """When a request began, as a time and on the clock that measures it."""

    at: str = field(default_factory=utc_now)
    clock: float = field(default_factory=perf_counter)


def planned(planner: Planner, effect: Plan, ask: Callable[[Callable[[], Planned]], _Tried]) -> Planned:
    """What comes of a request, with all the replies that come at once.

    Args:
        planner: Asks.
        effect: What is asked, and for how many replies.
        ask: Makes one request, with its retries.

    Raises:
        LMError: As the request does.
    """

    def one(planner: Planner, count: int = 1) -> _Tried | Exception:
        try:
            with noting() as noted:
                return _noted(ask(lambda: planner.plan(effect.run, asks=effect.asks, count=count)), noted)
        except LM_ERRORS as error:  # raised again, if no reply came beside it
            return error

    def put(planner: Planner) -> None:
        try:
            came.put(one(planner))
        except Exception as error:  # noqa: BLE001 - a fault of ours, raised where it is waited for
            came.put(error)

    begun, came = _Begun(), SimpleQueue[_Tried | Exception]()
    with spanned(_span_of(effect)):
        tried = [one(planner, effect.count)] if _in_one(planner, effect) else []
        first, *others = [*_planners(planner, effect, tried), None]
        for other in filter(None, others):  # daemons: after Ctrl-C nobody waits for them
            Thread(target=copy_context().run, args=(put, other), name="micro-agent sample", daemon=True).start()
        tried += [] if first is None else [one(first)]
    return _together([*tried, *(came.get() for _ in filter(None, others))], begun)


async def aplanned(
    planner: Planner, effect: Plan, ask: Callable[[Callable[[], Awaitable[Planned]]], Awaitable[_Tried]]
) -> Planned:
    """The same on the running event loop."""

    async def one(planner: Planner, count: int = 1) -> _Tried | Exception:
        try:
            with noting() as noted:
                return _noted(await ask(lambda: planner.aplan(effect.run, asks=effect.asks, count=count)), noted)
        except LM_ERRORS as error:  # raised again, if no reply came beside it
            return error

    begun = _Begun()
    with spanned(_span_of(effect)):
        tried = [await one(planner, effect.count)] if _in_one(planner, effect) else []
        tried += await asyncio.gather(*map(one, _planners(planner, effect, tried)))
    return _together(tried, begun)


def _noted(tried: _Tried, noted: Noted) -> _Tried:
    """What was planned, with the server that answered."""
    if noted.server is not None and isinstance(tried[0], LMCall):
        for call in (tried[0], *tried[0].samples):
            call.server = noted.server
    return tried


def _span_of(effect: Plan) -> str | None:
    """The span of a request, for the servers that are asked; ``None`` where nobody watches."""
    run = effect.run
    if not observers():
        return None
    if effect.asks is not None:
        return traceparent(run, "step", len(run.steps))
    return traceparent(run, "call", len(run.calls) - bool(under_way(run)))


def _in_one(planner: Planner, effect: Plan) -> bool:
    """Whether all replies are asked for in one request, for which the server computes the prompt once."""
    return effect.count > 1 and traits_of(planner.lm).takes_n


def _planners(planner: Planner, effect: Plan, tried: Sequence[_Tried | Exception]) -> list[Planner]:
    """Who asks for the replies that are missing, each for one: all of them where none was asked for yet."""
    answers = [one[0] for one in tried if not isinstance(one, Exception)]
    if tried and not (answers and isinstance(answers[0], LMCall)):
        return []
    there = sum(1 + len(answer.samples) for answer in answers if isinstance(answer, LMCall))
    return [planner.another(number) if number else planner for number in range(there, effect.count)]


def _together(came: Sequence[_Tried | Exception], begun: _Begun) -> Planned:
    """One answer. Replies that came at once took an equal part of the time, so that the times of a run add up."""
    faults = [one for one in came if isinstance(one, Exception) and not isinstance(one, LM_ERRORS)]
    if faults:
        raise faults[0]
    tried = [one for one in came if not isinstance(one, Exception)]
    for answer, retries in tried:
        if isinstance(answer, LMCall | Asked):
            answer.retries, answer.latency_s, answer.at = retries, perf_counter() - begun.clock, begun.at
    calls = [call for answer, _ in tried if isinstance(answer, LMCall) for call in (answer, *answer.samples)]
    for call in calls:
        call.latency_s, call.at = (perf_counter() - begun.clock) / len(calls), begun.at
    if calls:
        first, *first.samples = calls
        return first
    if isinstance(came[0], Exception):
        raise came[0]
    return came[0][0]

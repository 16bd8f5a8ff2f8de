"""Running a tool: with a timeout, its result made JSON and cut to size, any failure turned into an observation.

A sync handler runs in a thread of `micro_agent.tools.workers`: one that does not come back cannot be ended, and must
not take a place away from the tools after it. What it returned or raised is shown there too, within the same time.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from micro_agent.tools.callbacks import from_outside
from micro_agent.tools.jobs import TimedOut, adone, begin, done
from micro_agent.tools.outcome import Outcome, Seen, failed, is_plain, observed, outcome_of, timed_out
from micro_agent.tools.own_tasks import own_tasks
from micro_agent.tools.settled import is_pending, settled
from micro_agent.tools.tool import Tool

__all__ = ["Outcome", "Underway", "aexecute", "execute"]

_CLEANUP_S = 1.0


def execute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """Run a tool and wait for it.

    A sync handler runs in a thread with a copy of the caller's context variables, an async one on an event loop of its
    own there. After ``tool.timeout_s`` the observation is ``TOOL_TIMEOUT`` and the processes that the handler started
    are killed, also on KeyboardInterrupt. With ``timeout_s=None`` a sync handler is called in this thread.

    Args:
        tool: The tool.
        args: Valid arguments, as `prepare` gives them.

    Returns:
        The outcome, whatever the tool raised. What raises is the wait alone: KeyboardInterrupt and its like, from
        outside; in the main thread, with ``timeout_s=None``, one that the handler raised cannot be told from them.
    """
    started = time.perf_counter()
    try:
        seen = _run(tool, args)
    except TimedOut:
        seen = timed_out(tool)
    return outcome_of(seen, time.perf_counter() - started)


async def aexecute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """Run a tool without blocking the event loop; as `execute`, but an async handler is awaited on the running loop.

    When the caller is cancelled, so is an async handler, and the processes of a sync one are killed. Processes that an
    async handler starts are its own to end when it is cancelled: on a shared loop nobody else can tell whose they are.
    """
    started = time.perf_counter()
    try:
        seen = await _arun(tool, args, inf if tool.timeout_s is None else started + tool.timeout_s)
    except TimedOut:
        seen = timed_out(tool)
    return outcome_of(seen, time.perf_counter() - started)


class Underway:
    """A call as `execute` makes it, of a tool with a time limit, that has begun and is waited for later."""

    def __init__(self, tool: Tool, args: dict[str, Any]) -> None:
        self._tool, self._started = tool, time.perf_counter()
        self._begun = begin(lambda job: _shown(tool, lambda: tool.handler(**args), job.awaited))

    def outcome(self) -> Outcome:
        """Wait for it. Its time limit counts from where it began, ``latency_s`` is what it was waited for."""
        assert self._tool.timeout_s is not None
        waited = time.perf_counter()
        try:
            seen = self._begun.value(_left(self._started + self._tool.timeout_s))
        except TimedOut:
            seen = timed_out(self._tool)
        return outcome_of(seen, time.perf_counter() - waited)

    def cancel(self) -> None:
        """Do not wait for it any more."""
        self._begun.abandon()


def _run(tool: Tool, args: dict[str, Any]) -> Seen:
    if tool.timeout_s is not None or tool.is_async:
        return done(lambda job: _shown(tool, lambda: tool.handler(**args), job.awaited), tool.timeout_s)
    result, error = _called(tool, args)
    if error is None and is_plain(result):
        return observed(tool, result)
    return done(lambda job: _shown(tool, lambda: result, job.awaited) if error is None else failed(tool, error), None)


async def _arun(tool: Tool, args: dict[str, Any], ends: float) -> Seen:
    if tool.is_async or tool.timeout_s is None:
        result, error = _called(tool, args)
    else:
        shown = await adone(lambda job: _shown(tool, lambda: tool.handler(**args), _Pending), _left(ends))
        if not isinstance(shown, _Pending):
            return shown
        result, error = shown.result, None
    if error is None and is_pending(result):
        result, error = await _awaited(result, _left(ends))
    if error is None and is_plain(result):
        return observed(tool, result)
    return await adone(lambda job: observed(tool, result) if error is None else failed(tool, error), _left(ends))


def _left(ends: float) -> float | None:
    return None if ends == inf else max(ends - time.perf_counter(), 0.0)


@dataclass(frozen=True, slots=True)
class _Pending:
    """What a handler returned in its thread to be waited for, on the event loop that the caller runs on."""

    result: Any


def _shown(tool: Tool, call: Callable[[], Any], awaited: Callable[[Any], Any]) -> Any:
    """Call, in a worker thread, and give what is seen, or the `_Pending` that is still to become one."""
    try:
        result = call()
        if is_pending(result):
            result = awaited(result)
        return result if isinstance(result, _Pending) else observed(tool, result)
    except BaseException as error:  # noqa: BLE001 whatever a tool raises is its failure: Ctrl-C does not come to this thread
        return failed(tool, error)


_Kept = tuple[Any, BaseException | None]
"""What a tool returned, or what it raised: as a value, since asyncio ends the event loop for a task's SystemExit."""


def _called(tool: Tool, args: dict[str, Any]) -> _Kept:
    try:
        return tool.handler(**args), None
    except BaseException as error:
        if from_outside(error):
            raise
        return None, error


async def _kept(result: Any) -> _Kept:
    try:
        with own_tasks():
            return await settled(result), None
    except BaseException as error:
        if from_outside(error):
            raise
        return None, error


async def _awaited(result: Any, timeout_s: float | None) -> _Kept:
    """Wait for what a tool gave, but no longer than ``timeout_s`` and a second for its clean-up."""
    task = asyncio.ensure_future(_kept(result))
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_CLEANUP_S)
        raise TimedOut
    return task.result()

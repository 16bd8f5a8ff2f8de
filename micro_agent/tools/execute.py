"""Running a tool: with a timeout, its result made JSON and cut to size, any failure turned into an observation.

A sync handler runs in a thread of `micro_agent.tools.workers`: one that does not come back cannot be ended, and must
not take a place away from the tools after it.
"""

import asyncio
import contextvars
import inspect
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from micro_agent.tools.error import ToolError
from micro_agent.tools.jsonable import jsonable
from micro_agent.tools.processes import kill_children
from micro_agent.tools.tool import Tool
from micro_agent.tools.truncate import truncate
from micro_agent.tools.workers import Worker, run_in_worker

_CLEANUP_S = 1.0
_QUICK_S = 0.0002
"""So long an event loop waits for a tool in its thread where it is: to be woken by the thread costs it as much."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a tool: what the model sees, whether it worked, the error code if not, and how long it took.

    ``latency_s`` is ``None`` where no tool ran, or where its end is not known.
    """

    observation: Any
    ok: bool
    error: str | None
    latency_s: float | None


class _TimedOut(Exception):
    """The handler did not return in time; apart from TimeoutError, which a handler may raise itself."""


@dataclass(slots=True)
class _Job:
    """One call in a worker thread."""

    call: Callable[[], Any]
    finished: Callable[[], None]
    await_here: bool
    result: Any = None
    failure: BaseException | None = None
    cancel: Callable[[], None] | None = None
    worker: Worker = field(init=False)

    def start(self) -> "_Job":
        context = contextvars.copy_context()
        self.worker = run_in_worker(lambda: context.run(self._run))
        return self

    def _run(self) -> None:
        try:
            self.result = self.call()
            if self.await_here and inspect.isawaitable(self.result):
                self.result = asyncio.run(self._own_loop(self.result))
        except BaseException as error:  # noqa: BLE001 carried to the thread that waits, which decides
            self.failure = error
        finally:
            self.finished()

    async def _own_loop(self, result: Awaitable[Any]) -> Any:
        loop, task = asyncio.get_running_loop(), cast("asyncio.Task[Any]", asyncio.current_task())
        self.cancel = lambda: cast("None", loop.call_soon_threadsafe(task.cancel))
        return await result

    def abandon(self) -> None:
        """End what can be ended: the processes that the handler started, and a coroutine. Python code runs on."""
        self.worker.abandoned = True
        kill_children(self.worker.native_id or 0)
        if self.cancel is not None:
            with suppress(RuntimeError):  # its loop has closed: it came to its end just now
                self.cancel()

    def outcome(self) -> Any:
        """The result; raises what the handler raised. A coroutine that cancelled itself has failed, nobody else has."""
        if isinstance(self.failure, asyncio.CancelledError):
            raise RuntimeError("the tool cancelled itself")
        if self.failure is not None:
            raise self.failure
        return self.result


def execute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """Run a tool and wait for it.

    A sync handler runs in a thread with a copy of the caller's context variables, an async one on an event loop of its
    own there. After ``tool.timeout_s`` the observation is ``TOOL_TIMEOUT`` and the processes that the handler started
    are killed, also on KeyboardInterrupt. With ``timeout_s=None`` a sync handler is called in this thread.

    Args:
        tool: The tool.
        args: Valid arguments, as `prepare` gives them.

    Returns:
        The outcome. Nothing raises but KeyboardInterrupt and its like.
    """
    started = time.perf_counter()
    try:
        observation = jsonable(_run(tool, args))
    except _FAILURES as error:
        observation = _failure(tool, error)
    return _outcome(tool, observation, started)


async def aexecute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """Run a tool without blocking the event loop; as `execute`, but an async handler is awaited on the running loop.

    When the caller is cancelled, so is an async handler, and the processes of a sync one are killed. Processes that an
    async handler starts are its own to end when it is cancelled: on a shared loop nobody else can tell whose they are.
    """
    started = time.perf_counter()
    try:
        observation = jsonable(await _arun(tool, args))
    except _FAILURES as error:
        observation = _failure(tool, error)
    return _outcome(tool, observation, started)


_FAILURES = (Exception, SystemExit)


def _run(tool: Tool, args: dict[str, Any]) -> Any:
    if tool.timeout_s is not None or tool.is_async:
        return _in_thread(lambda: tool.handler(**args), tool.timeout_s)
    result = tool.handler(**args)
    return _in_thread(lambda: result, None) if inspect.isawaitable(result) else result


def _in_thread(call: Callable[[], Any], timeout_s: float | None) -> Any:
    done = threading.Lock()  # a bare lock: an Event costs as much again as the call of a quick tool
    done.acquire()
    job = _Job(call, done.release, await_here=True).start()
    try:
        in_time = done.acquire(timeout=-1 if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX))
    except BaseException:
        job.abandon()
        raise
    if not in_time:
        job.abandon()
        raise _TimedOut
    return job.outcome()


async def _arun(tool: Tool, args: dict[str, Any]) -> Any:
    started = time.perf_counter()
    if tool.is_async or tool.timeout_s is None:
        result = tool.handler(**args)
    else:
        result = await _in_thread_async(lambda: tool.handler(**args), tool.timeout_s)
    if not inspect.isawaitable(result):
        return result
    left = None if tool.timeout_s is None else max(tool.timeout_s - (time.perf_counter() - started), 0.0)
    return await _awaited(result, left)


async def _in_thread_async(call: Callable[[], Any], timeout_s: float) -> Any:
    loop, done, waiting = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    working = threading.Lock()
    working.acquire()

    def finished() -> None:
        working.release()
        if waiting.is_set():
            with suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(done.set)

    job = _Job(call, finished, await_here=False).start()
    if working.acquire(timeout=_QUICK_S):
        return job.outcome()
    waiting.set()
    if working.acquire(blocking=False):  # pragma: no cover (it ended before it could see that somebody waits: a race)
        return job.outcome()
    try:
        async with asyncio.timeout(timeout_s):
            await done.wait()
    except TimeoutError:
        job.abandon()
        raise _TimedOut from None
    except BaseException:
        job.abandon()
        raise
    return job.outcome()


async def _awaited(result: Awaitable[Any], timeout_s: float | None) -> Any:
    """Wait for an awaitable, but no longer than ``timeout_s`` and a second for its clean-up."""
    task = asyncio.ensure_future(result)
    try:
        await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=_CLEANUP_S)
        task.add_done_callback(_seen)
        raise _TimedOut
    if task.cancelled():
        raise RuntimeError("the tool cancelled itself")
    return task.result()


def _seen(task: "asyncio.Future[Any]") -> None:
    """Take note of a late failure, so that asyncio does not report it as never retrieved."""
    if not task.cancelled():
        task.exception()


def _failure(tool: Tool, error: BaseException) -> dict[str, Any]:
    if isinstance(error, _TimedOut):
        message = f"{tool.name} did not finish within {tool.timeout_s:g} s and was stopped; ask for less at once"
        return {"error": "TOOL_TIMEOUT", "message": message}
    if isinstance(error, ToolError):
        return jsonable(error.observation())
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 an exception whose __str__ fails is still the tool's failure
        text = type(error).__name__
    return {"error": "TOOL_EXCEPTION", "message": jsonable(text.removesuffix(": "))}


def _outcome(tool: Tool, observation: Any, started: float) -> Outcome:
    named = cast("dict[str, Any]", observation).get("error") if isinstance(observation, dict) else None
    code = named if isinstance(named, str) else None
    latency = time.perf_counter() - started
    return Outcome(truncate(observation, tool.max_chars), code is None, code, latency)

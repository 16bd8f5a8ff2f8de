"""A run as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

FastAPI and sse-starlette stream what a generator yields. Here a reader is a place in the log of its run, so that a slow
one costs nothing, and a client that leaves decides over its run; of FastAPI's the framing is used.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from micro_agent.server.runs import Live, ShuttingDown
from micro_agent.server.schemas import answer_of
from micro_agent.streaming import AnswerText, Ended, Started, StreamEvent
from micro_agent.traces import TraceStore

HEARTBEAT_S = 15.0
"""After so many seconds without an event a comment is sent, so that no proxy takes the connection for dead."""

T = TypeVar("T")


class EventStream(Response):
    """A response that sends frames as they come. ``on_leave`` is called when the client goes away before the end."""

    media_type = "text/event-stream"

    def __init__(self, frames: AsyncGenerator[bytes], *, on_leave: Callable[[], None] = lambda: None) -> None:
        # No proxy keeps events back to cache them (RFC 9111) or to fill a buffer (nginx).
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._frames = frames
        self._on_leave = on_leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the end, or until the client has gone."""
        if not await unless_gone(self._sent(send), receive):
            self._on_leave()

    async def _sent(self, send: Send) -> bool:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with aclosing(self._frames) as frames:
            async for frame in frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True


async def unless_gone(work: Coroutine[Any, Any, T], receive: Receive) -> T | None:
    """What ``work`` returns; ``None`` when the client goes away first. The work is then broken off."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def frames_of(
    live: Live, store: TraceStore, after: int = 0, *, heartbeat_s: float = HEARTBEAT_S
) -> AsyncGenerator[bytes]:
    """The events of a run above ``after``, one at a time: what a client does not read is not even made.

    Raises:
        Exception: A defect broke the run off. The stream then ends without an end, and the defect is logged.
    """
    log = live.log
    while not log.all_seen(after):
        try:
            news = await log.news(after, within_s=heartbeat_s)
        except TimeoutError:
            yield KEEPALIVE_COMMENT
            continue
        except ShuttingDown as error:
            left = {"trace_id": error.run_id, "error": {"code": "shutting_down", "message": str(error)}}
            yield frame("suspended", store.masked(left), log.last + 1)
            return
        for after, event in news:
            yield frame(*_said(event, store), after)


def frame(name: str, data: bytes, number: int) -> bytes:
    """One event as it goes over the wire."""
    return format_sse_event(event=name, data_str=data.decode().rstrip("\n"), id=str(number))


def _said(event: StreamEvent, store: TraceStore) -> tuple[str, bytes]:
    match event:
        case Started(run_id):
            return "started", store.masked({"trace_id": run_id})
        case AnswerText(text):
            return "text", store.masked({"text": text})
        case Ended(run):
            return "ended", store.masked(answer_of(run, store))
        case _:
            return "step", store.masked(event.step)

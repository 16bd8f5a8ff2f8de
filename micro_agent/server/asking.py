"""Questions over HTTP: answered when the run has ended, or told as it goes, from wherever a client left off."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response

from micro_agent.rules.limits import Limits
from micro_agent.running.observers import called_by
from micro_agent.server.errors import Refused, documented
from micro_agent.server.records import found
from micro_agent.server.runs import Live, RunPool
from micro_agent.server.schemas import Answer, AskRequest, RunId, answer_of, sent
from micro_agent.server.sse import EventStream, frame, frames_of, unless_gone
from micro_agent.traces import TraceStore

router = APIRouter(tags=["ask"])

_STREAM: dict[str, Any] = {
    "description": "Server-sent events: `started {trace_id}`, `step`, `text {text}`, at last `ended` with the answer; "
    "`suspended {trace_id, error}` when the server ends first and the run can be resumed.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "required": ["event", "data", "id"],
                "properties": {name: {"type": "string"} for name in ("event", "data", "id")},
            },
            "example": 'event: text\ndata: {"text":"It is 16."}\nid: 3\n\n',
        }
    },
}
_STARTING = documented("too_many_runs", "configuration_error", "shutting_down")


@router.post("/ask", summary="Ask a question", response_model=Answer, responses=_STARTING)
async def ask(request: Request, asked: AskRequest) -> Response:
    """The answer comes when the run has ended or waits for confirmation. A tool's or model's fault is not an error."""
    pool, store = _parts(request)
    with called_by(request.headers.get("traceparent")):
        live = _begun(pool, asked, text=False)
    run = await unless_gone(live.ended(), request.receive)
    if run is not None:
        return sent(answer_of(run, store), store)
    if asked.on_disconnect == "cancel":
        live.cancel()
    return Response()  # nobody is there to read it


@router.post(
    "/ask/stream",
    summary="Ask a question and follow the run",
    response_class=EventStream,
    status_code=200,
    responses={200: _STREAM, **_STARTING},
)
async def ask_stream(request: Request, asked: AskRequest) -> Response:
    """What keeps a run from starting is an error as usual; whatever happens after that is told in the stream."""
    pool, store = _parts(request)
    with called_by(request.headers.get("traceparent")):
        live = _begun(pool, asked, text=True)
    await live.started()
    leaving = live.cancel if asked.on_disconnect == "cancel" else lambda: None
    return EventStream(frames_of(live, store), on_leave=leaving)


@router.get(
    "/runs/{run_id}/events",
    summary="Follow a run",
    response_class=EventStream,
    status_code=200,
    responses={
        200: _STREAM,
        204: {"description": "The run is over and the client has all of its events: do not come back."},
        **documented("run_not_found", "not_under_way"),
    },
)
async def events(
    request: Request,
    run_id: RunId,
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that the client has; without it, from the beginning.")
    ] = None,
) -> Response:
    """Events behind the last that the client has. Leaving does not end the run.

    A run that ended a while ago has only its end left to tell.
    """
    pool, store = _parts(request)
    after = int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 20 else 0
    live = pool.live(run_id)
    if live is None:
        return EventStream(_end(await asyncio.to_thread(_ended, store, run_id), after))
    if live.log.all_seen(after):
        return Response(status_code=204)
    return EventStream(frames_of(live, store, after))


def _begun(pool: RunPool, asked: AskRequest, *, text: bool) -> Live:
    limits = replace(pool.limits or Limits(), max_steps=asked.max_steps) if asked.max_steps else None
    return pool.start(asked.question, limits=limits, use_tool_calls=asked.use_tool_calls, text=text)


def _ended(store: TraceStore, run_id: str) -> bytes:
    state = found(store, run_id)
    if state.status == "running":
        told = f"run {run_id} is not under way here: POST /runs/{run_id}/resume goes on with it"
        raise Refused("not_under_way", told)
    return store.masked(answer_of(store.load(run_id, earlier=False), store))


async def _end(data: bytes, after: int) -> AsyncGenerator[bytes]:
    yield frame("ended", data, after + 1)


def _parts(request: Request) -> tuple[RunPool, TraceStore]:
    return request.app.state.pool, request.app.state.store

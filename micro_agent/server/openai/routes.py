"""OpenAI's API, as far as the agent answers it. It is described where it comes from, and not in our OpenAPI."""

from typing import Any

from fastapi import APIRouter, Request, Response

from micro_agent.running.observers import called_by
from micro_agent.server.health import Backend
from micro_agent.server.openai.asked import Asked, of_chat, of_response
from micro_agent.server.openai.bodies import (
    MODEL,
    ChatRequest,
    ResponseRequest,
    StreamOptions,
    check_chat,
    check_model,
    check_response,
)
from micro_agent.server.openai.chat import chunks, completion
from micro_agent.server.openai.errors import unanswered
from micro_agent.server.openai.front_ends import is_own_task
from micro_agent.server.openai.responses import Telling, events
from micro_agent.server.openai.turns import Desk, Turn, why_unanswered
from micro_agent.server.sse import EventStream, unless_gone
from micro_agent.traces import TraceStore

router = APIRouter(prefix="/v1", include_in_schema=False)


@router.get("/models")
async def models(request: Request) -> dict[str, Any]:
    """The one model that there is to ask."""
    return {"object": "list", "data": [_model(request)]}


@router.get("/models/{name:path}")
async def model(request: Request, name: str) -> dict[str, Any]:
    """What there is to know of it."""
    check_model(name, "model")
    return _model(request)


@router.post("/chat/completions")
async def chat_completions(request: Request, body: ChatRequest) -> Response:
    """An answer to the last message. The run ends when the client goes away."""
    check_chat(body)
    desk, streams = _desk(request), bool(body.stream)
    turn = await _turn(request, of_chat(body), body.metadata, text=streams)
    if streams:
        options = body.stream_options or StreamOptions()
        frames = chunks(desk, turn, with_usage=bool(options.include_usage))
        return EventStream(frames, on_leave=turn.cancel)
    run = await unless_gone(turn.ended(), request.receive)
    if run is None:
        turn.cancel()
        return Response()  # nobody is there to read it
    desk.note(turn, run)
    if turn.answer(run) is None:
        return unanswered(500, *why_unanswered(run))
    return _sent(desk.store, completion(turn, run))


@router.post("/responses")
async def responses(request: Request, body: ResponseRequest) -> Response:
    """An answer to the last message, with what was done for it. The run ends when the client goes away."""
    check_response(body)
    desk, streams = _desk(request), bool(body.stream)
    turn = await _turn(request, of_response(body), body.metadata, text=streams)
    if streams:
        telling = Telling(turn, body, await turn.run_id())
        return EventStream(events(desk, turn, telling), on_leave=turn.cancel)
    run = await unless_gone(turn.ended(), request.receive)
    if run is None:
        turn.cancel()
        return Response()
    telling = Telling(turn, body, run.id)
    desk.note(turn, run, telling.id)
    return _sent(desk.store, telling.whole(run))


async def _turn(request: Request, asked: Asked, metadata: dict[str, Any] | None, *, text: bool) -> Turn:
    own_task = is_own_task(asked, request.headers, metadata)
    with called_by(request.headers.get("traceparent")):
        return await _desk(request).turn(asked, text=text, own_task=own_task)


def _model(request: Request) -> dict[str, Any]:
    backend: Backend = request.app.state.backend
    known = {"provider": backend.provider, "model": backend.model}
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": MODEL, "micro_agent": known}


def _sent(store: TraceStore, body: dict[str, Any]) -> Response:
    return Response(store.masked(body), media_type="application/json")


def _desk(request: Request) -> Desk:
    return request.app.state.desk

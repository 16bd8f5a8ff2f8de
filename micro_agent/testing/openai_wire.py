"""Replies as OpenAI's Chat Completions wire carries them, and what else is asked of such a server.

Format: https://platform.openai.com/docs/api-reference/chat. ``reasoning_content`` is the field of llama.cpp and vLLM.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from micro_agent.decoding.decision import RawCall
from micro_agent.testing.reply import Reply, encode
from micro_agent.testing.wire import Chat, pieces

STREAM_TYPE: str = "text/event-stream"


def wants_stream(body: dict[str, Any]) -> bool:
    """Whether the request asks for a stream: not unless it says so."""
    return body.get("stream") is True


def completion(reply: Reply, chat: Chat) -> dict[str, Any]:
    """The body of a whole reply."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text if reply.text or not reply.calls else None}
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(raw, index, chat) for index, raw in enumerate(reply.calls)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}
    return _envelope(chat, "chat.completion", choices=[choice]) | _usage(reply)


def events(reply: Reply, chat: Chat) -> Iterator[bytes]:
    """The chunks of a streamed reply, each one server-sent event."""

    def event(**keys: Any) -> bytes:
        return frame(encode(_envelope(chat, "chat.completion.chunk", **keys)))

    def delta(finish_reason: str | None = None, **keys: Any) -> bytes:
        return event(choices=[{"index": 0, "delta": keys, "finish_reason": finish_reason}])

    yield delta(role="assistant", content="")
    for piece in pieces(reply.reasoning or ""):
        yield delta(reasoning_content=piece)
    for piece in pieces(reply.text):
        yield delta(content=piece)
    for index, raw in enumerate(reply.calls):
        for part in _call_parts(raw, index, chat):
            yield delta(tool_calls=[part])
    yield event(choices=[{"index": 0, "delta": {}, "finish_reason": reply.finish_reason}])
    if reply.usage is not None and _wants_usage(chat.body):
        yield event(choices=[], **_usage(reply))
    yield frame(b"[DONE]")


def frame(data: bytes) -> bytes:
    """``data`` as one event of the stream."""
    return b"data: " + data + b"\n\n"


def failure(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an error."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def unknown_model(model: str) -> tuple[str, str]:
    """Message and code of the 404 for a model that is not served."""
    return f"The model `{model}` does not exist", "model_not_found"


def listing(models: Sequence[str]) -> dict[str, Any]:
    """The body of ``GET /v1/models``."""
    entries = [{"id": name, "object": "model", "created": 0, "owned_by": "micro-agent"} for name in models]
    return {"object": "list", "data": entries}


def _wants_usage(body: dict[str, Any]) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True  # pyright: ignore[reportUnknownMemberType]


def _envelope(chat: Chat, kind: str, **keys: Any) -> dict[str, Any]:
    return {"id": f"chatcmpl-{chat.serial}", "object": kind, "created": 0, "model": chat.model, **keys}


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None:
        return {}
    given, made = reply.usage
    return {"usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}}


def _call(raw: RawCall, index: int, chat: Chat) -> dict[str, Any]:
    call_id = f"call_{chat.serial}_{index}" if raw.id is None else raw.id
    return {"id": call_id, "type": "function", "function": {"name": raw.name, "arguments": _arguments(raw.arguments)}}


def _arguments(arguments: Any) -> str | None:
    return arguments if arguments is None or isinstance(arguments, str) else json.dumps(arguments)


def _call_parts(raw: RawCall, index: int, chat: Chat) -> Iterator[dict[str, Any]]:
    whole = _call(raw, index, chat)
    arguments = whole["function"]["arguments"]
    first = None if arguments is None else ""
    yield {"index": index, **whole, "function": {"name": raw.name, "arguments": first}}
    for piece in pieces(arguments or ""):
        yield {"index": index, "function": {"arguments": piece}}

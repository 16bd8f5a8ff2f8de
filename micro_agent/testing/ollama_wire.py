"""Replies as Ollama's own wire carries them, and what else is asked of such a server.

Format: https://github.com/ollama/ollama/blob/main/docs/api.md.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from micro_agent.decoding.decision import RawCall
from micro_agent.testing.reply import Reply, encode
from micro_agent.testing.wire import Chat, pieces

STREAM_TYPE: str = "application/x-ndjson"

_EPOCH = "1970-01-01T00:00:00Z"
_DETAILS = {"format": "gguf", "family": "scripted", "parameter_size": "1B", "quantization_level": "Q4_K_M"}


def wants_stream(body: dict[str, Any]) -> bool:
    """Whether the request asks for a stream: it does unless it says no."""
    return body.get("stream") is not False


def completion(reply: Reply, chat: Chat) -> dict[str, Any]:
    """The body of a whole reply."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning is not None:
        message["thinking"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(raw) for raw in reply.calls]
    return _line(chat, message) | _end(reply)


def events(reply: Reply, chat: Chat) -> Iterator[bytes]:
    """The chunks of a streamed reply, each a line of JSON; a tool call comes whole."""

    def line(message: dict[str, Any], end: dict[str, Any]) -> bytes:
        return frame(encode(_line(chat, {"role": "assistant", "content": "", **message}) | end))

    for piece in pieces(reply.reasoning or ""):
        yield line({"thinking": piece}, {"done": False})
    for piece in pieces(reply.text):
        yield line({"content": piece}, {"done": False})
    for raw in reply.calls:
        yield line({"tool_calls": [_call(raw)]}, {"done": False})
    yield line({}, _end(reply))


def frame(data: bytes) -> bytes:
    """``data`` as one line of the stream."""
    return data + b"\n"


def failure(status: int, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an error, which carries neither status nor code."""
    return {"error": message}


def unknown_model(model: str) -> tuple[str, str]:
    """Message and code of the 404 for a model that is not pulled."""
    return f'model "{model}" not found, try pulling it first', ""


def listing(models: Sequence[str]) -> dict[str, Any]:
    """The body of ``GET /api/tags``."""
    return {
        "models": [
            {"name": name, "model": name, "modified_at": _EPOCH, "size": 1, "digest": "0" * 64, "details": _DETAILS}
            for name in models
        ]
    }


def show(context_length: int, capabilities: Sequence[str]) -> dict[str, Any]:
    """The body of ``POST /api/show``: what is known of a model."""
    info = {"general.architecture": "scripted", "scripted.context_length": context_length}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _DETAILS,
        "model_info": info,
        "capabilities": list(capabilities),
        "modified_at": _EPOCH,
    }


def _line(chat: Chat, message: dict[str, Any]) -> dict[str, Any]:
    return {"model": chat.model, "created_at": _EPOCH, "message": message}


def _end(reply: Reply) -> dict[str, Any]:
    """The last keys of a reply: Ollama ends a tool call with ``stop``, and has nanoseconds beside its counts."""
    reason = "stop" if reply.finish_reason == "tool_calls" else reply.finish_reason
    end: dict[str, Any] = {"done": True} if reason is None else {"done": True, "done_reason": reason}
    end |= {"total_duration": 2_000_000, "load_duration": 0}
    if reply.usage is not None:
        given, made = reply.usage
        end |= {"prompt_eval_count": given, "prompt_eval_duration": 1_000_000}
        end |= {"eval_count": made, "eval_duration": 1_000_000}
    return end


def _call(raw: RawCall) -> dict[str, Any]:
    function = {"name": raw.name, "arguments": _arguments(raw.arguments)}
    return {"function": function} if raw.id is None else {"id": raw.id, "function": function}


def _arguments(arguments: Any) -> Any:
    """The object that a string holds; any other string as it stands, as some servers of this wire send it."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments  # pyright: ignore[reportUnknownVariableType]

"""Ollama's answers of ``/api/chat`` as its OpenAI face gives them: whole, streamed, and errors."""

import json
from collections.abc import Mapping
from datetime import datetime
from time import time
from typing import Any, cast

from micro_agent.models.bodies import as_object, counted, reasoning_of
from micro_agent.models.refusals import NO_MODEL, OVERFLOW, said
from micro_agent.proxy.events import MOST
from micro_agent.proxy.wires.events import new_id
from micro_agent.text.encoding import as_json

_SHOWN = 200
"""Characters of a line that has no end, in the error that it becomes."""


def completion(body: Mapping[str, Any]) -> dict[str, Any]:
    """The chat completion that a whole answer is."""
    calls = _calls(as_object(body.get("message")), 0)
    choice = {"index": 0, "message": _said(body, calls), **_logprobs(body), **_end(body, bool(calls))}
    told = _envelope(new_id("chatcmpl"), "chat.completion", body)
    return {**told, "choices": [choice], "usage": _usage(body)}


class Chunks:
    """The events of a streamed chat completion, from the bytes of a streamed answer: one line of JSON after another.

    Args:
        usage: Whether the client asked for the usage (``stream_options.include_usage``).
    """

    def __init__(self, *, usage: bool = False) -> None:
        self._usage = usage
        self._rest = bytearray()
        self._id = new_id("chatcmpl")
        self._calls = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The whole events that these bytes complete; the last one of an answer is ``data: [DONE]``."""
        self._rest += data
        if b"\n" not in data and len(self._rest) <= MOST:
            return []
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > MOST:
            lines, self._rest = [*lines, self._rest[:_SHOWN]], bytearray()
        return [event for line in lines if line.strip() for event in self._events(line)]

    def rest(self) -> list[bytes]:
        """The events of a last line without an end."""
        return self.feed(b"\n")

    def _events(self, line: bytearray) -> list[bytes]:
        try:
            body = json.loads(line)
        except ValueError:
            body = None
        if not isinstance(body, dict) or "error" in body:
            return [_event(failure(500, line))]
        return self._chunks(cast("dict[str, Any]", body))

    def _chunks(self, body: dict[str, Any]) -> list[bytes]:
        calls = _calls(as_object(body.get("message")), self._calls)
        self._calls += len(calls)
        told = _envelope(self._id, "chat.completion.chunk", body)
        ended = bool(body.get("done"))
        end = _end(body, self._calls > 0) if ended else {"finish_reason": None}
        chunk = {**told, "choices": [{"index": 0, "delta": _said(body, calls), **_logprobs(body), **end}]}
        usage = [{**told, "choices": list[Any](), "usage": _usage(body)}] if ended and self._usage else []
        done = [b"data: [DONE]\n\n"] if ended else []
        return [*map(_event, [chunk, *usage]), *done]


def failure(status: int, raw: bytes | bytearray) -> dict[str, Any]:
    """The body of an error, from that of Ollama, which has words alone."""
    told = said(raw.decode(errors="replace")) or f"HTTP status {status}"
    code = "context_length_exceeded" if OVERFLOW.search(told) else "model_not_found" if NO_MODEL.search(told) else None
    kind = "invalid_request_error" if status < 500 else "api_error"
    param = "messages" if code == "context_length_exceeded" else None
    return {"error": {"message": told, "type": kind, "param": param, "code": code}}


def _envelope(known: str, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    told = {"id": known, "object": kind, "created": _created(body), "model": body.get("model")}
    return {**told, "system_fingerprint": "fp_ollama"}


def _created(body: Mapping[str, Any]) -> int:
    try:
        return int(datetime.fromisoformat(str(body.get("created_at"))).timestamp())
    except ValueError:
        return int(time())


def _said(body: Mapping[str, Any], calls: list[dict[str, Any]]) -> dict[str, Any]:
    message = as_object(body.get("message"))
    told: dict[str, Any] = {"role": "assistant", "content": message.get("content") or ""}
    thoughts = reasoning_of(message)
    return told | ({"reasoning": thoughts} if thoughts else {}) | ({"tool_calls": calls} if calls else {})


def _calls(message: Mapping[str, Any], first: int) -> list[dict[str, Any]]:
    listed = message.get("tool_calls")
    calls = [as_object(call) for call in cast("list[Any]", listed)] if isinstance(listed, list) else []
    return [_call(call, index) for index, call in enumerate(calls, first)]


def _call(call: Mapping[str, Any], index: int) -> dict[str, Any]:
    function = as_object(call.get("function"))
    given = function.get("arguments")
    told = {"name": function.get("name"), "arguments": given if isinstance(given, str) else as_json(given or {})}
    return {"id": call.get("id") or new_id("call"), "index": index, "type": "function", "function": told}


def _logprobs(body: Mapping[str, Any]) -> dict[str, Any]:
    return {"logprobs": {"content": body["logprobs"]}} if body.get("logprobs") else {}


def _end(body: Mapping[str, Any], calls: bool) -> dict[str, Any]:
    """Why it ended: a reply with calls says ``stop`` there, but one that was cut off is not made whole by them."""
    reason = body.get("done_reason")
    return {"finish_reason": "tool_calls" if calls and reason in (None, "stop") else reason or "stop"}


def _usage(body: Mapping[str, Any]) -> dict[str, Any] | None:
    given, made = counted(body)
    if given is None and made is None:
        return None
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": (given or 0) + (made or 0)}


def _event(chunk: Mapping[str, Any]) -> bytes:
    return f"data: {as_json(chunk)}\n\n".encode()

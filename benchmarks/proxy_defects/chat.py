"""OpenAI's Chat Completions: https://platform.openai.com/docs/api-reference/chat, and what servers make of it.

Quirks: ``no_id``, ``empty_id``, ``same_id``, ``no_index``, ``all_index_0``, ``one_delta`` (a call in one piece, as
Ollama sends it), ``name_again`` (each piece says the name), ``object_arguments``, ``empty_calls``, ``function_call``
(the legacy field), ``no_role``, ``content_null``, ``parts`` (content as a list of parts), ``more_fields``, ``comments``
(SSE comments between the events), ``crlf``, ``no_space`` (``data:`` without one).
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.proxy_defects.said import Ask, Call, Said, compact, pieces

PATH = "/v1/chat/completions"
MORE: dict[str, Any] = {
    "system_fingerprint": "b7743-6a023e898",
    "timings": {"prompt_n": 41, "predicted_per_second": 23.75, "draft_n": None},
    "x_server": {"queue": 0.00012, "emoji": "🔩", "big": 12345678901234567890},
}


def error(message: str, status: int) -> dict[str, Any]:
    """An error in the words of this API."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": str(status)}}


def whole(said: Said, ask: Ask) -> dict[str, Any]:
    """The body of a whole reply."""
    quirks = said.quirks
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None}
    if "parts" in quirks:
        message["content"] = [{"type": "text", "text": said.text}]
    if said.reasoning is not None:
        message["reasoning_content"] = said.reasoning
    if "function_call" in quirks:
        (call,) = said.calls
        message["function_call"] = {"name": call.name, "arguments": call.as_text}
    elif said.calls:
        message["tool_calls"] = [_whole_call(call, at, said, ask) for at, call in enumerate(said.calls)]
    elif "empty_calls" in quirks:
        message["tool_calls"] = []
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    body = _envelope(ask, "chat.completion") | {"choices": [choice], "usage": _usage(said)}
    return body | MORE if "more_fields" in quirks else body


def events(said: Said, ask: Ask) -> Iterator[bytes]:
    """The events of a streamed reply."""
    for body in _chunks(said, ask):
        yield _frame(compact(body), said)
        if "comments" in said.quirks:
            yield b": OPENROUTER PROCESSING\n\n"
    if said.refusal is None:
        yield _frame(b"[DONE]", said)


def _chunks(said: Said, ask: Ask) -> Iterator[dict[str, Any]]:
    more = MORE if "more_fields" in said.quirks else {}

    def delta(finish: str | None = None, **keys: Any) -> dict[str, Any]:
        choice = {"index": 0, "delta": keys, "finish_reason": finish}
        return _envelope(ask, "chat.completion.chunk") | {"choices": [choice]} | more

    if "no_role" not in said.quirks:
        yield delta(role="assistant", content=None if "content_null" in said.quirks else "")
    for piece in pieces(said.reasoning or ""):
        yield delta(reasoning_content=piece)
    for piece in pieces(said.text):
        yield delta(content=piece)
    if said.refusal is not None:
        yield dict(said.refusal.body)
        return
    if "empty_calls" in said.quirks:
        yield delta(tool_calls=[])
    if "function_call" in said.quirks:
        yield delta(function_call={"name": said.calls[0].name, "arguments": ""})
        for piece in pieces(said.calls[0].as_text):
            yield delta(function_call={"arguments": piece})
    else:
        for at, call in enumerate(said.calls):
            for part in _parts(call, at, said, ask):
                yield delta(tool_calls=[part])
    yield delta(said.finish)
    if ask.usage_wanted:
        yield _envelope(ask, "chat.completion.chunk") | {"choices": [], "usage": _usage(said)} | more


def _parts(call: Call, at: int, said: Said, ask: Ask) -> Iterator[dict[str, Any]]:
    quirks = said.quirks
    index: dict[str, Any] = {"index": 0 if "all_index_0" in quirks else at}
    if "no_index" in quirks:
        index = {}
    first = _whole_call(call, at, said, ask)
    if quirks & {"one_delta", "object_arguments"}:
        yield index | first
        return
    yield index | first | {"function": {"name": call.name, "arguments": ""}}
    again = {"name": call.name} if "name_again" in quirks else {}
    for piece in pieces(call.as_text, 7):
        yield index | {"function": again | {"arguments": piece}}


def _whole_call(call: Call, at: int, said: Said, ask: Ask) -> dict[str, Any]:
    arguments = call.as_value if "object_arguments" in said.quirks else call.as_text
    named = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
    if "no_id" in said.quirks:
        return named
    if "empty_id" in said.quirks:
        return {"id": ""} | named
    return {"id": f"call_{ask.serial}{0 if 'same_id' in said.quirks else at}"} | named


def _frame(data: bytes, said: Said) -> bytes:
    lead = b"data:" if "no_space" in said.quirks else b"data: "
    return lead + data + (b"\r\n\r\n" if "crlf" in said.quirks else b"\n\n")


def _envelope(ask: Ask, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{ask.serial}", "object": kind, "created": 1764000000, "model": ask.model}


def _usage(said: Said) -> dict[str, int]:
    out = 1 + len(said.text) // 4
    return {"prompt_tokens": 312, "completion_tokens": out, "total_tokens": 312 + out}

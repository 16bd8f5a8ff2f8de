"""Anthropic's Messages: https://docs.anthropic.com/en/api/messages, as local servers speak it too.

Quirks: ``no_id``, ``empty_id``, ``string_input`` (the input as text; in a stream whole in the start of its block),
``input_at_start`` (a stream's block starts with its whole input and no delta follows), ``more_fields``, ``pings``.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.proxy_defects.chat import MORE
from benchmarks.proxy_defects.said import Ask, Call, Said, compact, pieces

PATH = "/v1/messages"
Body = dict[str, Any]
REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def error(message: str, status: int) -> Body:
    """An error in the words of this API."""
    kind = "api_error" if status >= 500 else "invalid_request_error"
    return {"type": "error", "error": {"type": kind, "message": message}}


def whole(said: Said, ask: Ask) -> Body:
    """The body of a whole reply."""
    return _message(said, ask) | {"content": _blocks(said, ask)}


def events(said: Said, ask: Ask) -> Iterator[bytes]:
    """The events of a streamed reply."""
    for kind, body in _events(said, ask):
        yield b"event: %b\ndata: %b\n\n" % (kind.encode(), compact({"type": kind, **body}))
        if "pings" in said.quirks:
            yield b'event: ping\ndata: {"type": "ping"}\n\n'


def _events(said: Said, ask: Ask) -> Iterator[tuple[str, Body]]:
    begun: Body = _message(said, ask) | {"content": [], "stop_reason": None}
    yield "message_start", {"message": begun}
    for index, block in enumerate(_blocks(said, ask)):
        yield from _block_events(block, {"index": index}, said)
    if said.refusal is not None:
        yield "error", {"error": {"type": "api_error", "message": said.refusal.body["error"]["message"]}}
        return
    stopped = {"stop_reason": _reason(said), "stop_sequence": None}
    yield "message_delta", {"delta": stopped, "usage": {"output_tokens": 1 + len(said.text) // 4}}
    yield "message_stop", {}


def _block_events(block: Body, at: Body, said: Said) -> Iterator[tuple[str, Body]]:
    if block["type"] == "tool_use":
        at_start = "input_at_start" in said.quirks
        given = block["input"]
        yield "content_block_start", at | {"content_block": block if at_start else block | {"input": {}}}
        text = given if isinstance(given, str) else compact(given).decode()
        for piece in [] if at_start else pieces(text, 7):
            yield "content_block_delta", at | {"delta": {"type": "input_json_delta", "partial_json": piece}}
    else:
        kind = "thinking" if block["type"] == "thinking" else "text"
        yield "content_block_start", at | {"content_block": block | {kind: ""}}
        for piece in pieces(block[kind]):
            yield "content_block_delta", at | {"delta": {"type": f"{kind}_delta", kind: piece}}
    yield "content_block_stop", at


def _blocks(said: Said, ask: Ask) -> list[Body]:
    blocks = list[Body]()
    if said.reasoning is not None:
        blocks.append({"type": "thinking", "thinking": said.reasoning, "signature": ""})
    if said.text or not said.calls:
        blocks.append({"type": "text", "text": said.text})
    return blocks + [_call(call, at, said, ask) for at, call in enumerate(said.calls)]


def _call(call: Call, at: int, said: Said, ask: Ask) -> Body:
    given = call.as_text if "string_input" in said.quirks else call.as_value
    block = {"type": "tool_use", "id": f"toolu_{ask.serial}{at}", "name": call.name, "input": given}
    if "empty_id" in said.quirks:
        block["id"] = ""
    if "no_id" in said.quirks:
        del block["id"]
    return block


def _reason(said: Said) -> str | None:
    return REASONS.get(said.finish or "", said.finish)


def _message(said: Said, ask: Ask) -> Body:
    body: Body = {
        "id": f"msg_{ask.serial}", "type": "message", "role": "assistant", "model": ask.model, "content": [],
        "stop_reason": _reason(said), "stop_sequence": None,
        "usage": {"input_tokens": 312, "output_tokens": 1 + len(said.text) // 4},
    }  # fmt: skip
    return body | MORE if "more_fields" in said.quirks else body

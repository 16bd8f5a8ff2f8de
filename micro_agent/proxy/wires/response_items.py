"""The output items of a response, and the reply that they are."""

from collections.abc import Mapping, Sequence
from time import time
from types import MappingProxyType
from typing import Any, cast

from micro_agent.decoding import ModelReply, RawCall, ToolCall
from micro_agent.proxy.wires.events import as_text, new_id, objects, text, with_ids

_FINISH = MappingProxyType({"max_output_tokens": "length", "content_filter": "content_filter"})
"""Why a response is incomplete, in the words of chat completions; any other word is kept."""


def reply_of(items: Sequence[Mapping[str, Any]], response: Mapping[str, Any]) -> ModelReply:
    """The reply that consists of these items, ended as ``response`` says."""
    calls = tuple(_raw(item) for item in items if item.get("type") == "function_call")
    thoughts = "".join(map(thought_of, items))
    return ModelReply("".join(map(text_of, items)), thoughts or None, calls, _finish(response, bool(calls)))


def text_of(item: Mapping[str, Any]) -> str:
    """What a message says; nothing of another item."""
    parts = objects(item.get("content")) if item.get("type") == "message" else []
    return "".join(text(part.get("text")) for part in parts if part.get("type") == "output_text")


def thought_of(item: Mapping[str, Any]) -> str:
    """What a reasoning item says, or the summary of it."""
    if item.get("type") != "reasoning":
        return ""
    parts = objects(item.get("content")) or objects(item.get("summary"))
    return "".join(text(part.get("text")) for part in parts)


def call_items(calls: Sequence[ToolCall], items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The items of calls; one that the server had sent keeps what else it says."""
    sent = {text(item.get("call_id")): item for item in items if item.get("type") == "function_call"}
    return [
        {"type": "function_call", "status": "completed"}
        | {"id": new_id("fc"), **sent.get(known, {})}
        | {"call_id": known, "name": call.name, "arguments": as_text(call.args)}
        for call, known in with_ids(calls, lambda: new_id("call"))
    ]


def saying(item: Mapping[str, Any], said: str) -> dict[str, Any]:
    """The same message, which says only this."""
    parts = [part for part in objects(item.get("content")) if part.get("type") == "output_text"]
    if parts and text_of(item) == said:
        return dict(item)
    part = {"type": "output_text", "logprobs": list[Any](), **(parts[0] if parts else {})}
    return {**item, "content": [{**part, "text": said, "annotations": list[Any]()}]}


def begun(model: str | None) -> dict[str, Any]:
    """A response that the server did not send, without any item."""
    return {
        "id": new_id("resp"), "object": "response", "created_at": int(time()), "status": "in_progress", "error": None,
        "incomplete_details": None, "model": model or "unknown", "output": [], "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def message(said: str = "") -> dict[str, Any]:
    """A message that the server did not send."""
    told = {"id": new_id("msg"), "type": "message", "role": "assistant", "status": "completed"}
    return saying(told, said)


def with_output(response: Mapping[str, Any], output: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The response with these items; a server's shortcut to its text says the same."""
    said = {"output_text": "".join(map(text_of, output))} if isinstance(response.get("output_text"), str) else {}
    return {**response, "output": list(output), **said}


def _raw(item: Mapping[str, Any]) -> RawCall:
    return RawCall(text(item.get("name")), item.get("arguments"), text(item.get("call_id")) or None)


def _finish(response: Mapping[str, Any], calls: bool) -> str | None:
    match response.get("status"):
        case "completed":
            return "tool_calls" if calls else "stop"
        case "incomplete":
            details: Any = response.get("incomplete_details")
            why = text(cast("dict[str, Any]", details).get("reason")) if isinstance(details, dict) else ""
            return _FINISH.get(why, why or "length")
        case _:
            return None

"""The blocks of a message, and the reply that they are."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from micro_agent.decoding import ModelReply, RawCall, ToolCall
from micro_agent.proxy.wires.events import as_text, new_id, text, with_ids
from micro_agent.text.encoding import object_of

FINISH = MappingProxyType({
    "end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length",
    "model_context_window_exceeded": "length", "refusal": "content_filter",
})  # fmt: skip
"""Its words for why a reply ended, in those of chat completions; any other word is kept."""


def reply_of(blocks: list[dict[str, Any]], stop_reason: Any) -> ModelReply:
    """The reply that consists of these blocks and ended for this reason."""
    return ModelReply(
        text="".join(text(block.get("text")) for block in blocks if block.get("type") == "text"),
        reasoning="".join(text(block.get("thinking")) for block in blocks if block.get("type") == "thinking") or None,
        calls=tuple(_raw(block) for block in blocks if block.get("type") == "tool_use"),
        finish_reason=FINISH.get(stop_reason, stop_reason) if isinstance(stop_reason, str) else None,
    )


def begun(model: str | None) -> dict[str, Any]:
    """A message that the server did not send, without any block."""
    return {
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": model or "unknown",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 0, "output_tokens": 0},
    }  # fmt: skip


def call_blocks(calls: list[ToolCall], blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of calls; one that the server had sent keeps what else it says."""
    sent = {text(block.get("id")): block for block in blocks if block.get("type") == "tool_use"}
    return [
        {"type": "tool_use", **sent.get(known, {}), "id": known, "name": call.name, "input": call.args}
        for call, known in with_ids(calls, lambda: new_id("toolu"))
    ]


def ended(fields: Mapping[str, Any], calls: bool) -> dict[str, Any]:
    """Why a mended reply ended, as the fields beside it say it."""
    again = {"stop_sequence": None} if fields.get("stop_sequence") else {}
    return {"stop_reason": "tool_use" if calls else "end_turn", **again}


def _raw(block: Mapping[str, Any]) -> RawCall:
    """A call as `Wire` wants it: text is what stands right on the wire, here an object.

    ``partial_json`` is what came of it in a stream.
    """
    given: Any = block.get("partial_json") or block.get("input")
    if isinstance(given, dict):
        given = as_text(given)
    elif isinstance(given, str) and "partial_json" not in block:
        given = object_of(given) or given  # not as it should be, so not as a text where that can be read
    return RawCall(text(block.get("name")), given, text(block.get("id")) or None)

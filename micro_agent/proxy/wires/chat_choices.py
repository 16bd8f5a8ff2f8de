"""What stands around and inside the choices of a chat completion."""

from collections.abc import Mapping
from secrets import choice
from string import ascii_letters, digits
from time import time
from typing import Any

from micro_agent.decoding import ToolCall
from micro_agent.models.bodies import as_object
from micro_agent.proxy.wires.events import as_text, listed, new_id, with_ids

_ID = ascii_letters + digits


def begun(model: str | None, kind: str = "chat.completion") -> dict[str, Any]:
    """A completion, or a chunk of one, that the server did not send, without its choices."""
    return {"id": new_id("chatcmpl"), "object": kind, "created": int(time()), "model": model or "unknown"}


def calls_of(calls: list[ToolCall]) -> list[dict[str, Any]]:
    """The calls as a message has them, each with an id that no other has."""
    return [
        {"id": known, "type": "function", "function": {"name": call.name, "arguments": as_text(call.args)}}
        for call, known in with_ids(calls, _new_id)
    ]


def pieces_of(delta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pieces of calls in a delta; the one of old servers too."""
    told = delta.get("tool_calls")
    if told is None and "function_call" not in delta:  # most are text
        return []
    pieces = [as_object(one) for one in (listed(told) or [told]) if one]
    legacy = as_object(delta.get("function_call"))
    return pieces or ([{"index": 0, "function": legacy}] if legacy else [])


def _new_id() -> str:
    """Nine letters and digits: what the chat templates of Mistral's models take, and all others as well."""
    return "".join(choice(_ID) for _ in range(9))

"""``/v1/messages``: the Messages API, in which a reply is a list of blocks and a call one of type ``tool_use``.

Format: https://docs.claude.com/en/api/messages; Ollama, llama.cpp and vLLM speak it too.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.proxy.wires import Asked, Offered
from micro_agent.proxy.wires.events import counted, new_id, number, objects, text
from micro_agent.proxy.wires.message_blocks import begun, call_blocks, ended, reply_of
from micro_agent.proxy.wires.messages_stream import MessagesReader

PATH = "/v1/messages"

_KINDS = MappingProxyType({
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error",
})  # fmt: skip
"""The type of an error by its status."""
_CHOICES = MappingProxyType({"auto": "auto", "any": "required", "none": "none"})


class MessagesWire:
    """The Messages API."""

    path: str = PATH

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """What a request asks for. Tools that the server runs itself have no schema here, and are not looked at."""
        tools = [Offered(text(tool.get("name")), tool["input_schema"]) for tool in _tools(body)]
        model = body.get("model")
        return Asked(
            model=model if isinstance(model, str) else None,
            tools=tuple(tools),
            choice=_choice(body.get("tool_choice")),
            stream=body.get("stream") is True,
            messages=[*filter(None, [body.get("system")]), *(body.get("tools") or ()), *body["messages"]],
            most=number(body.get("max_tokens")),
        )

    def reply(self, body: Mapping[str, Any]) -> ModelReply | None:
        """The reply in a message; ``None`` where it is none."""
        if body.get("type") != "message" or not isinstance(body.get("content"), list):
            return None
        return reply_of(objects(body["content"]), body.get("stop_reason"))

    def mended(self, body: dict[str, Any], decision: ToolCalls, left: str) -> dict[str, Any]:
        """The same message with these calls as its last blocks, behind the text that is left."""
        blocks = objects(body.get("content"))
        kept = [block for block in blocks if block.get("type") not in ("text", "tool_use")]
        said = next((block for block in blocks if block.get("type") == "text"), {"type": "text"})
        kept += [{**said, "text": left}] if left.strip() else []
        calls = call_blocks(decision.calls, blocks)
        return {**body, "content": [*kept, *calls], **ended(body, bool(calls))}

    def begun(self, model: str | None) -> dict[str, Any]:
        """A message of this model without any block."""
        return begun(model)

    def reader(self, model: str | None = None) -> MessagesReader:
        """A reader of one stream."""
        return MessagesReader(model)

    def continued(self, body: Mapping[str, Any], said: str, word: str) -> dict[str, Any]:
        """The request with the reply and the word behind it."""
        reply = [{"role": "assistant", "content": said}] if said.strip() else []
        return {**body, "messages": [*body["messages"], *reply, {"role": "user", "content": word}]}

    def again(self, body: Mapping[str, Any]) -> tuple[str, int]:
        """The last call, and how often it was made in a row with the same result."""
        return counted(_turns(objects(body.get("messages"))))

    def error(self, status: int, code: str, message: str) -> dict[str, Any]:
        """The body of an error. It has no codes: that a prompt is too long stands in its message."""
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        told = f"prompt is too long: {message}" if code == "context_length_exceeded" else message
        return {"type": "error", "error": {"type": kind, "message": told}, "request_id": new_id("req")}


def _turns(messages: list[dict[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Each turn that is one call and its result, the last one first, up to what is none."""
    at = len(messages)
    while at >= 2:
        calls = [block for block in objects(messages[at - 2].get("content")) if block.get("type") == "tool_use"]
        results = objects(messages[at - 1].get("content"))
        if len(calls) != 1 or [block.get("type") for block in results] != ["tool_result"]:
            return
        yield text(calls[0].get("name")), calls[0].get("input"), results[0].get("content")
        at -= 2


def _tools(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [tool for tool in objects(body.get("tools")) if isinstance(tool.get("input_schema"), dict)]


def _choice(choice: Any) -> str:
    told = cast("dict[str, Any]", choice) if isinstance(choice, dict) else {}
    if told.get("type") == "tool":
        return text(told.get("name")) or "auto"
    return _CHOICES.get(text(told.get("type")), "auto")

"""OpenAI's Chat Completions as a wire (https://platform.openai.com/docs/api-reference/chat)."""

from collections.abc import Iterator, Mapping
from typing import Any

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.models.bodies import as_object, openai_reply, text_of
from micro_agent.proxy.wires import Asked, Offered
from micro_agent.proxy.wires.chat_choices import begun, calls_of
from micro_agent.proxy.wires.chat_stream import ChatReader
from micro_agent.proxy.wires.events import counted, listed, number, objects, text


class ChatWire:
    """``/v1/chat/completions``."""

    path = "/v1/chat/completions"

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """See `Wire`. Of a request for several choices nothing is mended: its tools are left out."""
        several = (body.get("n") or 1) != 1
        return Asked(
            model=text(body.get("model")) or None,
            tools=() if several else tuple(_tools(body)),
            choice=_choice(body.get("tool_choice")),
            stream=body.get("stream") is True,
            messages=[*listed(body.get("tools")), *listed(body.get("messages"))],
            most=number(body.get("max_completion_tokens") or body.get("max_tokens")),
        )

    def reply(self, body: Mapping[str, Any]) -> ModelReply | None:
        """See `Wire`."""
        choices = listed(body.get("choices"))
        if len(choices) != 1 or not as_object(as_object(choices[0]).get("message")):
            return None
        return openai_reply(body)

    def mended(self, body: dict[str, Any], decision: ToolCalls, left: str) -> dict[str, Any]:
        """See `Wire`."""
        first = (objects(body.get("choices")) or [{}])[0]
        message = {"role": "assistant", **as_object(first.get("message"))}
        message.pop("function_call", None)
        message["content"] = left if left or not decision.calls else None
        if decision.calls:
            message["tool_calls"] = calls_of(decision.calls)
        ended = {"finish_reason": "tool_calls" if decision.calls else "stop"}
        return {**begun(None), **body, "choices": [{"index": 0, **first, "message": message, **ended}]}

    def begun(self, model: str | None) -> dict[str, Any]:
        """See `Wire`."""
        return begun(model)

    def reader(self, model: str | None = None) -> ChatReader:
        """See `Wire`."""
        return ChatReader(model)

    def error(self, status: int, code: str, message: str) -> dict[str, Any]:
        """See `Wire`."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}

    def continued(self, body: Mapping[str, Any], said: str, word: str) -> dict[str, Any]:
        """See `Wire`."""
        reply = [{"role": "assistant", "content": said}] if said else []
        return {**body, "messages": [*listed(body.get("messages")), *reply, {"role": "user", "content": word}]}

    def again(self, body: Mapping[str, Any]) -> tuple[str, int]:
        """See `Wire`. A call counts with the text of its result: what changes was not in vain."""
        return counted(_turns(objects(body.get("messages"))))


def _tools(body: Mapping[str, Any]) -> Iterator[Offered]:
    for tool in objects(body.get("tools")):
        function = as_object(tool.get("function"))
        if name := text(function.get("name")):
            yield Offered(name, as_object(function.get("parameters")) or {"type": "object"})


def _choice(asked: Any) -> str:
    named = text(as_object(as_object(asked).get("function")).get("name"))
    return named or (asked if asked in ("none", "required") else "auto")


def _turns(messages: list[dict[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Each turn that is one call and its result, the last one first, up to what is none."""
    at = len(messages)
    while at >= 2 and messages[at - 1].get("role") == "tool":
        calls = listed(messages[at - 2].get("tool_calls"))
        if len(calls) != 1:
            return
        function = as_object(as_object(calls[0]).get("function"))
        yield text(function.get("name")), function.get("arguments"), text_of(messages[at - 1].get("content"))
        at -= 2

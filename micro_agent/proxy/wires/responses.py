"""``/v1/responses``: the Responses API, in which a reply is a list of items and a call one of type ``function_call``.

Format: https://platform.openai.com/docs/api-reference/responses; Ollama, llama.cpp and vLLM speak it too.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from micro_agent.decoding import ModelReply, ToolCalls
from micro_agent.proxy.wires import Asked, Offered
from micro_agent.proxy.wires.events import counted, number, objects, text
from micro_agent.proxy.wires.response_items import (
    begun,
    call_items,
    message,
    reply_of,
    saying,
    text_of,
    with_output,
)
from micro_agent.proxy.wires.responses_stream import ResponsesReader

PATH = "/v1/responses"


class ResponsesWire:
    """The Responses API."""

    path: str = PATH

    def asked(self, body: Mapping[str, Any]) -> Asked:
        """What a request asks for. Tools other than functions take no JSON, or run on the server: they are left out."""
        model = body.get("model")
        return Asked(
            model=model if isinstance(model, str) else None,
            tools=tuple(_tools(body)),
            choice=_choice(body.get("tool_choice")),
            stream=body.get("stream") is True,
            messages=[*filter(None, [body.get("instructions")]), *(body.get("tools") or ()), *_given(body)],
            most=number(body.get("max_output_tokens")),
        )

    def reply(self, body: Mapping[str, Any]) -> ModelReply | None:
        """The reply in a response; ``None`` where it is none, or has not ended."""
        if body.get("object") != "response" or body.get("status") not in ("completed", "incomplete"):
            return None
        return reply_of(objects(body.get("output")), body)

    def mended(self, body: dict[str, Any], decision: ToolCalls, left: str) -> dict[str, Any]:
        """The same response with these calls as its last items, behind the text that is left."""
        items = objects(body.get("output"))
        output: list[dict[str, Any]] = []
        for item in items:
            if item.get("type") == "message":
                said, left = left[: len(text_of(item))], left[len(text_of(item)) :]
                output += [saying(item, said)] if said.strip() else []
            elif item.get("type") != "function_call":
                output.append(item)
        output += [message(left)] if left.strip() else []
        ended = {"status": "completed", "incomplete_details": None}
        return with_output({**body, **ended}, [*output, *call_items(decision.calls, items)])

    def begun(self, model: str | None) -> dict[str, Any]:
        """A response of this model without any item."""
        return begun(model)

    def reader(self, model: str | None = None) -> ResponsesReader:
        """A reader of one stream."""
        return ResponsesReader(model)

    def continued(self, body: Mapping[str, Any], said: str, word: str) -> dict[str, Any]:
        """The request with the reply and the word behind it."""
        reply = [{"role": "assistant", "content": said}] if said.strip() else []
        return {**body, "input": [*_given(body), *reply, {"role": "user", "content": word}]}

    def again(self, body: Mapping[str, Any]) -> tuple[str, int]:
        """The last call, and how often it was made in a row with the same result."""
        return counted(_turns(objects(body.get("input"))))

    def error(self, status: int, code: str, message: str) -> dict[str, Any]:
        """The body of an error."""
        kind = "server_error" if status >= 500 else "invalid_request_error"
        param = "input" if code == "context_length_exceeded" else None
        return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _given(body: Mapping[str, Any]) -> list[Any]:
    """The items of a request; one that is a text alone is a message of the user."""
    said = body.get("input")
    return cast("list[Any]", said) if isinstance(said, list) else [{"role": "user", "content": said}]


def _turns(items: list[dict[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Each call with its result, the last one first, up to what is none; thoughts may stand between."""
    told = [item for item in items if item.get("type") != "reasoning"]
    for call, result in zip(told[-2::-2], told[-1::-2], strict=False):
        if (call.get("type"), result.get("type")) != ("function_call", "function_call_output"):
            return
        yield text(call.get("name")), call.get("arguments"), result.get("output")


def _tools(body: Mapping[str, Any]) -> list[Offered]:
    functions = [tool for tool in objects(body.get("tools")) if tool.get("type") == "function"]
    told = [tool["function"] if isinstance(tool.get("function"), dict) else tool for tool in functions]
    return [Offered(text(tool.get("name")), tool.get("parameters") or {"type": "object"}) for tool in told]


def _choice(choice: Any) -> str:
    if not isinstance(choice, dict):
        return choice if choice in ("none", "required") else "auto"
    told = cast("dict[str, Any]", choice)
    match told.get("type"):
        case "function":
            return text(told.get("name")) or "auto"
        case "allowed_tools":
            return "required" if told.get("mode") == "required" else "auto"
        case _:
            return "auto"

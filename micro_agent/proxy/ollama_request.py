"""A chat completion as a request to Ollama's ``/api/chat``, and what its other APIs are told of a tool choice.

Source of the formats: Ollama's ``docs/api.md``, and ``openai/openai.go``, which does the same for its OpenAI face.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from micro_agent.decoding import ToolSpec
from micro_agent.models.bodies import as_object, reasoning_of
from micro_agent.models.wire_schemas import held as held_to
from micro_agent.proxy.wires import Asked
from micro_agent.tools.inlined import inlined

_OPTIONS = ("seed", "frequency_penalty", "presence_penalty")
_SAMPLING = {"temperature": 1.0, "top_p": 1.0}
"""What the OpenAI face takes where a request says nothing; the same request is to be sampled the same."""
_OWN = ("keep_alive", "logprobs", "top_logprobs")
"""Fields that are the same in both."""


class Untold(ValueError):
    """The request holds something that ``/api/chat`` has no way to say."""


def native(body: Mapping[str, Any], asked: Asked, *, num_ctx: int) -> dict[str, Any]:
    """The body for ``/api/chat`` in place of a chat completion.

    A prompt beyond the context is refused by the server (``truncate``), and a reply ends where the context does
    (``shift``): by default it drops from both what is oldest, and says nothing.

    Raises:
        Untold: The request holds what this API cannot say; the OpenAI face says what is wrong with it, or takes it.
    """
    if body.get("n") not in (None, 1):
        raise Untold("several choices")
    sent: dict[str, Any] = {"model": body["model"], "messages": list(_messages(body["messages"]))}
    sent |= {"stream": asked.stream, "truncate": False, "shift": False}
    if body.get("tools") and asked.choice != "none":
        sent["tools"] = body["tools"]
    if (form := _form(body, asked)) is not None:
        sent["format"] = form
    if (think := _think(body)) is not None:
        sent["think"] = think
    sent |= {name: body[name] for name in _OWN if body.get(name) is not None}
    own = as_object(body.get("options"))
    return {**sent, "options": {"num_ctx": body.get("num_ctx") or num_ctx, **_options(body), **own}}


def held(path: str, body: Mapping[str, Any], asked: Asked) -> dict[str, Any] | None:
    """A request to another API of Ollama's as it has to be for its tool choice; ``None``: it is right as it came.

    Where no tool may be called, none is offered; ``/v1/responses`` can be held to a call as ``/api/chat`` can.
    """
    if asked.choice == "none" and body.get("tools"):
        return {name: value for name, value in body.items() if name not in ("tools", "tool_choice")}
    if path != "/v1/responses" or (schema := call_schema(asked)) is None:
        return None
    form = {"type": "json_schema", "name": "call", "schema": schema, "strict": True}
    return {**body, "text": {**as_object(body.get("text")), "format": form}}


def call_schema(asked: Asked) -> dict[str, Any] | None:
    """JSON Schema of a call, where one has to be made: of the tool that is named, or of any."""
    if asked.choice in ("auto", "none"):
        return None
    calls = [_call(tool) for tool in asked.tools if asked.choice in ("required", tool.name)]
    return calls[0] if len(calls) == 1 else {"anyOf": calls} if calls else None


def _call(tool: ToolSpec) -> dict[str, Any]:
    # Every server's grammar takes the plain form; what it allows too much, the client or the decoder sees.
    arguments = held_to(inlined(dict(tool.parameters)), "plain")
    fields = {"name": {"const": tool.name}, "arguments": arguments}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _form(body: Mapping[str, Any], asked: Asked) -> Any:
    if (schema := call_schema(asked)) is not None:
        return schema
    wanted = as_object(body.get("response_format"))
    match wanted.get("type"):
        case "json_object":
            return "json"
        case "json_schema":
            return as_object(wanted.get("json_schema")).get("schema", "json")
        case _:
            return None


def _think(body: Mapping[str, Any]) -> Any:
    if body.get("think") is not None:
        return body["think"]
    effort = body.get("reasoning_effort") or as_object(body.get("reasoning")).get("effort")
    return False if effort == "none" else effort


def _options(body: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: body[name] for name in _OPTIONS if body.get(name) is not None}
    options |= {name: usual if body.get(name) is None else body[name] for name, usual in _SAMPLING.items()}
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    stop = body.get("stop")
    if most is not None:
        options["num_predict"] = most
    if stop is not None:
        options["stop"] = [stop] if isinstance(stop, str) else stop
    return options


def _messages(given: Sequence[Any]) -> Iterator[dict[str, Any]]:
    names: dict[Any, Any] = {}
    for message in map(as_object, given):
        role = message.get("role")
        said: dict[str, Any] = {"role": "system" if role == "developer" else role}
        said |= _content(message.get("content"))
        calls = [as_object(call) for call in _list(message.get("tool_calls"))]
        if calls:
            said["tool_calls"] = [_made(call) for call in calls]
            names |= {call.get("id"): as_object(call.get("function")).get("name") for call in calls}
        if role == "assistant" and (thoughts := reasoning_of(message)):
            said["thinking"] = thoughts
        if role == "tool":
            known = message.get("tool_call_id")
            told = {"tool_name": message.get("name") or names.get(known), "tool_call_id": known}
            said |= {name: value for name, value in told.items() if value}
        yield said


def _made(call: Mapping[str, Any]) -> dict[str, Any]:
    function = as_object(call.get("function"))
    given = function.get("arguments")
    try:
        arguments = json.loads(given or "{}") if isinstance(given, str | None) else given
    except ValueError:
        raise Untold("a call whose arguments are no JSON") from None
    known = {"id": call["id"]} if call.get("id") else {}
    return {**known, "function": {"name": function.get("name"), "arguments": arguments}}


def _content(content: Any) -> dict[str, Any]:
    if content is None or isinstance(content, str):
        return {"content": content or ""}
    parts = [as_object(part) for part in _list(content)]
    images = [_image(part) for part in parts if part.get("type") == "image_url"]
    texts = [str(part.get("text") or "") for part in parts if part.get("type") == "text"]
    if len(images) + len(texts) < len(parts):
        raise Untold("a part that is neither text nor an image")
    return {"content": "\n".join(texts), **({"images": images} if images else {})}


def _image(part: Mapping[str, Any]) -> str:
    where = part.get("image_url")
    url = where if isinstance(where, str) else as_object(where).get("url")
    if not isinstance(url, str) or not url.startswith("data:") or ";base64," not in url:
        raise Untold("an image that is not in the request")
    return url.partition(";base64,")[2]


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []

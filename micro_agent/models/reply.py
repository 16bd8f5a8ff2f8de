"""Between a server's JSON, DSPy's `Response` and our `ModelReply`: what an engine returns and what is read of it."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, cast

from dspy import LMError, LMProviderError
from dspy.lm15 import (
    DataPart,
    Message,
    RefusalPart,
    Response,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    Usage,
)

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.models.bodies import counted, ollama_reply, openai_reply, reply_from_failure
from micro_agent.models.failures import MAX_BODY_CHARS, Refusal, marked, one_line, refused
from micro_agent.models.web_page import page_error

__all__ = [
    "answered_by", "body_of", "ollama_reply", "openai_reply", "others_of", "reply_from_failure", "reply_of",
    "response_of", "usage_of",
]  # fmt: skip

Wire = Literal["openai", "ollama"]

_FINISH = {"length": "length", "tool_calls": "tool_call", "content_filter": "content_filter", "error": "error"}
"""Our finish reasons as DSPy has them; any other is ``stop``."""
_MAX_DEPTH = 100
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def reply_of(response: Response, settings: Mapping[str, Any] = MappingProxyType({})) -> ModelReply:
    """The reply in ``response``: from the server's own JSON where it was kept, else from DSPy's parts.

    A call that took all of the ``max_tokens`` in ``settings``, those of the request, was cut off, whatever the server
    says: vLLM calls that ``tool_calls`` in a stream (its issue 53269).
    """
    reply, most, took = _reply_of(response), settings.get("max_tokens"), response.usage.output_tokens
    cut_off = bool(reply.calls) and most is not None and took is not None and took >= most
    return replace(reply, finish_reason="length") if cut_off else reply


def others_of(response: Response) -> list[ModelReply]:
    """The other choices in a response, where several were asked for."""
    body = response.provider_data or {}
    choices: Any = body.get("choices")
    several = len(cast("list[Any]", choices)) if isinstance(choices, list) else 0
    return [openai_reply(body, index) for index in range(1, several)]


def _reply_of(response: Response) -> ModelReply:
    body = response.provider_data or {}
    if "choices" in body:
        return openai_reply(body)
    if "message" in body:
        return ollama_reply(body)
    parts = response.message.parts
    return ModelReply(
        text="".join(_texts(parts)),
        reasoning="".join(part.text or "" for part in parts if isinstance(part, ThinkingPart)) or None,
        calls=tuple(_raw_call(part) for part in parts if isinstance(part, ToolCallPart)),
        finish_reason="tool_calls" if response.finish_reason == "tool_call" else response.finish_reason,
    )


def usage_of(source: Mapping[str, Any] | Response) -> tuple[int | None, int | None]:
    """Input and output tokens, each ``None`` where the server does not say, of a server's JSON or of a response."""
    if isinstance(source, Response):
        return source.usage.input_tokens, source.usage.output_tokens
    return counted(source)


def answered_by(source: Mapping[str, Any] | Response) -> str | None:
    """The model that the server says answered."""
    if isinstance(source, Response):
        body = source.provider_data or {}
        return answered_by(body) if "choices" in body or "message" in body else source.model
    model = source.get("model")
    return model if isinstance(model, str) and model else None


def response_of(body: Mapping[str, Any], *, model: str, wire: Wire) -> Response:
    """``body`` as DSPy's `Response`, which keeps it in ``provider_data``. Any mapping makes one.

    A call without a name, or whose arguments are not a JSON object, is in ``provider_data`` only.
    """
    try:
        return _response(body, model, wire)
    except TypeError:  # NaN, or another value that is not JSON, which `loads` does not let in
        return _response(mended(dict(body)), model, wire)


def _response(body: Mapping[str, Any], model: str, wire: Wire) -> Response:
    reply = openai_reply(body) if wire == "openai" else ollama_reply(body)
    given = body.get("id")
    entered, produced = counted(body)
    return Response(
        id=given if isinstance(given, str) and given else None,
        model=answered_by(body) or model or "unknown",
        message=Message(role="assistant", parts=tuple(_parts(reply)) or (TextPart(""),)),
        finish_reason=cast(Any, _FINISH.get(reply.finish_reason or "", "stop")),
        usage=Usage(input_tokens=entered, output_tokens=produced),
        provider_data=dict(body),
    )


def body_of(raw: bytes, sent: Refusal) -> dict[str, Any]:
    """The JSON object in ``raw``, the body of a reply under ``sent.status``; ``sent`` says whence it came.

    Raises:
        LMError: An error stands in it, or the status is one; what kind, `refused` decides.
        LMProviderError: It is not a JSON object; ``body`` has it, bounded.
        LMServerError: It is a web page.
    """
    text = raw.decode(errors="replace")
    if sent.status >= 300:
        raise refused(sent.saying(text))
    try:
        value = loads(raw)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise unreadable(text, sent)
    body = cast(dict[str, Any], value)
    if body.get("error"):
        raise refused(sent.saying(text))
    return body


def unreadable(text: str, sent: Refusal) -> LMError:
    """The error of a reply that is not the JSON it should be."""
    if page := page_error(text, sent):
        return page
    told = (
        f"{sent.url} sent no JSON object but {one_line(text, 100)!r}: check that the base URL is that of a model's API"
    )
    error = LMProviderError(told, model=sent.model, provider=sent.provider, status=sent.status)
    return marked(error, body=text[:MAX_BODY_CHARS])


def loads(raw: bytes) -> Any:
    """As `piece`, with `mended` characters."""
    value = piece(raw)
    return mended(value) if _SURROGATE.search(raw) else value


def piece(raw: bytes) -> Any:
    """The JSON in ``raw`` without what JSON has not: NaN and infinities are ``None``.

    Raises:
        ValueError: It is not JSON.
        RecursionError: It is nested too deeply.
    """
    return json.loads(raw.decode(errors="replace"), parse_constant=_nothing, parse_float=_finite)


def mended(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON can carry it: both halves of a character put together, or replaced where one is missing.

    What is not JSON becomes its text, what is nested too deeply ``None``.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth > _MAX_DEPTH or isinstance(value, float):
        return None
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value).items()
        return {mended(str(key)): mended(item, depth + 1) for key, item in items}
    return [mended(item, depth + 1) for item in cast(list[Any], value)] if isinstance(value, list) else str(value)


def _nothing(_: str) -> None:
    return None


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def _texts(parts: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, TextPart | RefusalPart):
            yield part.text or ""
        elif isinstance(part, DataPart):
            yield json.dumps(part.value, ensure_ascii=False)


def _raw_call(part: ToolCallPart) -> RawCall:
    """lm15 puts arguments that it cannot parse into ``{"partial_json": text}``."""
    broken = part.input.get("partial_json") if len(part.input) == 1 else None
    return RawCall(part.name, broken if isinstance(broken, str) else dict(part.input), part.id)


def _parts(reply: ModelReply) -> Iterator[Any]:
    if reply.reasoning:
        yield ThinkingPart(reply.reasoning)
    if reply.text:
        yield TextPart(reply.text)
    for index, call in enumerate(reply.calls):
        arguments = _as_object(call.arguments)
        if call.name and arguments is not None:
            yield ToolCallPart(id=call.id or f"call_{index}", name=call.name, input=arguments)


def _as_object(arguments: Any) -> dict[str, Any] | None:
    """The arguments of a call as an object; none at all are an empty one."""
    if isinstance(arguments, str) and arguments.strip():
        try:
            arguments = loads(arguments.encode(errors="replace"))
        except (ValueError, RecursionError):
            return None
    if arguments is None or arguments == "" or isinstance(arguments, str):
        return {}
    return cast(dict[str, Any], arguments) if isinstance(arguments, dict) else None

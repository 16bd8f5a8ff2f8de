"""From the JSON that a model server sent to one `ModelReply`: every shape that servers are known to send is read.

The wire code that DSPy ships is stricter: it refuses an empty tool name, rewrites the finish reason of a call that was
cut off, and drops ``function_call``.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.models.refusals import parsed

_FINISH = {
    "": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
"""Servers' words for what others call ``stop``, ``length`` and ``tool_calls``; any other word is kept."""


def openai_reply(body: Mapping[str, Any], index: int = 0) -> ModelReply:
    """A choice of a chat completion, mostly the only one; an empty reply when it is not there."""
    choices = _list(body.get("choices"))
    if len(choices) <= index:
        return ModelReply()
    choice = as_object(choices[index])
    message = as_object(choice.get("message"))
    return ModelReply(
        text=text_of(message.get("content")) or _str(message.get("refusal")),
        reasoning=reasoning_of(message) or None,
        calls=_calls(message),
        finish_reason=_finish(choice.get("finish_reason")),
    )


def ollama_reply(body: Mapping[str, Any]) -> ModelReply:
    """The message of ``/api/chat``, or the text of ``/api/generate``."""
    message = as_object(body.get("message"))
    return ModelReply(
        text=text_of(message.get("content")) or text_of(body.get("response")),
        reasoning=reasoning_of(message) or reasoning_of(body) or None,
        calls=_calls(message),
        finish_reason=_finish(body.get("done_reason")),
    )


def reply_from_failure(error: BaseException) -> ModelReply | None:
    """The raw model text that came with a refusal, if it did.

    Groq and vLLM refuse, with 400 ``tool_use_failed``, to read what the model said as a tool call, and send it in
    ``failed_generation``. ``error`` is what an engine raised, with its ``body``.
    """
    body = getattr(error, "body", None)
    data = parsed(body) if isinstance(body, str) else None
    if data is None:
        return None
    raw = as_object(data.get("error")).get("failed_generation", data.get("failed_generation"))
    if raw is None:
        return None
    return ModelReply(text=raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False))


def counted(body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Input and output tokens, each ``None`` where the server does not say.

    No request has an empty prompt: servers that do not count send 0 for it, which says nothing.
    """
    usage = as_object(body.get("usage"))
    entered = _count(usage, "prompt_tokens", "input_tokens") or _count(body, "prompt_eval_count") or None
    given = _count(usage, "completion_tokens", "output_tokens")
    if given is None:
        given = _count(body, "eval_count")
    return entered, given or (None if entered is None else given)


def text_of(content: Any) -> str:
    """The text of ``content``: a string, a part, or a list of parts of which those that are text count."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    parts = _list(content) or [content]
    return "".join(_part_text(part) for part in parts)


def reasoning_of(message: Mapping[str, Any]) -> str:
    """What the model thought, under whichever name the server has for it; empty when it says nothing."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if (thoughts := message.get(name)) and (text := _thoughts(thoughts)):
            return text
    if isinstance(content := message.get("content"), str) or content is None:
        return ""
    parts = map(as_object, _list(content))
    return "".join(_thoughts(part.get("thinking")) for part in parts if part.get("type") == "thinking")  # Mistral


def as_object(value: Any) -> Mapping[str, Any]:
    """``value`` if it is an object, else an empty one."""
    if value is None:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, (dict, Mapping)) else {}  # a dict is told much faster


def _calls(message: Mapping[str, Any]) -> tuple[RawCall, ...]:
    listed = message.get("tool_calls")
    entries = _list(listed) or [listed]  # one object where a list is due is one call
    legacy = as_object(message.get("function_call"))
    calls = tuple(_call(entry) for entry in map(as_object, entries) if entry)
    return calls or ((_call(legacy),) if _str(legacy.get("name")) else ())


def _call(entry: Mapping[str, Any]) -> RawCall:
    function = as_object(entry.get("function")) or entry
    arguments = function.get("arguments", function.get("parameters"))
    return RawCall(name=_str(function.get("name")), arguments=arguments, id=_str(entry.get("id")) or None)


def _finish(reason: Any) -> str:
    word = _str(reason)
    return _FINISH.get(word.lower(), word)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    fields = as_object(part)
    return _str(fields.get("text")) if fields.get("type", "text") in ("text", "output_text") else ""


def _thoughts(value: Any) -> str:
    """A string, or a list of strings and of objects that carry ``text``, ``thinking`` or ``summary``."""
    if isinstance(value, str):
        return value
    return "".join(
        piece if isinstance(piece, str) else _first_text(as_object(piece), ("text", "thinking", "summary"))
        for piece in _list(value)
    )


def _first_text(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    return next((text for name in names if (text := _str(fields.get(name)))), "")


def _count(fields: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def _str(value: Any) -> str:
    return value if isinstance(value, str) else ""

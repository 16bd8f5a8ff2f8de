"""WEAK-MODELS, "What the wire does": bodies and streams as servers send them."""

from collections.abc import Callable, Iterator
from typing import Any

from micro_agent.testing import Reply, cut, error, raw, text

from .saying import as_object, js, well
from .scenario import (
    JSON,
    JSON_STREAMED,
    NATIVE,
    NOTES,
    OLLAMA_NATIVE,
    OLLAMA_NATIVE_STREAMED,
    OPENAI_JSON,
    SEARCH,
    STREAMED,
    TWO,
    WEATHER,
    Says,
    Scenario,
    Task,
    Turn,
    Way,
)

PART = "What the wire does"
_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
_FAILED, _MALFORMED = frozenset({"lm_error"}), frozenset({"malformed"})


def _message(turn: Turn) -> dict[str, Any]:
    """What the model means, as the message of a body on OpenAI's wire."""
    if turn.mode == "json":
        return {"role": "assistant", "content": as_object(turn)}
    if turn.call is None:
        return {"role": "assistant", "content": turn.task.answer}
    return {"role": "assistant", "content": None, "tool_calls": list(map(_tool_call, range(9), turn.calls))}


def _tool_call(index: int, one: Any) -> dict[str, Any]:
    function = {"name": one.name, "arguments": js(one.args)}
    return {"index": index, "id": f"call_{index}", "type": "function", "function": function}


def _body(message: dict[str, Any], finish: Any = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return raw({"id": "x", "model": "m", "choices": [choice], "usage": _USAGE, **more})


def _sse(*chunks: dict[str, Any]) -> Reply:
    events = "".join(f"data: {js(chunk)}\n\n" for chunk in chunks)
    return raw(f"{events}data: [DONE]\n\n".encode(), content_type="text/event-stream")


def _delta(delta: dict[str, Any], finish: Any = None) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _lines(*chunks: dict[str, Any]) -> Reply:
    lines = "".join(js({"model": "m", **chunk}) + "\n" for chunk in chunks)
    return raw(lines.encode(), content_type="application/x-ndjson")


def _changed(**keys: Any) -> Says:
    """The message with some keys set."""
    return lambda turn: _body({**_message(turn), **keys})


def _finish(reason: Any) -> Says:
    return lambda turn: _body(_message(turn), reason)


def _calls(change: Callable[[dict[str, Any]], object]) -> Says:
    """Each native call changed in place."""

    def says(turn: Turn) -> Reply | None:
        message = _message(turn)
        for one in message.get("tool_calls", ()):
            change(one)
        return _body(message, "tool_calls") if turn.call else None

    return says


def _arguments(value: Any) -> Says:
    return _calls(lambda one: one["function"].update(arguments=value))


def _no_content(turn: Turn) -> Reply:
    return _body({"role": "assistant", "content": None})


def _no_choices(turn: Turn) -> Reply:
    return raw({"id": "x", "model": "m", "choices": []})


def _parts(turn: Turn) -> Reply:
    message = _message(turn)
    content = message["content"]
    return _body({**message, "content": [{"type": "text", "text": content}] if content else []})


def _no_call(turn: Turn) -> Reply | None:
    return _body({"role": "assistant", "content": turn.task.answer}, "tool_calls") if turn.call is None else None


def _call_in_text(turn: Turn) -> Reply:
    said = js({"name": turn.call.name, "arguments": turn.call.args}) if turn.call else turn.task.answer
    return _body({"role": "assistant", "content": said, "tool_calls": []}, "tool_calls")


def _error_200(turn: Turn) -> Reply:
    return error(200, "the model is busy, try again", code="rate_limit_exceeded", retry_after=0)


def _error_in_stream(turn: Turn) -> Reply:
    return _sse(_delta({"role": "assistant", "content": ""}), {"error": {"message": "upstream failed", "code": 502}})


def _error_line(turn: Turn) -> Reply:
    start = {"message": {"role": "assistant", "content": ""}, "done": False}
    return _lines(start, {"error": "llama runner process has terminated"})


def _empty_function_call(turn: Turn) -> Reply | None:
    message = {**_message(turn), "function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    return _body(message) if turn.call is None else None


def _no_choices_first(turn: Turn) -> Reply:
    message = _message(turn)
    return _sse(
        {"id": "", "model": "", "choices": [], "prompt_filter_results": []}, _delta(message), _delta({}, "stop")
    )


def _usage_last(turn: Turn) -> Reply:
    last: dict[str, Any] = {"id": "x", "model": "m", "choices": [], "usage": _USAGE}
    return _sse(_delta(_message(turn)), _delta({}, "stop"), last)


def _usage_missing(turn: Turn) -> Reply:
    return well(turn).with_(usage=None)


def _thinking(turn: Turn) -> Reply:
    if turn.mode == "native" and turn.call:
        return _ollama({"thinking": "A tool knows.", **_ollama_call(turn, turn.call.args)})
    return text(as_object(turn), reasoning="A tool knows it.")


def _ollama_call(turn: Turn, args: Any) -> dict[str, Any]:
    assert turn.call is not None
    return {"content": "", "tool_calls": [{"function": {"name": turn.call.name, "arguments": args}}]}


def _ollama(message: dict[str, Any], reason: str | None = "stop") -> Reply:
    end = {} if reason is None else {"done_reason": reason}
    return raw({"model": "m", "message": {"role": "assistant", **message}, "done": True, **end})


def _ollama_text_arguments(turn: Turn) -> Reply | None:
    return _ollama(_ollama_call(turn, js(turn.call.args))) if turn.call else None


def _ollama_cut(turn: Turn) -> Reply | None:
    return _ollama({"content": as_object(turn)[:-9]}, "length") if turn.call else None


def _ollama_no_reason(turn: Turn) -> Reply:
    return _ollama({"content": as_object(turn)}, None)


def _failed_generation(turn: Turn) -> Reply | None:
    """A server that parses calls itself, and refuses what it cannot parse."""
    if turn.call is None:
        return None
    said = f"<function={turn.call.name}{js(turn.call.args)}</function>"
    told = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    failure = {"message": told, "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": said}
    return error(400, told, body={"error": failure})


def _failed_empty(turn: Turn) -> Reply:
    told = "Tool choice is required, but model did not call a tool"
    failure = {"message": told, "type": "invalid_request_error", "code": "tool_use_failed", "failed_generation": ""}
    return error(400, told, body={"error": failure})


def _busy(turn: Turn) -> Reply:
    return error(429, "slow down", retry_after=0)


def _down(turn: Turn) -> Reply:
    return error(503, "loading model", retry_after=0)


def _lost(turn: Turn) -> Reply:
    return cut(reply=well(turn))


_FINE: list[tuple[str, Says, Task, tuple[Way, ...]]] = [
    ("content: null beside a call", _changed(refusal=None), WEATHER, (NATIVE, OPENAI_JSON)),
    ("content as a list of parts", _parts, WEATHER, (NATIVE, OPENAI_JSON)),
    ("empty tool-call ids", _calls(lambda one: one.update(id="")), TWO, (NATIVE,)),
    ("no tool-call ids", _calls(lambda one: one.pop("id")), TWO, (NATIVE,)),
    ("the same tool-call id twice", _calls(lambda one: one.update(id="call_0")), TWO, (NATIVE,)),
    ("arguments: null", _arguments(None), NOTES, (NATIVE,)),
    ('arguments: ""', _arguments(""), NOTES, (NATIVE,)),
    (
        "arguments: an object",
        _calls(lambda one: one["function"].update(arguments={"city": "Oslo"})),
        WEATHER,
        (NATIVE,),
    ),
    ('finish_reason ""', _finish(""), WEATHER, (NATIVE, OPENAI_JSON)),
    ("finish_reason null", _finish(None), WEATHER, (NATIVE, OPENAI_JSON)),
    ("finish_reason eos", _finish("eos"), WEATHER, (NATIVE, OPENAI_JSON)),
    ("finish_reason tool_calls, an answer", _no_call, WEATHER, (NATIVE,)),
    ("finish_reason tool_calls, the call in the text", _call_in_text, WEATHER, (NATIVE,)),
    ("an empty function_call beside the answer", _empty_function_call, WEATHER, (NATIVE,)),
    ("first chunk without choices", _no_choices_first, WEATHER, (STREAMED,)),
    ("usage missing", _usage_missing, WEATHER, (STREAMED, JSON_STREAMED)),
    ("usage in the last chunk only", _usage_last, WEATHER, (STREAMED,)),
    ("reasoning_content", _changed(reasoning_content="A tool knows it."), WEATHER, (NATIVE, OPENAI_JSON)),
    ("reasoning", _changed(reasoning="A tool knows it."), WEATHER, (NATIVE, OPENAI_JSON)),
    ("thinking, Ollama", _thinking, WEATHER, (OLLAMA_NATIVE, JSON)),
    ("400 with failed_generation", _failed_generation, WEATHER, (NATIVE,)),
    ("Ollama: arguments as text", _ollama_text_arguments, SEARCH, (OLLAMA_NATIVE,)),
    ("Ollama: no done_reason", _ollama_no_reason, WEATHER, (JSON,)),
]
_LOST: list[tuple[str, Says, Task, tuple[Way, ...], frozenset[str]]] = [
    ("content: null, nothing else", _no_content, WEATHER, (NATIVE, OPENAI_JSON), _MALFORMED),
    ("a call without a name", _calls(lambda one: one["function"].update(name="")), WEATHER, (NATIVE,), _MALFORMED),
    ("a call that is an empty object", _calls(lambda one: one.clear()), WEATHER, (NATIVE,), _MALFORMED),
    ("no choices", _no_choices, WEATHER, (NATIVE,), _MALFORMED | _FAILED),
    ("arguments: null where some are required", _arguments(None), WEATHER, (NATIVE,), _MALFORMED),
    ("Ollama: done_reason length", _ollama_cut, WEATHER, (JSON,), _MALFORMED),
    ("an error object under 200", _error_200, WEATHER, (NATIVE, JSON), _FAILED),
    ("an error chunk in the stream", _error_in_stream, WEATHER, (STREAMED,), _FAILED),
    ("an error line in the stream, Ollama", _error_line, WEATHER, (OLLAMA_NATIVE_STREAMED,), _FAILED),
    ("400 with an empty failed_generation", _failed_empty, WEATHER, (NATIVE,), _FAILED | {"malformed"}),
    ("429 with Retry-After", _busy, WEATHER, (NATIVE, JSON), _FAILED),
    ("503 with Retry-After", _down, WEATHER, (NATIVE, JSON), _FAILED),
    ("connection lost in the body", _lost, WEATHER, (STREAMED,), _FAILED),
]


def scenarios() -> Iterator[Scenario]:
    """Those that arrive whole, then those that do not."""
    for name, says, task, ways in _FINE:
        yield Scenario(PART, name, says, task, ways)
    for name, says, task, ways, ends in _LOST:
        timeout_s = 0.3 if says in (_error_in_stream, _error_line, _lost) else 10.0  # too short for a second try
        yield Scenario(PART, name, says, task, ways, readable=False, ends=ends, timeout_s=timeout_s)

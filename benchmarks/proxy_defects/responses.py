"""OpenAI's Responses: https://platform.openai.com/docs/api-reference/responses, as local servers speak it too.

Quirks: ``no_id``, ``empty_id`` (of the call), ``object_arguments``, ``more_fields``, ``incomplete_calls`` (the
status of the response is ``incomplete``, its calls are whole). All others do not apply.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.proxy_defects.chat import MORE
from benchmarks.proxy_defects.said import Ask, Call, Said, compact, pieces

PATH = "/v1/responses"
Body = dict[str, Any]


def error(message: str, status: int) -> Body:
    """An error in the words of this API."""
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": str(status)}}


def whole(said: Said, ask: Ask) -> Body:
    """The body of a whole reply."""
    return _response(said, ask, _items(said, ask))


def events(said: Said, ask: Ask) -> Iterator[bytes]:
    """The events of a streamed reply."""
    for at, (kind, body) in enumerate(_events(said, ask)):
        yield b"event: %b\ndata: %b\n\n" % (kind.encode(), compact({"type": kind, **body, "sequence_number": at}))


def _events(said: Said, ask: Ask) -> Iterator[tuple[str, Body]]:
    begun = _response(said, ask, []) | {"status": "in_progress", "usage": None, "incomplete_details": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    items = _items(said, ask)
    for index, item in enumerate(items):
        yield from _item_events(item, index)
    if said.refusal is not None:
        failed: Body = {"code": "server_error", "message": said.refusal.body["error"]["message"]}
        yield "response.failed", {"response": begun | {"status": "failed", "error": failed}}
        return
    ended = _response(said, ask, items)
    yield f"response.{ended['status']}", {"response": ended}


def _item_events(item: Body, index: int) -> Iterator[tuple[str, Body]]:
    at = {"item_id": item.get("id", ""), "output_index": index}
    if item["type"] == "function_call":
        yield (
            "response.output_item.added",
            {"output_index": index, "item": item | {"arguments": "", "status": "in_progress"}},
        )
        arguments = item["arguments"] if isinstance(item["arguments"], str) else compact(item["arguments"]).decode()
        for piece in pieces(arguments, 7):
            yield "response.function_call_arguments.delta", at | {"delta": piece}
        yield "response.function_call_arguments.done", at | {"name": item["name"], "arguments": item["arguments"]}
    else:
        reasoning = item["type"] == "reasoning"
        yield (
            "response.output_item.added",
            {"output_index": index, "item": item | {"content": [], "status": "in_progress"}},
        )
        (part,) = item["content"]
        part_at, name = at | {"content_index": 0}, "reasoning_text" if reasoning else "output_text"
        yield "response.content_part.added", part_at | {"part": part | {"text": ""}}
        for piece in pieces(part["text"]):
            yield f"response.{name}.delta", part_at | {"delta": piece} | ({} if reasoning else {"logprobs": []})
        yield f"response.{name}.done", part_at | {"text": part["text"]} | ({} if reasoning else {"logprobs": []})
        yield "response.content_part.done", part_at | {"part": part}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _items(said: Said, ask: Ask) -> list[Body]:
    done, items = "incomplete" if said.finish == "length" else "completed", list[Body]()
    if said.reasoning is not None:
        thought: list[Body] = [{"type": "reasoning_text", "text": said.reasoning}]
        items.append(
            {"id": f"rs_{ask.serial}", "type": "reasoning", "summary": [], "content": thought, "status": "completed"}
        )
    if said.text or not said.calls:
        content: list[Body] = [{"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}]
        items.append(
            {"id": f"msg_{ask.serial}", "type": "message", "status": done, "role": "assistant", "content": content}
        )
    return items + [_call(call, at, done, said, ask) for at, call in enumerate(said.calls)]


def _call(call: Call, at: int, done: str, said: Said, ask: Ask) -> Body:
    arguments = call.as_value if "object_arguments" in said.quirks else call.as_text
    item: Body = {"type": "function_call", "status": done, "name": call.name, "arguments": arguments}
    if "no_id" in said.quirks:
        return item
    return {
        "id": f"fc_{ask.serial}{at}",
        "call_id": "" if "empty_id" in said.quirks else f"call_{ask.serial}{at}",
        **item,
    }


def _response(said: Said, ask: Ask, items: list[Body]) -> Body:
    short = said.finish == "length" or "incomplete_calls" in said.quirks
    out = 1 + len(said.text) // 4
    body: Body = {
        "id": f"resp_{ask.serial}", "object": "response", "created_at": 1764000000,
        "status": "incomplete" if short else "completed", "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if short else None, "instructions": None,
        "max_output_tokens": None, "model": ask.model, "output": items, "parallel_tool_calls": True,
        "previous_response_id": None, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0,
        "truncation": "disabled", "metadata": {}, "text": {"format": {"type": "text"}},
        "usage": {
            "input_tokens": 312, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": out,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 312 + out,
        },
    }  # fmt: skip
    return body | MORE if "more_fields" in said.quirks else body

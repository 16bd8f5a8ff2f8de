"""Replies as servers say them on the Responses and the Messages API, and clients that read them strictly.

The clients are ours: they do what the official ones do, and check besides what those take on trust.
"""

import json
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from micro_agent.decoding import ToolCalls
from micro_agent.proxy.wires import StreamReader
from micro_agent.testing import Received
from tests.proxy.conftest import HEAD, piece

Play = Callable[[socket.socket, Received], None]
"""Answers one request."""
Server = Literal["full", "ollama", "llama.cpp"]
SERVERS: tuple[Server, ...] = ("full", "ollama", "llama.cpp")
ARGS = {"city": "Paris", "days": 2}
CALL = {"id": "call_7", "name": "weather", "arguments": json.dumps(ARGS)}


def frame(data: Mapping[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def streams(*events: bytes) -> Play:
    """A server that sends these events."""

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + b"".join(map(piece, [*events, b""])))

    return play


def refuses(status: int, body: dict[str, Any]) -> Play:
    """A server that answers with an error."""

    def play(connection: socket.socket, _: Received) -> None:
        raw = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
        connection.sendall(head.encode() + raw)

    return play


def responses_stream(
    pieces: Sequence[str] = (),
    *,
    thought: str = "",
    calls: Sequence[Mapping[str, str]] = (),
    server: Server = "full",
    ends: str = "completed",
) -> list[bytes]:
    """The events of a response. Ollama ends no message that calls follow; llama.cpp numbers nothing."""
    told: list[dict[str, Any]] = []
    output: list[dict[str, Any]] = []
    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [],
        "x_unknown": 1,
    }

    def say(kind: str, **fields: Any) -> None:
        if server == "llama.cpp":
            for name in ("output_index", "content_index", "summary_index"):
                fields.pop(name, None)
        else:
            fields["sequence_number"] = len(told)
        told.append({"type": f"response.{kind}", **fields})

    say("created", response={**response, "status": "in_progress"})
    say("in_progress", response={**response, "status": "in_progress"})
    if thought:
        item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}
        say("output_item.added", output_index=0, item=item)
        say("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0, delta=thought)
        say("reasoning_summary_text.done", item_id="rs_1", output_index=0, summary_index=0, text=thought)
        output.append({**item, "summary": [{"type": "summary_text", "text": thought}], "x_kept": 2})
        say("output_item.done", output_index=0, item=output[-1])
    if pieces:
        at, text = len(output), "".join(pieces)
        item: dict[str, Any] = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        place = {"item_id": "msg_1", "output_index": at, "content_index": 0}
        say("output_item.added", output_index=at, item=item)
        say("content_part.added", **place, part=part)
        for piece in pieces:
            say("output_text.delta", **place, delta=piece, logprobs=[])
        output.append({**item, "status": "completed", "content": [{**part, "text": text}], "x_kept": 3})
        if server != "ollama" or not calls:
            say("output_text.done", **place, text=text, logprobs=[])
            say("content_part.done", **place, part={**part, "text": text})
            say("output_item.done", output_index=at, item=output[-1])
    for call in calls:
        at = len(output)
        item = {"type": "function_call", "call_id": call["id"], "name": call["name"], "status": "in_progress"}
        item |= {"arguments": "", "id": f"fc_{call['id']}"}
        say("output_item.added", output_index=at, item=item)
        say("function_call_arguments.delta", item_id=item["id"], output_index=at, delta=call["arguments"])
        output.append({**item, "arguments": call["arguments"], "status": "completed", "x_kept": 4})
        done = {"item_id": item["id"], "output_index": at, "name": call["name"], "arguments": call["arguments"]}
        say("function_call_arguments.done", **done)
        say("output_item.done", output_index=at, item=output[-1])
    details = None if ends == "completed" else {"reason": "max_output_tokens"}
    usage = {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11}
    ended = {**response, "status": ends, "incomplete_details": details, "output": output, "usage": usage}
    say(ends, response=ended)
    return [frame(one) for one in told]


def messages_stream(
    pieces: Sequence[str] = (),
    *,
    thought: str = "",
    calls: Sequence[Mapping[str, str]] = (),
    server: Server = "full",
    ends: str = "",
) -> list[bytes]:
    """The events of a message. llama.cpp stops all blocks at the end; a full server pings."""
    told: list[dict[str, Any]] = []
    stops: list[dict[str, Any]] = []
    index = 0

    def say(kind: str, **fields: Any) -> None:
        told.append({"type": kind, **fields})

    def stop() -> None:
        nonlocal index
        stops.append({"type": "content_block_stop", "index": index})
        index += 1
        if server != "llama.cpp":
            told.extend(stops)
            stops.clear()

    def grow(**delta: Any) -> None:
        say("content_block_delta", index=index, delta=delta)

    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "x_unknown": 1,
    }
    usage = {"input_tokens": 5, "output_tokens": 0}
    say("message_start", message={**message, "stop_reason": None, "stop_sequence": None, "usage": usage})
    if server == "full":
        say("ping")
    if thought:
        say("content_block_start", index=index, content_block={"type": "thinking", "thinking": ""})
        grow(type="thinking_delta", thinking=thought)
        grow(type="signature_delta", signature="s1")
        stop()
    if pieces:
        say("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in pieces:
            grow(type="text_delta", text=piece)
        stop()
    for call in calls:
        block: dict[str, Any] = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": {}, "x_kept": 4}
        say("content_block_start", index=index, content_block=block)
        grow(type="input_json_delta", partial_json=call["arguments"])
        stop()
    told += stops
    reason = ends or ("tool_use" if calls else "end_turn")
    delta = {"stop_reason": reason, "stop_sequence": None}
    say("message_delta", delta=delta, usage={"output_tokens": 6}, x_unknown=2)
    say("message_stop")
    return [frame(one) for one in told]


def mended(reader: StreamReader, events: Iterable[bytes], calls: ToolCalls, *, shown: int = 0) -> tuple[bytes, str]:
    """What a client gets where so much text goes out and then these calls; with it that text."""
    out, opening, left = b"", b"", ""
    for event in events:
        piece = reader.feed(event)
        if piece.kind == "open":
            opening += piece.raw
        elif piece.kind == "text" and len(left) < shown:
            part = piece.text[: shown - len(left)]
            out += opening + (piece.raw if part == piece.text else reader.text_event(part))
            opening, left = b"", left + part
        elif piece.kind in ("reasoning", "other"):
            out += piece.raw
    return out + reader.calls_and_end(calls, left), left


def events_in(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream, each of the name that its data has."""
    found: list[dict[str, Any]] = []
    for event in filter(None, stream.split(b"\n\n")):
        name, data = event.split(b"\n")
        told = json.loads(data.removeprefix(b"data: "))
        assert name == f"event: {told['type']}".encode()
        found.append(told)
    return found


def response_of(stream: bytes) -> dict[str, Any]:
    """The response that a client of the Responses API has at the end."""
    events = events_in(stream)
    assert [event["type"] for event in events][:2] == ["response.created", "response.in_progress"]
    numbers = [event["sequence_number"] for event in events if "sequence_number" in event]
    assert numbers == sorted(set(numbers))
    assert "sequence_number" not in events[0] or len(numbers) == len(events)
    items: list[dict[str, Any]] = []
    said: dict[int, str] = {}
    for event in events[2:-1]:
        at = event.get("output_index", len(items) - (event["type"] != "response.output_item.added"))
        match event["type"].removeprefix("response."):
            case "output_item.added":
                assert at == len(items)
                items.append(event["item"])
                said[at] = ""
            case "output_text.delta" | "function_call_arguments.delta" | "reasoning_summary_text.delta":
                assert event.get("item_id") in (None, items[at]["id"])
                said[at] += event["delta"]
            case "output_text.done" | "reasoning_summary_text.done":
                assert event["text"] == said[at]
            case "function_call_arguments.done":
                assert event["arguments"] == said[at]
                assert event.get("name") in (None, items[at]["name"])
            case "content_part.done":
                assert event["part"]["text"] == said[at]
            case "output_item.done":
                assert event["item"]["id"] == items[at]["id"]
                items[at] = event["item"]
            case kind:
                assert kind == "content_part.added", kind
    assert events[-1]["type"] in ("response.completed", "response.incomplete")
    response = events[-1]["response"]
    assert response["output"] == items
    return response


def message_of(stream: bytes) -> dict[str, Any]:
    """The message that a client of the Messages API has at the end."""
    events = [event for event in events_in(stream) if event["type"] != "ping"]
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    message: dict[str, Any] = events[0]["message"]
    content: list[Any] = message["content"]
    stopped: set[int] = set()
    pieces: dict[int, str] = {}
    for event in events[1:-1]:
        match event["type"]:
            case "content_block_start":
                assert event["index"] == len(content)
                content.append(event["content_block"])
            case "content_block_delta":
                delta: dict[str, Any] = event["delta"]
                block = content[event["index"]]
                assert event["index"] not in stopped
                if delta["type"] == "input_json_delta":
                    pieces[event["index"]] = pieces.get(event["index"], "") + delta["partial_json"]
                else:
                    field = delta["type"].removesuffix("_delta")
                    block[field] = block.get(field, "") + delta[field]
            case "content_block_stop":
                assert event["index"] not in stopped
                stopped.add(event["index"])
            case kind:
                assert kind == "message_delta"
                message |= event["delta"]
                message["usage"] |= event["usage"]
    assert stopped == set(range(len(content)))
    for index, text in pieces.items():
        content[index]["input"] = json.loads(text)
    return message

"""What servers are known to send otherwise than their API says, through a real proxy, read by strict clients."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from micro_agent.decoding import ModelReply
from micro_agent.proxy.holding import Holder
from micro_agent.proxy.wires import Wire
from micro_agent.proxy.wires.chat import ChatWire
from micro_agent.proxy.wires.messages import MessagesWire
from micro_agent.proxy.wires.responses import ResponsesWire
from tests.each import each
from tests.proxy.conftest import Proxied, Start, chunk, played, told
from tests.proxy.conftest import frame as unnamed
from tests.proxy.wires.saying import (
    ARGS,
    Play,
    frame,
    message_of,
    messages_stream,
    refuses,
    response_of,
    responses_stream,
    streams,
)

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["city"]}
MARKUP = '<tool_call>{"name": "weather", "arguments": {"city": "Paris", "days": "2"}}</tool_call>'
SAID: Any = [{"role": "user", "content": "Weather in Paris?"}]
TOLD = {"name": "weather", "parameters": SCHEMA}
REQUESTS: list[tuple[Wire, dict[str, Any]]] = [
    (ChatWire(), {"messages": SAID, "tools": [{"type": "function", "function": TOLD}]}),
    (ResponsesWire(), {"input": SAID, "tools": [{"type": "function", **TOLD}]}),
    (MessagesWire(), {"messages": SAID, "max_tokens": 99, "tools": [{"name": "weather", "input_schema": SCHEMA}]}),
]
CHAT, RESPONSES, MESSAGES = REQUESTS


@dataclass
class Behind:
    """A server that plays what it is told to, and a proxy before it."""

    proxy: Proxied
    play: Play

    def asked(self, wire: Wire, body: dict[str, Any], *, stream: bool = True) -> tuple[ModelReply, dict[str, Any]]:
        """The reply that a strict client has, and the body that it is in."""
        found = self.proxy.post({"model": "asked", "stream": stream, **body}, wire.path)
        assert found.status_code == 200, found.text
        if stream:
            assert found.headers["content-type"].startswith("text/event-stream")
            events = [event for event in found.content.split(b"\n\n") if event and not event.startswith(b":")]
            whole = _WHOLE[wire.path](b"".join(event + b"\n\n" for event in events))
        else:
            whole = found.json()
        reply = wire.reply(whole)
        assert reply is not None
        return reply, whole

    def raw(self, wire: Wire, body: dict[str, Any]) -> bytes:
        """The bytes that a client gets."""
        return self.proxy.post({"model": "asked", "stream": True, **body}, wire.path).content


@pytest.fixture
def behind(start: Start) -> Iterator[Behind]:
    with played(lambda connection, request: told.play(connection, request)) as server:
        told = Behind(start(server.url), streams())
        yield told


def completion_of(stream: bytes) -> dict[str, Any]:
    """The completion that a client has which goes by the index alone, and joins what has the same one."""
    *events, done = filter(None, stream.split(b"\n\n"))
    assert done == b"data: [DONE]"
    chunks = [json.loads(event.removeprefix(b"data: ")) for event in events]
    calls: list[Any] = []
    words, reason = "", None
    for one in chunks:
        for choice in one["choices"]:
            words += choice["delta"].get("content") or ""
            reason = choice["finish_reason"] or reason
            for part in choice["delta"].get("tool_calls", ()):
                if part["index"] == len(calls):
                    calls.append({"id": "", "function": dict[str, str](name="", arguments="")})
                known = calls[part["index"]]
                known["id"] += part.get("id") or ""
                for name in ("name", "arguments"):
                    known["function"][name] += part["function"].get(name) or ""
    message = {"content": words, "tool_calls": calls}
    return {**chunks[0], "choices": [{"message": message, "finish_reason": reason}]}


_WHOLE: dict[str, Callable[[bytes], dict[str, Any]]] = {
    ChatWire.path: completion_of, ResponsesWire.path: response_of, MessagesWire.path: message_of,
}  # fmt: skip


def called(reply: ModelReply) -> list[tuple[str, Any]]:
    assert len({call.id for call in reply.calls} - {None, ""}) == len(reply.calls)
    assert reply.finish_reason == "tool_calls"
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


REFUSALS = [
    (500, {"error": {"code": 500, "message": f"Failed to parse input at pos 0: {MARKUP}", "type": "server_error"}}),
    (400, {"error": {"message": "?", "code": "tool_use_failed", "failed_generation": MARKUP}}),
    (500, {"type": "error", "error": {"type": "api_error", "message": f"Failed to parse input at pos 0: {MARKUP}"}}),
]


def test_an_error_that_holds_the_reply_is_that_reply_on_all_wires(behind: Behind) -> None:
    @each(["wire", "body"], REQUESTS)
    def holds(wire: Wire, body: dict[str, Any]) -> None:
        for stream in (False, True):
            for status, refusal in REFUSALS:
                behind.play = refuses(status, refusal)
                reply, whole = behind.asked(wire, body, stream=stream)
                assert (called(reply), whole["model"]) == ([("weather", ARGS)], "asked")
            behind.play = refuses(400, {"error": {"failed_generation": "I cannot."}})
            reply, whole = behind.asked(wire, body, stream=stream)
            assert (reply.text, reply.finish_reason, whole["model"]) == ("I cannot.", "stop", "asked")

    holds()


def _failed(**said: Any) -> list[bytes]:
    begun = responses_stream(["<tool_", "call>"])[:-4]
    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "output": [],
        "status": "failed",
        "x_unknown": 1,
    }
    return [*begun, frame({"type": "response.failed", "response": {**response, **said}, "sequence_number": 99})]


def test_an_error_in_the_middle_of_a_stream_that_holds_the_reply(behind: Behind) -> None:
    message = f"Failed to parse input at pos 9: {MARKUP}"
    cases: list[tuple[Any, list[bytes]]] = [
        (CHAT, [chunk({"content": "<tool_"}), unnamed({"error": {"message": message}}), b": alive\n\n"]),
        (CHAT, [unnamed({"error": {"message": message}})]),
        (RESPONSES, _failed(error={"code": "server_error", "message": message})),
        (RESPONSES, [*_failed()[:-1], frame({"type": "error", "code": "server_error", "message": message})]),
        (MESSAGES, [*messages_stream(["<tool_"])[:-3], frame({"type": "error", "error": {"message": message}})]),
    ]

    @each(["request", "events"], cases)
    def holds(request: Any, events: list[bytes]) -> None:
        behind.play = streams(*events)
        reply, whole = behind.asked(*request)
        assert (reply.text, called(reply), whole.get("error")) == ("", [("weather", ARGS)], None)
        assert b": x-micro-agent-repairs parser_error, markup" in behind.raw(*request)

    holds()
    other = _failed(error={"code": "server_error", "message": "out of memory"})
    behind.play = streams(*other)
    assert behind.raw(*RESPONSES) == b"".join(other)


def _pieces(*pieces: dict[str, Any]) -> list[bytes]:
    return [*(chunk({"tool_calls": [one]}) for one in pieces), chunk({}, "tool_calls"), unnamed(b"[DONE]")]


def _piece(name: str | None, arguments: Any, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"arguments": arguments, **({} if name is None else {"name": name})}}


def test_pieces_of_calls_that_clients_would_put_together_wrong(behind: Behind) -> None:
    whole = json.dumps(ARGS)
    first, rest = whole[:9], whole[9:]
    one, two = [("weather", ARGS)], [("weather", ARGS)] * 2
    cases: list[tuple[list[dict[str, Any]], list[Any], bool]] = [
        ([_piece("weather", first, id="a"), _piece(None, rest)], one, True),
        ([_piece("weather", whole, id="a"), _piece("weather", whole, id="b")], two, True),
        ([_piece("weather", whole, id="a", index=0), _piece("weather", whole, id="b", index=0)], two, True),
        ([_piece("weather", first, id="a", index=0), _piece("weather", rest, index=0)], one, True),
        ([_piece("weather", first, id="a", index=0), _piece(None, rest, id="a", index=0)], one, True),
        ([_piece("weather", first, id="a", index=1), _piece(None, rest, index=1)], one, True),
        ([_piece("weather", first, id="a", index=0), _piece(None, rest, index=0)], one, False),
        ([_piece("weather", first, id="a", index=0), _piece("", rest, index=0, id="")], one, False),
        ([_piece("weather", whole, id="a", index=0), _piece("weather", whole, id="b", index=1)], two, False),
    ]

    @each(["pieces", "due", "wrong"], cases)
    def holds(pieces: list[dict[str, Any]], due: list[Any], wrong: bool) -> None:
        events = _pieces(*pieces)
        behind.play = streams(*events)
        assert called(behind.asked(*CHAT)[0]) == due
        found = behind.raw(*CHAT)
        assert (b": x-micro-agent-repairs call_deltas\n" in found, found == b"".join(events)) == (wrong, not wrong)

    holds()


def test_a_reply_with_calls_that_ends_for_no_reason_ends_for_its_calls(behind: Behind) -> None:
    call = {"id": "call_7", "name": "weather", "arguments": json.dumps(ARGS)}
    events = messages_stream(calls=[call])
    behind.play = streams(*(event.replace(b'"stop_reason": "tool_use"', b'"stop_reason": null') for event in events))
    assert called(behind.asked(*MESSAGES)[0]) == [("weather", ARGS)]
    assert b": x-micro-agent-repairs finish_reason" in behind.raw(*MESSAGES)


def test_a_whole_number_is_written_as_the_integer_that_the_schema_wants(behind: Behind) -> None:
    integer = {"type": "integer"}
    parts: list[tuple[Any, Any, Any]] = [
        (integer, 3.0, 3), ({"anyOf": [{"type": "null"}, integer]}, 3.0, 3), ({"type": ["integer", "null"]}, -3.0, -3),
        ({"type": "array", "items": integer}, [1.0, 2], [1, 2]),
        ({"type": "array", "prefixItems": [integer], "items": {"type": "number"}}, [1.0, 2.0], [1, 2.0]),
        ({"type": "object", "properties": {"a": integer}, "additionalProperties": integer}, {"a": 1.0, "b": 2.0},
         {"a": 1, "b": 2}),
        ({"$ref": "#/$defs/N"}, 3.0, 3),
        ({"type": "number"}, 3.0, None), ({}, 3.0, None), (integer, 3, None), (integer, 1e300, None), (True, 3.0, None),
        (integer, {"a": 1.0}, None), ({"type": "string"}, ["a", 1.0], None),
    ]  # fmt: skip

    @each(["part", "given", "due"], parts)
    def holds(part: Any, given: Any, due: Any) -> None:
        schema = {"type": "object", "properties": {"n": part}, "$defs": {"N": integer}}
        tool = {"type": "function", "function": {"name": "weather", "parameters": schema}}
        events = _pieces(_piece("weather", json.dumps({"n": given}), id="a", index=0))
        behind.play = streams(*events)
        found = behind.raw(ChatWire(), {"messages": SAID, "tools": [tool]})
        assert told(found)[1], found
        ((_, arguments),) = told(found)[1]
        assert json.dumps(arguments) == json.dumps({"n": given if due is None else due})
        assert (found == b"".join(events), b": x-micro-agent-repairs whole_number\n" in found) == (not due, bool(due))

    holds()


def test_blanks_before_a_call_are_not_said_and_half_a_letter_stays_half(behind: Behind) -> None:
    said = ["\n", "\n```\n", '{"name": "weather", "arguments": {"city": "\\ud83d", "days": 2}}\n```\n']
    cases: list[tuple[Any, list[bytes]]] = [
        (CHAT, [*(chunk({"content": one}) for one in said), chunk({}, "stop"), unnamed(b"[DONE]")]),
        (RESPONSES, responses_stream(said)),
        (MESSAGES, messages_stream(said)),
    ]

    @each(["request", "events"], cases)
    def holds(request: Any, events: list[bytes]) -> None:
        behind.play = streams(*events)
        reply, _ = behind.asked(*request)
        assert (reply.text, called(reply)) == ("", [("weather", {"city": "\ud83d", "days": 2})])

    holds()


def test_however_long_a_text_is_it_is_held_or_not() -> None:
    begins = [
        ('<tool_call>{"name": "weather", "arguments": {"city": "', True),
        ("<think>", False),
        ("So it is. ", False),
    ]
    for begin, holds in begins:
        for embedded in (False, True):
            holder = Holder(["weather"], embedded=embedded)
            for word in [begin, *["many words go "] * 300]:
                holder.feed(word)
            assert (holder.holds_text, holder.left()) == (holds, "")

"""Streams of the Responses and the Messages API: what is read of them, and what stands in the place of text in them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from micro_agent.decoding import ModelReply, RawCall, ToolCall, ToolCalls
from micro_agent.proxy.mending import Mending
from micro_agent.proxy.wires import Asked, Offered
from micro_agent.proxy.wires.messages import MessagesWire
from micro_agent.proxy.wires.messages_stream import MessagesReader
from micro_agent.proxy.wires.responses import ResponsesWire
from micro_agent.proxy.wires.responses_stream import ResponsesReader
from tests.proxy.wires.saying import (
    ARGS,
    CALL,
    SERVERS,
    Server,
    events_in,
    frame,
    mended,
    message_of,
    messages_stream,
    response_of,
    responses_stream,
)


@dataclass(frozen=True)
class Api:
    """A wire, a server that speaks it, and a client of it."""

    wire: ResponsesWire | MessagesWire
    stream: Callable[..., list[bytes]]
    client: Callable[[bytes], dict[str, Any]]
    server: Server = "full"

    def reader(self) -> ResponsesReader | MessagesReader:
        return self.wire.reader()

    def says(self, pieces: Sequence[str] = (), **more: Any) -> list[bytes]:
        return self.stream(pieces, server=self.server, **more)

    def read(self, stream: bytes) -> tuple[ModelReply, list[str]]:
        """The reply that a client has at the end, and the kinds of its parts."""
        body = self.client(stream)
        reply = self.wire.reply(body)
        assert reply is not None
        assert body["x_unknown"] == 1
        assert (body["usage"]["input_tokens"], body["usage"]["output_tokens"]) == (5, 6)
        parts: list[dict[str, Any]] = body["output"] if "output" in body else body["content"]
        return reply, [_KINDS.get(kind, kind) for kind in (str(part["type"]) for part in parts)]


_KINDS = {"thinking": "reasoning", "text": "message", "tool_use": "function_call"}
APIS = [
    Api(wire, stream, client, server)
    for wire, stream, client in (
        (ResponsesWire(), responses_stream, response_of), (MessagesWire(), messages_stream, message_of)
    )
    for server in SERVERS
]  # fmt: skip
FULL = [api for api in APIS if api.server == "full"]
SAID = st.lists(st.text(min_size=1, max_size=9), max_size=6)
MADE = ToolCall("weather", ARGS, None, "markup")
WEATHER = Offered(
    "weather", {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
)
ASKED = Asked(tools=(WEATHER,))
MARKUP = '<tool_call>{"name": "weather", "arguments": {"city": "Paris", "days": 2}}</tool_call>'


@given(st.sampled_from(APIS), SAID, st.text(max_size=9), st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_a_stream_that_nothing_is_done_to_is_its_bytes_and_its_reply(
    api: Api, pieces: list[str], thought: str, count: int
) -> None:
    calls = [{**CALL, "id": f"call_{index}"} for index in range(count)]
    events, reader = api.says(pieces, thought=thought, calls=calls), api.reader()
    found = [reader.feed(event) for event in events]
    assert [piece.raw for piece in found] == events
    assert "".join(piece.text for piece in found if piece.kind == "text") == "".join(pieces)
    assert "".join(piece.text for piece in found if piece.kind == "reasoning") == thought
    told: dict[str, Any] = reader.usage()
    assert (told["model"], told["usage"]["output_tokens"]) == ("m", 6)
    raw = tuple(RawCall(call["name"], call["arguments"], call["id"]) for call in calls)
    assert reader.reply() == ModelReply("".join(pieces), thought or None, raw, "tool_calls" if calls else "stop")
    if api.server != "ollama" or not (pieces and calls):  # else it ends no message, and leaves it out at the end
        assert api.read(b"".join(events))[0] == reader.reply()


@given(st.sampled_from(APIS), SAID, st.sampled_from(["", "so"]), st.integers(0, 30), st.booleans())
@settings(max_examples=50, deadline=None)
def test_calls_in_the_place_of_text_are_calls_that_the_server_made(
    api: Api, pieces: list[str], thought: str, shown: int, native: bool
) -> None:
    calls = [CALL] if native else []
    made = ToolCalls([*(ToolCall("weather", {}, call["id"]) for call in calls), MADE])
    stream, left = mended(api.reader(), api.says(pieces, thought=thought, calls=calls), made, shown=shown)
    reply, kinds = api.read(stream)
    assert (reply.text, reply.reasoning or "", reply.finish_reason) == (left, thought, "tool_calls")
    assert kinds == ["reasoning"] * bool(thought) + ["message"] * bool(left) + ["function_call"] * len(made.calls)
    assert [json.loads(call.arguments) for call in reply.calls] == [call.args for call in made.calls]
    assert len({call.id for call in reply.calls} - {None}) == len(made.calls)
    numbers = [event.get("sequence_number") for event in events_in(stream)]
    assert left or not isinstance(numbers[0], int) or numbers == list(range(len(numbers)))


@given(st.sampled_from(APIS), st.lists(st.integers(0, len(MARKUP)), max_size=4), st.sampled_from(["", "so"]))
@settings(max_examples=40, deadline=None)
def test_a_call_in_the_text_is_made_wherever_the_stream_is_cut(api: Api, cuts: list[int], thought: str) -> None:
    pieces = [MARKUP[start:end] for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True)]
    mending, out = _mending(api), b""
    for event in api.says(list(filter(None, pieces)), thought=thought):
        out += mending.take(event)
    verdict = mending.verdict()
    assert verdict.mends is not None
    stream = out + mending.mended(verdict.mends, verdict)
    reply, kinds = api.read(_without_comments(stream))
    assert kinds == ["reasoning"] * bool(thought) + ["function_call"]
    assert json.loads(reply.calls[0].arguments) == ARGS


@given(st.sampled_from(APIS), st.lists(st.sampled_from(["{", "<tool", "a ", "word ", "}", "[1]", "\n"]), max_size=9))
@settings(max_examples=40, deadline=None)
def test_text_that_is_no_call_comes_out_byte_for_byte(api: Api, pieces: list[str]) -> None:
    mending, out = _mending(api), b""
    events = api.says(pieces)
    for event in events:
        out += mending.take(event)
    assert mending.verdict().mends is None
    assert out + mending.rest() == b"".join(events)


def _mending(api: Api, *, embedded: bool = False, asked: Asked = ASKED) -> Mending:
    def failed(error: Exception) -> None:
        raise error

    return Mending(api.wire, asked, embedded=embedded, failed=failed)


def _without_comments(stream: bytes) -> bytes:
    return b"".join(event + b"\n\n" for event in stream.split(b"\n\n") if event and not event.startswith(b":"))


def test_words_before_a_call_stay_before_it() -> None:
    for api in APIS:
        mending, out = _mending(api, embedded=True), b""
        for event in api.says(["I look at the ", "weather now.\n" + MARKUP]):
            out += mending.take(event)
        verdict = mending.verdict()
        assert verdict.mends is not None
        reply, kinds = api.read(_without_comments(out + mending.mended(verdict.mends, verdict)))
        assert (reply.text.strip(), kinds) == ("I look at the weather now.", ["message", "function_call"])


def test_a_reply_that_the_server_could_not_read_is_said_from_its_beginning() -> None:
    for api in FULL:
        reader = api.reader()
        said = reader.text_event("Hel") + reader.text_event("lo") + reader.calls_and_end(ToolCalls([]), "Hello")
        reply = api.wire.reply(api.client(said))
        assert reply == ModelReply("Hello", finish_reason="stop")
        reply = api.wire.reply(api.client(api.reader().calls_and_end(ToolCalls([MADE]))))
        assert reply is not None
        assert (reply.text, reply.calls[0].name, reply.finish_reason) == ("", "weather", "tool_calls")


def test_what_is_not_known_to_have_gone_out_is_ended_as_if_it_had() -> None:
    for api in FULL:
        reader = api.reader()
        found = [reader.feed(event) for event in api.says(["{"])]
        out = b"".join(piece.raw for piece in found if piece.kind in ("open", "other"))
        reply, kinds = api.read(out + reader.calls_and_end(ToolCalls([MADE])))
        assert (reply.text, kinds) == ("", ["message", "function_call"])


def test_a_stream_that_breaks_off_has_no_end_and_keeps_its_text() -> None:
    for api in APIS:
        reader = api.reader()
        events = api.says(["Hel", "lo"], thought="mull")
        for event in events[: next(at for at, event in enumerate(events) if b"Hel" in event) + 1]:
            reader.feed(event)
        assert reader.reply() == ModelReply("Hel", "mull")
        reader = api.reader()
        for event in events[: next(at for at, event in enumerate(events) if b"mull" in event) + 1]:
            reader.feed(event)
        assert reader.reply() == ModelReply(reasoning="mull")


def test_why_a_reply_ended() -> None:
    for api, ends in zip(FULL, ("incomplete", "max_tokens"), strict=True):
        reader = api.reader()
        kinds = [reader.feed(event).kind for event in api.says(["Hel"], ends=ends)]
        assert (kinds[-1], reader.reply().cut_off) == ("end", True)


def test_events_that_say_nothing_of_the_reply_go_on() -> None:
    for api in FULL:
        reader = api.reader()
        for event in (b": alive\n\n", b"event: ping\ndata: {\n\n"[:12] + b"\n\n", b'data: {"type": "x.y"}\n\n'):
            assert reader.feed(event).kind == "other"
        assert reader.feed(b"data: [DONE]\n\n").kind == "end"
        for event in (b'event: x\r\ndata: {"type": "x"}\r\n\r\n', b'event: x\ndata: {"type": "x"}\nid: 1\n\n'):
            assert reader.feed(event).kind == "other"
        assert reader.feed(b'event: error\ndata: {"type": "error",\ndata: "error": {}}\n\n').kind == "other"


def test_what_cannot_be_read_raises() -> None:
    unnumbered = frame({"type": "content_block_start", "index": None, "content_block": {}})
    for api, events in zip(FULL, ([], [unnumbered]), strict=True):
        for event in (b"data: {\n\n", b"data: 1\n\n", *events):
            try:
                found = api.reader().feed(event)
            except ValueError:
                continue
            raise AssertionError(found)


def test_a_message_of_more_kinds_of_blocks() -> None:
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"type": "message", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use", "input": {}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {}}},
        {"type": "content_block_stop", "index": 1},
    ]
    reader = MessagesWire().reader()
    kinds = [reader.feed(frame(event)).kind for event in events]
    assert kinds == ["other", "other", "other", "other", "text", "other", "call"]
    assert (reader.reply(), reader.usage()["usage"]) == (ModelReply("Hi"), {})


def test_a_response_of_other_items_and_of_none() -> None:
    search = {"id": "ws_1", "type": "web_search_call", "status": "completed"}
    refusal: dict[str, Any] = {"id": "msg_1", "type": "message", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": search},
        {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
        {"type": "response.output_item.done", "output_index": 0, "item": search},
        {"type": "response.output_item.added", "output_index": 1, "item": refusal},
        {"type": "response.refusal.delta", "output_index": 1, "item_id": "msg_1", "delta": "No."},
    ]
    reader = ResponsesWire().reader()
    kinds = [reader.feed(frame(event)).kind for event in events]
    assert kinds == ["other", "other", "other", "other", "open", "text"]
    reader = ResponsesWire().reader()
    for event in events[:5]:
        reader.feed(frame(event))
    ends = [event["type"] for event in events_in(reader.calls_and_end(ToolCalls([])))]
    assert ends == ["response.output_item.done", "response.completed"]
    told = ResponsesWire().mended(ResponsesWire().begun("m"), ToolCalls([]), "Hello")
    ended = frame({"type": "response.completed", "response": told})
    reader = ResponsesWire().reader()
    assert (reader.feed(ended).kind, reader.reply()) == ("end", ModelReply("Hello", finish_reason="stop"))


def test_a_call_of_the_server_is_mended_and_the_words_before_it_stay() -> None:
    for api in APIS:
        mending, out = _mending(api), b""
        for event in api.says(["I look ", "it up."], calls=[{**CALL, "arguments": '{"city": "Paris", "days": "2"}'}]):
            out += mending.take(event)
        verdict = mending.verdict()
        assert verdict.mends is not None
        reply, kinds = api.read(_without_comments(out + mending.mended(verdict.mends, verdict)))
        assert (reply.text, kinds) == ("I look it up.", ["message", "function_call"])
        assert (json.loads(reply.calls[0].arguments), reply.calls[0].id) == (ARGS, CALL["id"])


def test_a_call_without_arguments_is_right_as_it_is() -> None:
    asked = Asked(tools=(Offered("weather", {"type": "object", "properties": {}}),))
    for api, arguments in zip(FULL, ("{}", ""), strict=True):
        mending, out = _mending(api, asked=asked), b""
        events = api.says(calls=[{**CALL, "arguments": arguments}])
        for event in events:
            out += mending.take(event)
        assert mending.verdict().mends is None
        assert out + mending.rest() == b"".join(events)


def test_a_reply_that_took_all_tokens_was_cut_off_whatever_the_server_says() -> None:
    for api in APIS:
        for most, mends in ((6, False), (7, True)):
            mending = _mending(api, asked=Asked(tools=ASKED.tools, most=most))
            for event in api.says([MARKUP.removesuffix("}</tool_call>")]):
                mending.take(event)
            assert (mending.verdict().mends is not None) == mends


def test_calls_that_come_side_by_side_are_told_apart() -> None:
    def item(number: int) -> dict[str, Any]:
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": "f",
            "arguments": "",
        }

    def grows(delta: str, **where: Any) -> dict[str, Any]:
        return {"type": "response.function_call_arguments.delta", "delta": delta, **where}

    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": item(1)},
        {"type": "response.output_item.added", "output_index": 1, "item": item(2)},
        grows("{", item_id="fc_1"),
        grows("{ ", output_index=1),
        grows("}", output_index=0),
        grows("}", item_id="call_2"),
    ]
    reader = ResponsesWire().reader()
    assert {reader.feed(frame(event)).kind for event in events} == {"call"}
    assert reader.reply().calls == (RawCall("f", "{}", "call_1"), RawCall("f", "{ }", "call_2"))


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "without numbers"])
@pytest.mark.parametrize("begun", [{}, {"id": "fc_1"}], ids=["no id", "another id"])
def test_a_call_that_ends_under_no_id_of_its_own_is_one_call(begun: dict[str, str], numbered: bool) -> None:
    reader = ResponsesWire().reader()
    for number in range(2):
        place = {"output_index": number} if numbered else {}
        told = {"type": "function_call", "name": "f", "arguments": ""}
        whole = {**told, "arguments": f"[{number}]", **({"id": f"other_{number}"} if begun else {})}
        for kind, item in (("added", {**told, **begun} if begun else told), ("done", whole)):
            reader.feed(frame({"type": f"response.output_item.{kind}", **place, "item": item}))
        begun = {"id": "fc_2"} if begun else {}
    assert [call.arguments for call in reader.reply().calls] == ["[0]", "[1]"]

"""Chat completions through the proxy: what is mended, what goes through byte for byte, whole and streamed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from micro_agent.proxy.engine import Options
from micro_agent.testing import ModelServer, Received, Reply, call, calls, error, raw, text
from tests.each import each
from tests.proxy.conftest import ADD, CALL, CHAT, KINDS, Proxied, Start, asking, chunk, events_of, frame, told

THREE = ("add", {"a": 1, "b": 2})
RUN = ("x-micro-agent-run", "x-micro-agent-repairs")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model that says what is put into its ``says``; one server for all cases of a test."""

    def play(request: Received) -> Reply:
        return replies[min(len(server.chats), len(replies)) - 1]

    replies: list[Reply] = []
    with ModelServer(play) as server:
        server.says = replies  # type: ignore[attr-defined]
        yield server


def says(model: Any, *replies: Reply) -> None:
    """From now on the model says these in turn, and the last one for ever."""
    model.says[:] = [replies[0]] * len(model.chats) + list(replies)


MENDED: list[tuple[Reply, list[Any], str, str]] = [
    (text(CALL), [THREE], "", KINDS),
    (text('{"name": "add", "arguments": {"a": 1, "b": 2}}'), [THREE], "", "alone"),
    (text('```json\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```'), [THREE], "", "alone"),
    (text("<think>Easy.</think>\n" + CALL), [THREE], "<think>Easy.</think>\n", KINDS),
    (text("add(a=1, b=2)", reasoning="Easy."), [THREE], "", "alone, dialect:pythonic"),
    (text('Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}'), [THREE], "", "markup, dialect:react"),
    (call("functions.add", {"a": "1", "b": 2}), [THREE], "", "tool_name, number_string"),
    (call("add", '{"a": 1, "b": 2'), [THREE], "", "closing_brackets"),
    (call("add", {"a": 1, "b": 2}, finish_reason="stop"), [THREE], "", "finish_reason"),
    (call("add", {"a": 1, "b": 2}, id=""), [THREE], "", "call_id"),
    (call("say", ""), [("say", {})], "", "arguments_type"),
    (call("add", {"a": 1, "b": "2"}, text="Let me add."), [THREE], "Let me add.", "number_string"),
    (text(CALL + CALL.replace("1", "3")), [THREE, ("add", {"a": 3, "b": 2})], "", f"{KINDS}, side_by_side"),
]  # fmt: skip


def _kinds(kinds: str) -> set[str]:
    return set(kinds.split(", "))


def test_what_is_mended(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)

    @each(["reply", "expected", "left", "kinds"], MENDED)
    def holds(reply: Reply, expected: list[Any], left: str, kinds: str) -> None:
        says(model, reply)
        whole = through.post(asking())
        choice = whole.json()["choices"][0]
        message = choice["message"]
        made = [(one["function"]["name"], json.loads(one["function"]["arguments"])) for one in message["tool_calls"]]
        assert (made, message["content"] or "", choice["finish_reason"]) == (expected, left, "tool_calls")
        assert _kinds(whole.headers["x-micro-agent-repairs"]) == _kinds(kinds)
        assert len({one["id"] for one in message["tool_calls"] if one["id"]}) == len(expected)
        streamed = through.post(asking(stream=True)).content
        assert told(streamed) == (left, expected, "tool_calls")
        comments = [line for line in streamed.decode().splitlines() if line.startswith(":")]
        assert [_kinds(line.removeprefix(": x-micro-agent-repairs ")) for line in comments] == [_kinds(kinds)]
        assert streamed.endswith(b"data: [DONE]\n\n")

    holds()
    assert len(model.chats) == 2 * len(MENDED)
    assert through.count('repairs_total{kind="markup"}') == 8


PASSED = [
    text("Three."),
    text("The sum of one and two is three, as everybody knows."),
    text('{"sum": 3}'),
    text("[1] is a list, (2) is not. " * 20),
    text("```python\nprint(3)\n```"),
    text("<b>Three</b>" + " and so on" * 40),
    text('For example {"name": "add", "arguments": {"a": 1, "b": 2}} would add.'),
    text(f"Sure. {CALL}"),
    text("<think>Hm.</think>Three, since one and two are three."),
    text("一加二等于三，这是大家都知道的事情。"),
    text(""),
    call("add", {"a": 1, "b": 2}),
    call("add", {"a": 1, "b": 2}, text="Let me add these."),
    calls(("add", {"a": 1, "b": 2}), ("say", {"text": "hi"})),
    call("subtract", {"a": 1}),
    call("add", '{"a": 1, "b": '),
    error(400, "no such model"),
    error(502, "?", body=b"<html>"),
    error(500, "The model produced output that does not match the expected peg-native format"),
    raw({"object": "something else"}),
    raw(b"[]"),
    raw(b"not JSON"),
    raw(b'{"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}'),
    raw(b' {"choices":[{"message":{"content":"Three.","new":[1]},"finish_reason":null}],"more":{"x":1e3}}\n'),
]  # fmt: skip


def test_what_goes_through_byte_for_byte(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    import httpx

    with httpx.Client(base_url=model.url, trust_env=False) as direct:

        @each("reply", PASSED)
        def holds(reply: Reply) -> None:
            for stream in (False, True):
                body = asking(stream=stream)
                says(model, reply)
                found = through.post(body)
                expected = direct.post(CHAT, json=body)
                serial, other = (f"{n}".encode() for n in (len(model.chats) - 1, len(model.chats)))
                ids = [(b"chatcmpl-%b", 2), (b"call_%b_", 2)]
                same = expected.content
                for pattern, _ in ids:
                    same = same.replace(pattern % other, pattern % serial)
                assert (found.status_code, found.content) == (expected.status_code, same)
                assert found.headers["content-type"] == expected.headers["content-type"]
                assert "x-micro-agent-repairs" not in found.headers

        holds()
    assert len(model.chats) == 4 * len(PASSED)


ODD = [
    chunk({"role": "assistant"}) + b": a comment\n\n" + chunk({"content": "Three."}, new=1) + chunk({}, "stop"),
    chunk({"content": "{"}).replace(b"\n", b"\r\n") + chunk({"content": "}"}, "stop") + b"data: [DONE]\r\r",
    b"event: x\nid: 3\ndata: " + chunk({"content": "Three."})[6:] + b"\n\n" + frame(b"[DONE]"),
    chunk({"content": "Three."}) + frame(b"not JSON") + chunk({"content": "{"}) + frame(b"[DONE]"),
    chunk({"content": "{"}) + frame(b"not JSON") + chunk({"content": "}"}),
    chunk({"content": "{"}) + frame({"error": {"message": "out of memory"}}),
    chunk({"content": CALL}),
    chunk({"content": CALL[:40]}, "length"),
    chunk({"content": "Three"}) + chunk({}, "stop", usage={"prompt_tokens": 3}) + frame({"choices": [], "usage": {}}),
    frame({"choices": []}) + chunk({"reasoning_content": "Hm."}) + chunk({"content": "Three."}) + b"data: {",
    chunk({"content": "{"}) + chunk({"reasoning_content": "Hm."}) + chunk({"content": "3}"}, "stop"),
    chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "subtract", "arguments": "{}"}}]}, "tool_calls"),
    b"",
]  # fmt: skip


def test_streams_of_any_shape_go_through_byte_for_byte(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)

    @each("body", ODD)
    def holds(body: bytes) -> None:
        says(model, raw(body, content_type="text/event-stream; charset=utf-8"))
        assert through.post(asking(stream=True)).content == body

    holds()
    assert through.count('failures_total{kind="reading"}') == 2


def test_a_stream_that_is_mended_keeps_what_else_came(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    legacy = {"function_call": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    usage = frame({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "id": "c1"})
    says(model, raw(
        chunk({"role": "assistant"}) + chunk({"content": "<"}) + chunk({"reasoning_content": "Hm."})
        + chunk({"content": CALL[1:]}, "stop", new=1) + usage + frame(b"[DONE]"),
        content_type="text/event-stream",
    ))  # fmt: skip
    found = through.post(asking(stream=True)).content
    assert told(found) == ("", [THREE], "tool_calls")
    assert events_of(found)[1]["choices"][0]["delta"] == {"reasoning_content": "Hm."}
    assert events_of(found)[-2]["new"] == 1
    assert found.endswith(usage + frame(b"[DONE]"))
    assert through.runs()[0].usage.input_tokens == 3

    says(model, raw(chunk(legacy) + chunk({"content": "So."}, "function_call"), content_type="text/event-stream"))
    found = through.post(asking(stream=True)).content
    assert told(found) == ("So.", [THREE], "tool_calls")  # without an end of its own it gets one
    assert found.endswith(frame(b"[DONE]"))


def test_calls_amid_text_are_made_where_that_is_asked_for(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url, Options(embedded=True))
    cases = [
        (f"Sure. {CALL}", "Sure. "),
        (f"Here is what I do:\n{CALL}", "Here is what I do:\n"),
        ("[a] and [b] are no calls" + " at all" * 50 + f" but this: {CALL}", None),
        ("I use the add tool now: add(a=1, b=2)", "I use the add tool now: add(a=1, b=2)"),
    ]

    @each(["said", "left"], cases)
    def holds(said: str, left: str | None) -> None:
        says(model, text(said))
        left = said.removesuffix(CALL) if left is None else left
        message = through.post(asking()).json()["choices"][0]["message"]
        assert (message["content"], message["tool_calls"][0]["function"]["name"]) == (left, "add")
        assert told(through.post(asking(stream=True)).content) == (left, [THREE], "tool_calls")

    holds()
    says(model, text(f"I would do this:\n{CALL}\nbut it is forbidden."))
    assert told(through.post(asking(stream=True)).content)[1] == []
    says(model, text("We have {1, 2} and <b>three</b>" + " and more" * 60))
    assert told(through.post(asking(stream=True)).content)[1] == []


def test_a_request_that_offers_nothing_has_nothing_mended(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    says(model, text(CALL))

    @each("more", [{"tools": []}, {"tool_choice": "none"}, {"n": 2}, {"tools": [{"type": "custom"}]}])
    def holds(more: dict[str, Any]) -> None:
        for stream in (False, True):
            found = through.post(asking(stream=stream) | more)
            assert CALL.encode() in (found.content if not stream else told(found.content)[0].encode()) or not stream
            assert "x-micro-agent-repairs" not in found.headers
            assert b"x-micro-agent" not in found.content

    holds()


def test_a_named_tool_is_called_by_its_arguments_alone(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    says(model, text('{"a": "1", "b": 2}'))
    body = asking(tool_choice={"type": "function", "function": {"name": "add"}}, max_tokens=50)
    found = through.post(body)
    assert found.headers["x-micro-agent-repairs"] == "bare, bare_outputs, number_string"
    assert json.loads(found.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == THREE[1]
    assert told(through.post(body | {"stream": True}).content) == ("", [THREE], "tool_calls")
    says(model, call("add", {"a": 1, "b": 2}, finish_reason="stop"))  # as OpenAI itself ends such a reply
    assert "x-micro-agent-repairs" not in through.post(body).headers


def test_a_server_that_cannot_read_a_call_is_read(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    failed = {"error": {"message": "?", "code": "tool_use_failed", "failed_generation": CALL}}
    refusals = [
        error(400, "?", body=failed),
        error(400, "?", body={"failed_generation": {"name": "add", "arguments": {"a": 1, "b": 2}}}),
        error(500, f"Failed to parse input at pos 0: {CALL}"),
        error(500, "?", body={"error": "error parsing tool call: raw='" + CALL + "', err=invalid character"}),
    ]

    @each("refusal", refusals)
    def holds(refusal: Reply) -> None:
        says(model, refusal)
        found = through.post(asking())
        message = found.json()["choices"][0]["message"]
        assert (found.status_code, message["tool_calls"][0]["function"]["name"]) == (200, "add")
        assert "parser_error" in found.headers["x-micro-agent-repairs"]
        streamed = through.post(asking(stream=True))
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert told(streamed.content) == ("", [THREE], "tool_calls")

    holds()
    says(model, error(400, "?", body={"error": {"failed_generation": "I cannot add."}}))
    choice = through.post(asking()).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("I cannot add.", "stop")
    assert told(through.post(asking(stream=True)).content) == ("I cannot add.", [], "stop")
    says(model, error(400, "?", body={"error": {"failed_generation": "<tool_call>"}}))
    assert through.post(asking()).status_code == 400

    in_stream = frame({"error": {"message": f"Failed to parse input at pos 0: {CALL}"}})
    says(model, raw(chunk({"role": "assistant"}) + in_stream, content_type="text/event-stream"))
    found = through.post(asking(stream=True)).content
    assert told(found) == ("", [THREE], "tool_calls")
    assert b"Failed" not in found


def test_requests_that_nobody_can_read_go_through(model: ModelServer, start: Start) -> None:
    through = start(model.openai_url)
    says(model, text("Three."))
    for body in (b"[1]", b"{", b'{"model": "scripted", "tools": [1, {"function": {}}], "messages": 7}'):
        found = through.client.post(CHAT, content=body, headers={"content-type": "application/json"})
        assert model.requests[-1].raw == body
        assert found.status_code in (200, 400)


@pytest.mark.torture  # importing it takes longer than all other tests here
def test_the_official_client(model: ModelServer, start: Start) -> None:
    from openai import OpenAI

    through: Proxied = start(model.openai_url)
    says(model, text("<think>Easy.</think>" + CALL), text(CALL), text("Three."))
    with OpenAI(base_url=through.url + "/v1", api_key="sk-test", max_retries=0) as client:
        said: Any = [{"role": "user", "content": "What is 1 + 2?"}]
        tools: Any = [ADD]
        with client.chat.completions.stream(model="scripted", messages=said, tools=tools) as stream:
            choice = stream.get_final_completion().choices[0]
        assert choice.message.tool_calls is not None
        assert choice.message.tool_calls[0].function.arguments == '{"a": 1, "b": 2}'
        assert choice.finish_reason == "tool_calls"
        parsed = client.chat.completions.create(model="scripted", messages=said, tools=tools).choices[0]
        assert parsed.message.tool_calls is not None
        assert [model.id for model in client.models.list()] == ["scripted"]
        answer = client.chat.completions.create(model="scripted", messages=said, tools=tools)
        assert answer.choices[0].message.content == "Three."

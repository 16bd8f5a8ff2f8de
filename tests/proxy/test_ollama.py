"""The proxy before Ollama: chat completions are asked of its own API, and come back as its OpenAI face says them."""

import json
import socket
from threading import Event
from typing import Any

import pytest

from micro_agent.decoding import RawCall
from micro_agent.proxy import ollama_answer
from micro_agent.proxy.ollama import OllamaUpstream
from micro_agent.proxy.ollama_answer import Chunks, completion
from micro_agent.testing import ModelServer, Received, Reply, error
from micro_agent.testing import raw as raw_reply
from tests.proxy.conftest import CALL, HEAD, SCHEMA, Proxied, Start, asking, events_of, piece, played, told

CALLED = Reply(calls=(RawCall("add", {"a": 1, "b": 2}),), finish_reason="tool_calls", reasoning="so")


def before(start: Start, server: ModelServer, **settings: Any) -> Proxied:
    return start(server.url, upstream=OllamaUpstream(server.url, **settings), record=False)


def sent(server: ModelServer) -> dict[str, Any]:
    """The body of the latest request."""
    body = server.requests[-1].body
    assert body is not None
    return body


def test_a_completion_is_asked_of_the_own_api_with_a_length_of_the_context(start: Start) -> None:
    with ModelServer([Reply("Three.")]) as server:
        answer = before(start, server).post(asking(max_tokens=7, stop="x", seed=1, user="me")).json()
        assert server.requests[-1].path == "/api/chat"
        options = {"num_ctx": 8192, "seed": 1, "temperature": 1.0, "top_p": 1.0, "num_predict": 7, "stop": ["x"]}
        body = {**asking(), "truncate": False, "shift": False, "options": options}
        assert sent(server) == body
    said = {"role": "assistant", "content": "Three."}
    assert answer["choices"] == [{"index": 0, "message": said, "finish_reason": "stop"}]
    assert answer["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    assert (answer["object"], answer["model"], answer["created"]) == ("chat.completion", "scripted", 0)


def test_a_streamed_completion_comes_as_events(start: Start) -> None:
    unended = raw_reply(b'{"message": {"content": "Hi"}, "done": true}')
    with ModelServer([CALLED, Reply("One two three four."), Reply(CALL), unended]) as server:
        proxied = before(start, server)
        raw = proxied.post(asking(stream=True, stream_options={"include_usage": True})).content
        assert told(raw) == ("", [("add", {"a": 1, "b": 2})], "tool_calls")
        assert raw.endswith(b"data: [DONE]\n\n")
        events = events_of(raw)
        assert "".join(event["choices"][0]["delta"].get("reasoning", "") for event in events[:-1]) == "so"
        assert events[-1]["choices"] == []
        assert events[-1]["usage"]["total_tokens"] == 15
        raw = proxied.post(asking(stream=True)).content
        assert told(raw) == ("One two three four.", [], "stop")
        assert not any("usage" in event for event in events_of(raw))
        assert told(proxied.post(asking(stream=True)).content)[1] == [("add", {"a": 1, "b": 2})]
        assert told(proxied.post(asking(stream=True)).content) == ("Hi", [], "stop")


def test_a_whole_call_has_an_id_and_arguments_in_text(start: Start) -> None:
    with ModelServer([CALLED]) as server:
        choice = before(start, server).post(asking()).json()["choices"][0]
    call = choice["message"]["tool_calls"][0]
    assert (choice["finish_reason"], choice["message"]["reasoning"]) == ("tool_calls", "so")
    assert (call["type"], call["function"]) == ("function", {"name": "add", "arguments": '{"a": 1, "b": 2}'})
    assert call["id"].startswith("call_")


def test_a_tool_choice_is_held_by_the_form_of_the_reply(start: Start) -> None:
    made = Reply('{"name": "add", "arguments": {"a": 1, "b": 2}}')
    with ModelServer([made, made, Reply("Three.")]) as server:
        proxied = before(start, server)
        for choice in ("required", {"type": "function", "function": {"name": "add"}}):
            answer = proxied.post(asking(tool_choice=choice)).json()["choices"][0]
            assert answer["message"]["tool_calls"][0]["function"]["name"] == "add"
            assert answer["finish_reason"] == "tool_calls"
        one = {"name": {"const": "add"}, "arguments": SCHEMA}
        schema = {"type": "object", "properties": one, "required": ["name", "arguments"], "additionalProperties": False}
        assert sent(server)["format"] == schema
        first = server.requests[0].body
        assert first is not None
        assert first["format"]["anyOf"][0] == schema
        assert len(first["format"]["anyOf"]) == len(first["tools"]) == 2
        assert proxied.post(asking(tool_choice="none")).json()["choices"][0]["message"]["content"] == "Three."
        assert "tools" not in sent(server)


def test_a_conversation_in_the_form_of_the_own_api(start: Start) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "text", "text": "here"}, image]},
        {"role": "assistant", "content": None, "reasoning_content": "so", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
        {"role": "tool", "tool_call_id": "c2", "content": "2", "name": "say"},
    ]
    with ModelServer([Reply("Well.")]) as server:
        before(start, server).post(asking(messages=messages))
        assert sent(server)["messages"] == [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Look\nhere", "images": ["AAAA"]},
            {
                "role": "assistant", "content": "", "thinking": "so",
                "tool_calls": [{"id": "c1", "function": {"name": "add", "arguments": {"a": 1}}}],
            },
            {"role": "tool", "content": "2", "tool_name": "add", "tool_call_id": "c1"},
            {"role": "tool", "content": "2", "tool_name": "say", "tool_call_id": "c2"},
        ]  # fmt: skip


USUAL = {"num_ctx": 900, "temperature": 1.0, "top_p": 1.0}
SETTINGS: list[tuple[dict[str, Any], str, Any]] = [
    ({"response_format": {"type": "json_object"}}, "format", "json"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"a": 1}}}}, "format", {"a": 1}),
    ({"response_format": {"type": "text"}}, "format", None),
    ({"tool_choice": {"type": "function", "function": {"name": "gone"}}}, "format", None),
    ({"reasoning_effort": "none"}, "think", False),
    ({"reasoning": {"effort": "low"}}, "think", "low"),
    ({"think": True}, "think", True),
    ({"keep_alive": "5m"}, "keep_alive", "5m"),
    ({"options": {"num_ctx": 5, "top_p": 0.2}}, "options", {**USUAL, "num_ctx": 5, "top_p": 0.2}),
    ({"num_ctx": 6, "top_p": 0.5}, "options", {**USUAL, "num_ctx": 6, "top_p": 0.5}),
    ({"stop": ["x", "y"]}, "options", {**USUAL, "stop": ["x", "y"]}),
]


def test_settings_of_a_request(start: Start) -> None:
    with ModelServer([Reply("Well.")], repeat=True) as server:
        proxied = before(start, server, num_ctx=900)
        for asked, field, found in SETTINGS:
            assert proxied.post(asking(**asked)).status_code == 200
            assert sent(server).get(field) == found


def test_what_the_own_api_cannot_say_goes_to_the_other(start: Start) -> None:
    broken = {"id": "c1", "function": {"name": "add", "arguments": "{"}}
    web = {"type": "image_url", "image_url": "http://example.com/a.png"}
    said: list[dict[str, Any]] = [
        {"n": 2},
        {"messages": [{"role": "assistant", "tool_calls": [broken]}]},
        {"messages": [{"role": "user", "content": [web]}]},
        {"messages": [{"role": "user", "content": [{"type": "file"}]}]},
    ]
    said += [{"messages": None}, {"messages": [{"role": "tool", "tool_call_id": []}]}]
    with ModelServer([Reply("Well.")] * len(said)) as server:
        proxied = before(start, server)
        for more in said:
            assert proxied.post(asking(**more)).status_code in (200, 400)  # the server says what is wrong with it
            assert server.requests[-1].path == "/v1/chat/completions"
        proxied.client.post("/v1/chat/completions", content=b"{")
        assert server.requests[-1].path == "/v1/chat/completions"
        assert proxied.client.get("/v1/models").json()["data"][0]["id"] == "scripted"


def test_a_prompt_that_cannot_fit_is_not_sent(start: Start) -> None:
    long = [{"role": "user", "content": "word " * 20_000}]
    with ModelServer([Reply("Well."), Reply("Well.")]) as server:
        proxied = before(start, server)
        answer = proxied.post(asking(messages=long))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert server.requests == []
        assert proxied.post(asking(messages=long, num_ctx=50_000)).status_code == 200
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 99_000}}
        assert proxied.post(asking(messages=[{"role": "user", "content": [picture]}])).status_code == 200
        assert proxied.post({"messages": long, "max_tokens": 9}, "/v1/messages").status_code == 404
        proxied = before(start, server, num_ctx=1000)
        answer = proxied.post({"messages": long, "max_tokens": 9}, "/v1/messages")
        assert answer.json()["error"]["message"].startswith("prompt is too long: ")
        answer = proxied.post({"input": long}, "/v1/responses")
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input")


FAILURES = [
    ("the prompt is longer than the context length currently available", 400, "context_length_exceeded"),
    ('model "x" not found, try pulling it first', 404, "model_not_found"),
    ("out of order", 500, None),
]


def test_an_error_has_the_form_of_the_other_face(start: Start) -> None:
    with ModelServer([error(status, message) for message, status, _ in FAILURES]) as server:
        proxied = before(start, server)
        for message, status, code in FAILURES:
            answer = proxied.post(asking(tools=[]))
            said = answer.json()["error"]
            assert (answer.status_code, said["message"], said["code"]) == (status, message, code)


def test_a_responses_request_is_held_to_a_call_on_its_own_path(start: Start) -> None:
    tool = {"type": "function", "name": "add", "parameters": {"type": "object"}}

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")

    with played(play) as server:
        proxied = start(server.url, upstream=OllamaUpstream(server.url), record=False)
        for choice in ("required", "none", "auto"):
            proxied.post({"input": "Hi", "tools": [tool], "tool_choice": choice, "text": {"x": 1}}, "/v1/responses")
        proxied.post(
            {"messages": [], "tools": [{"name": "add", "input_schema": {}}], "tool_choice": {"type": "any"}},
            "/v1/messages",
        )
    held, none, auto, message = [request.body or {} for request in server.requests]
    assert [request.path for request in server.requests] == ["/v1/responses"] * 3 + ["/v1/messages"]
    assert held["text"]["x"] == 1
    assert held["text"]["format"]["schema"]["properties"]["name"] == {"const": "add"}
    assert (none.get("tools"), none.get("tool_choice"), none["input"]) == (None, None, "Hi")
    assert auto["text"] == {"x": 1}
    assert message["tool_choice"] == {"type": "any"}


def test_lines_that_are_cut_anywhere_are_the_same_events() -> None:
    lines: list[dict[str, Any]] = [
        {"model": "m", "created_at": "2026-11-01T00:00:00Z", "message": {"content": "a"}, "logprobs": [{"token": "a"}]},
        {"model": "m", "message": {"content": "", "tool_calls": [{"function": {"name": "add", "arguments": "{"}}]}},
        {"model": "m", "message": {}, "done": True, "done_reason": "length"},
    ]
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def read(*parts: bytes) -> list[Any]:
        chunks = Chunks()
        found = b"".join(event for part in parts for event in chunks.feed(part)) + b"".join(chunks.rest())
        return [[event["choices"][0]["delta"].get("content"), _choice(event)] for event in events_of(found)]

    whole = read(raw)
    assert [len(whole), whole[0][1]["logprobs"]] == [3, {"content": [{"token": "a"}]}]
    assert whole[-1][1]["finish_reason"] == "length"
    assert all(read(raw[:cut], raw[cut:]) == whole for cut in range(len(raw)))
    assert read(raw.rstrip()) == whole


def _choice(event: dict[str, Any]) -> dict[str, Any]:
    choice = event["choices"][0]
    return {name: choice.get(name) for name in ("logprobs", "finish_reason")}


def test_calls_that_come_one_by_one_are_numbered() -> None:
    call: dict[str, Any] = {"message": {"tool_calls": [{"function": {"name": "add", "arguments": {}}}]}}
    lines: list[dict[str, Any]] = [call, call, {"message": {}, "done": True, "done_reason": "stop"}]
    events = events_of(b"".join(Chunks().feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))))
    calls = [event["choices"][0]["delta"]["tool_calls"][0] for event in events[:2]]
    assert [call["index"] for call in calls] == [0, 1]
    assert calls[0]["id"] != calls[1]["id"]
    assert events[2]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_client_that_goes_away_ends_the_request_to_the_server(start: Start) -> None:
    ended = Event()

    def play(connection: socket.socket, _: Received) -> None:
        connection.settimeout(20)
        connection.sendall(HEAD + piece(b'{"message": {"content": "word "}}\n'))
        if connection.recv(1) == b"":
            ended.set()

    with played(play) as server:
        proxied = start(server.url, upstream=OllamaUpstream(server.url), record=False)
        with proxied.client.stream("POST", "/v1/chat/completions", json=asking(stream=True, tools=[])) as answer:
            assert b"word" in next(answer.iter_raw())
        assert ended.wait(20)


def test_an_error_in_a_stream_is_an_event() -> None:
    for line in (b'{"error": "gone"}\n', b"gone\n"):
        assert events_of(b"".join(Chunks().feed(line)))[0]["error"]["message"] == "gone"


def test_a_line_without_an_end_is_an_error_at_some_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ollama_answer, "MOST", 1000)
    chunks = Chunks()
    assert chunks.feed(b"x" * 999) == []
    (found,) = events_of(b"".join(chunks.feed(b"y" * 2)))
    assert found["error"]["message"] == "x" * 200
    assert chunks.rest() == []


def test_an_answer_that_counts_nothing_has_no_usage() -> None:
    odds: list[dict[str, Any]] = [{}, {"prompt_eval_count": "x", "eval_count": []}]
    for odd in odds:
        assert completion({"message": {"content": "Hi"}, **odd})["usage"] is None

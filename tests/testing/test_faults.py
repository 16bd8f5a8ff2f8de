"""Faults arrive as faults, on both wires, whole or streamed; none of them blocks."""

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException, IncompleteRead, RemoteDisconnected
from time import monotonic, sleep
from typing import Any

import pytest

from micro_agent.testing import ModelServer, cut, error, hang, malformed, raw, text

CHAT = "/v1/chat/completions"
BOTH = pytest.mark.parametrize("path", [CHAT, "/api/chat"])
STREAMED = pytest.mark.parametrize("stream", [False, True])


def test_an_error_has_the_form_of_openai(post: Any):
    with ModelServer([error(429, "slow down", code="rate_limit_exceeded", retry_after=1.5)]) as server:
        status, headers, body = post(server.url + CHAT)
    assert (status, headers["Retry-After"]) == (429, "1.5")
    assert json.loads(body)["error"] == {
        "message": "slow down", "type": "invalid_request_error", "param": None, "code": "rate_limit_exceeded",
    }  # fmt: skip


def test_an_error_has_the_form_of_ollama(post: Any):
    with ModelServer([error(400, "m does not support tools")]) as server:
        status, headers, body = post(f"{server.url}/api/chat")
    assert (status, json.loads(body)) == (400, {"error": "m does not support tools"})
    assert "Retry-After" not in headers


def test_an_error_may_have_a_body_of_its_own_and_come_under_200(post: Any):
    with ModelServer([error(200, "", body={"error": "x"}), error(599, "odd", body=b"<html>")]) as server:
        assert post(server.url + CHAT)[::2] == (200, b'{"error": "x"}')
        assert post(server.url + CHAT)[::2] == (599, b"<html>")


def test_a_raw_body_is_sent_as_it_stands(post: Any):
    script = [raw(b"data: x\n\n", content_type="text/event-stream"), raw({"a": 1}, status=201)]
    with ModelServer(script) as server:
        status, headers, body = post(server.url + CHAT, stream=True)
        assert (status, headers["Content-Type"], body) == (200, "text/event-stream", b"data: x\n\n")
        assert post(server.url + CHAT)[::2] == (201, b'{"a": 1}')


@BOTH
@STREAMED
def test_malformed_json_comes_under_200(post: Any, path: str, stream: bool):
    with ModelServer([malformed()]) as server:
        status, headers, body = post(server.url + path, stream=stream)
    assert (status, headers["Content-Type"] == "application/json") == (200, not stream)
    with pytest.raises(json.JSONDecodeError):
        json.loads(body.removeprefix(b"data: "))


@BOTH
@STREAMED
@pytest.mark.parametrize("after", [None, 0, 5])
def test_a_cut_body_ends_before_its_end(post: Any, path: str, stream: bool, after: int | None):
    with ModelServer([cut(after)]) as server, pytest.raises(IncompleteRead) as caught:
        post(server.url + path, stream=stream)
    arrived = caught.value.partial
    assert len(arrived) == after if after is not None else len(arrived) > 0


def test_a_cut_stream_ends_after_whole_chunks(post: Any):
    with ModelServer([cut(), cut(after_chunks=2, reply=text("abc")), cut(after_chunks=99)]) as server:
        arrived: list[bytes] = []
        for _ in range(3):
            with pytest.raises(IncompleteRead) as caught:
                post(server.url + CHAT, stream=True)
            arrived.append(caught.value.partial)
    assert all(body.endswith(b"\n\n") and b"[DONE]" not in body for body in arrived)
    assert arrived[1].count(b"data: ") == 2
    assert b'"content": "a"' in arrived[1]


@BOTH
def test_a_hang_ends_without_an_answer(post: Any, path: str):
    with ModelServer([hang(0.05)]) as server:
        started = monotonic()
        with pytest.raises(RemoteDisconnected):
            post(server.url + path)
        assert monotonic() - started >= 0.05


def test_closing_the_server_ends_hangs_and_delays(connect: Any):
    with ModelServer([hang(600), text("x", delay_s=600)]) as server:
        waiting = [connect(server.url) for _ in range(2)]
        for connection in waiting:
            connection.request("POST", CHAT, '{"messages": []}')
        while len(server.chats) < 2:
            sleep(0.001)
    for connection in waiting:
        with pytest.raises((HTTPException, ConnectionError)):
            connection.getresponse()


def test_a_delay_and_the_latency_come_before_the_answer(post: Any):
    with ModelServer([text("x", delay_s=0.04)], latency_s=0.03) as server:
        started = monotonic()
        assert post(server.url + CHAT)[0] == 200
        assert monotonic() - started >= 0.07


@BOTH
def test_an_exhausted_script_says_so_and_shows_the_request(post: Any, path: str):
    with ModelServer([text("x")]) as server:
        post(server.url + path)
        asked = [{"role": "user", "content": "first"}, {"role": "user", "content": "once more"}]
        status, headers, body = post(server.url + path, messages=asked)
    assert (status, headers["Retry-After"]) == (500, "0")
    assert b"exhausted after 1 replies" in body
    assert b"once more" in body
    assert b"first" not in body


def test_the_server_goes_on_after_a_client_that_went_away(post: Any):
    big = text("x" * 3_000_000)
    with ModelServer([big, text("y")]) as server:
        with closing(HTTPConnection(server.url.removeprefix("http://"))) as rude:
            rude.request("POST", CHAT, '{"messages": []}')
        while not server.chats:
            sleep(0.001)
        assert b'"y"' in post(server.url + CHAT)[2]

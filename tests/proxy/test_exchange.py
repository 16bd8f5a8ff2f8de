"""What goes on while a reply is made: nothing waits that need not, and nothing is lost when a side goes away."""

import gzip
import json
import socket
import struct
from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx
import pytest

from micro_agent.proxy import events, exchange, mending
from micro_agent.testing import ModelServer, Received, cut, error, malformed, text
from tests.proxy.conftest import CALL, CHAT, HEAD, Start, asking, chunk, frame, piece, played, told


def parts(client: httpx.Client, body: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of a response as they come."""
    with client.stream("POST", CHAT, json=body) as response:
        yield from response.iter_raw()


def test_prose_goes_on_at_once_and_what_may_be_a_call_does_not(start: Start) -> None:
    steps = [Event() for _ in range(3)]

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(chunk({"role": "assistant"})))
        assert steps[0].wait(20)
        connection.sendall(piece(chunk({"content": "<tool_call>"})))
        connection.sendall(piece(chunk({"reasoning_content": "Hm."})))
        assert steps[1].wait(20)
        connection.sendall(piece(chunk({"content": " is a tag. " + "It is no call. " * 20})))
        assert steps[2].wait(20)
        connection.sendall(piece(chunk({}, "stop")) + piece(b""))

    with played(play) as server:
        found = parts(start(server.url).client, asking(stream=True))
        assert b"assistant" in next(found)
        steps[0].set()
        steps[1].set()  # nothing of the tag comes before there is more: these three arrive as one
        once = next(found)
        assert (b"<tool_call>" in once, b"Hm." in once, b"is a tag" in once) == (True, True, True)
        steps[2].set()
        assert b'"stop"' in b"".join(found)


def test_a_stream_lives_while_the_client_waits(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ALIVE_S", 0.02)
    alive, held = Event(), Event()

    def play(connection: socket.socket, _: Received) -> None:
        assert alive.wait(20)  # the client has heard of us before the server said a word
        connection.sendall(HEAD + piece(chunk({"content": CALL[:20]})))
        assert held.wait(20)
        connection.sendall(piece(chunk({"content": CALL[20:]})) + piece(chunk({}, "stop")) + piece(b""))

    with played(play) as server:
        through = start(server.url)
        with through.client.stream("POST", CHAT, json=asking(stream=True)) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            came = response.iter_raw()
            assert next(came) == b": keep-alive\n\n"
            alive.set()
            assert next(came) == b": keep-alive\n\n"
            held.set()
            rest = b"".join(came)
    assert told(rest)[1:] == ([("add", {"a": 1, "b": 2})], "tool_calls")


def test_no_comment_stands_in_a_reply_that_goes_on(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ALIVE_S", 0.01)
    body = [chunk({"content": "The sum of these is three."}), chunk({"content": " I think."}), chunk({}, "stop")]
    began, pause = Event(), Event()

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(body[0]))
        assert began.wait(20)
        pause.wait(0.1)  # while the model thinks the client waits for it, and not for us
        connection.sendall(piece(body[1] + body[2]) + piece(b""))

    with played(play) as server:
        found = parts(start(server.url).client, asking(stream=True))
        came = b""
        while body[0] not in came:
            came += next(found)
        began.set()
        came += b"".join(found)
    assert came.endswith(b"".join(body))


def test_an_error_after_a_comment_is_an_event(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ALIVE_S", 0.02)
    failed = error(400, "?", body={"error": {"failed_generation": CALL}})
    with ModelServer([error(429, "slow down").with_(delay_s=0.2), failed.with_(delay_s=0.2)]) as model:
        through = start(model.url)
        came = through.post(asking(stream=True)).content
        read = through.post(asking(stream=True)).content
    assert read.startswith(b": keep-alive\n\n")
    assert told(read) == ("", [("add", {"a": 1, "b": 2})], "tool_calls")
    assert came.startswith(b": keep-alive\n\n")
    assert b'\n\nevent: error\ndata: {"error": {"message": "slow down"' in came


def test_a_client_that_goes_away_ends_the_request(start: Start) -> None:
    gone = Event()

    def play(connection: socket.socket, request: Received) -> None:
        if request.body and request.body["stream"]:
            connection.sendall(HEAD + piece(chunk({"content": "The sum of these is "})))
        if connection.recv(1) == b"":
            gone.set()

    with played(play) as server:
        through = start(server.url)
        for stream in (True, False):
            gone.clear()
            with (
                httpx.Client(base_url=through.url, trust_env=False, timeout=None if stream else 0.2) as client,
                pytest.raises(httpx.TimeoutException) if not stream else _left(client),
            ):
                if not stream:
                    client.post(CHAT, json=asking())
            assert gone.wait(20)
        streamed, whole = _until(lambda: [run for run in through.runs() if run.status == "failed"], 2)
    assert (streamed.termination_reason, whole.termination_reason) == ("client_left", "client_left")
    assert streamed.calls[0].reply["text"] == "The sum of these is "
    assert through.count('failures_total{kind="left"}') == 2


class _left:  # noqa: N801 - reads as a word
    """Reads the first piece of a stream and goes away."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __enter__(self) -> None:
        found = parts(self._client, asking(stream=True))
        next(found)
        found.close()  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        pass


def _until(look: Any, count: int) -> Any:
    """What is looked for, once there is so much of it."""
    pause = Event()
    for _ in range(1000):
        if len(found := look()) >= count:
            return found
        pause.wait(0.02)
    raise AssertionError(look())


def test_an_upstream_that_breaks_off_breaks_off(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(chunk({"content": "The sum is, I think, "})) + piece(chunk({"content": "{"})))

    with played(play) as server:
        through = start(server.url)
        found = parts(through.client, asking(stream=True))
        came = b""
        with pytest.raises(httpx.RemoteProtocolError):  # noqa: PT012 - it is raised behind the last piece
            for data in found:
                came += data
        assert told(came)[0] == "The sum is, I think, {"
        with pytest.raises(httpx.RemoteProtocolError):
            through.client.get("/v1/files")
    (run,) = through.runs()
    assert (run.status, run.termination_reason) == ("failed", "cut_off")
    assert run.calls[0].reply["text"] == "The sum is, I think, {"
    assert through.count('failures_total{kind="cut_off"}') == 2


def test_what_the_upstream_does_not_do(start: Start) -> None:
    whole = text("This sentence does not arrive as a whole.")
    with ModelServer([cut(reply=whole), malformed()]) as model:
        through = start(model.url)
        found = through.post(asking())
        assert (found.status_code, found.json()["error"]["code"]) == (502, "upstream_cut_off")
        assert through.post(asking()).status_code == 200
    gone = start(model.url)
    for path in (CHAT, "/v1/models"):
        found = gone.post(asking(), path)
        assert (found.status_code, found.json()["error"]["code"]) == (502, "upstream_unreachable")
        assert found.json()["error"]["message"].startswith(f"cannot connect to {model.url} (")
    assert [run.termination_reason for run in gone.runs()][-1] == "upstream_unreachable"


def test_why_there_is_no_answer(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(b"this is no HTTP\r\n\r\n")

    with played(play) as server:
        message = start(server.url, record=False).post(asking()).json()["error"]["message"]
        assert message.startswith(f"{server.url} gave no answer (")
        secure = start(server.url.replace("http:", "https:")).post(asking())
        assert secure.json()["error"]["message"].startswith("cannot connect to https://127.0.0.1:")


def test_without_records_it_lives_through_the_same(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(chunk({"content": "Three"})))

    with played(play) as server:
        quiet = start(server.url, record=False)
        with pytest.raises(httpx.RemoteProtocolError):
            quiet.post(asking(stream=True))


def test_what_is_held_back_has_an_end(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mending, "MOST", 1000)
    monkeypatch.setattr(events, "MOST", 1000)
    long = [chunk({"content": '{"name": "add", "arguments": {'})] + [chunk({"content": '"a": 1, '})] * 20
    body = b"".join([*long, chunk({}, "stop"), frame(b"[DONE]"), b": " + b"x" * 2000])

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(body) + piece(b""))

    with played(play) as server:
        assert start(server.url).post(asking(stream=True)).content == body


def test_what_is_compressed_goes_through(start: Start) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n"

    def play(connection: socket.socket, request: Received) -> None:
        assert "accept-encoding" not in request.headers
        connection.sendall(head + b"abc")

    with played(play) as server:
        through = start(server.url)
        with through.client.stream("POST", CHAT, json=asking()) as response:
            assert b"".join(response.iter_raw()) == b"abc"
    assert through.runs()[0].status == "completed"


def test_nothing_of_ours_stands_between_compressed_bytes(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "ALIVE_S", 0.02)
    body, waits = gzip.compress(frame(b"[DONE]")), [Event(), Event()]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"

    def play(connection: socket.socket, _: Received) -> None:
        if waits[0].is_set():
            assert waits[1].wait(20)  # the client has had a comment of ours
            connection.sendall(head % len(body) + body)
        else:
            connection.sendall(head % len(body) + body[:9])
            waits[0].wait(0.2)
            connection.sendall(body[9:])

    with played(play) as server:
        through = start(server.url)
        with through.client.stream("POST", CHAT, json=asking(stream=True)) as response:
            whole = b"".join(response.iter_raw())
        assert whole == body or b"upstream_compressed" in whole  # on a busy machine a comment comes first
        waits[0].set()
        came = parts(through.client, asking(stream=True))
        assert next(came) == b": keep-alive\n\n"
        waits[1].set()
        assert b'event: error\ndata: {"error": {"message": "http://127.0.0.1:' in b"".join(came)


def test_a_body_that_is_too_long_goes_through_unread(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MOST", 1000)
    body = json.dumps({"choices": [{"message": {"content": CALL}}], "more": "x" * 2000}).encode()
    steps = Event()

    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:1500])
        assert steps.wait(20)  # what is there has arrived before the rest comes
        connection.sendall(body[1500:])

    with played(play) as server:
        through = start(server.url)
        with through.client.stream("POST", CHAT, json=asking()) as response:
            found = response.iter_raw()
            came = next(found)
            steps.set()
            assert came + b"".join(found) == body
    assert through.runs()[0].answer is None


def test_half_a_character_in_a_call(start: Start) -> None:
    said = '<tool_call>{"name": "say", "arguments": {"text": "\\ud800"}}</tool_call>'
    with ModelServer([text(said)]) as model:
        (made,) = start(model.url).post(asking()).json()["choices"][0]["message"]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == {"text": "\ud800"}


def test_a_stream_by_whatever_letters(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD.replace(b"text/event-stream", b"Text/Event-Stream"))
        connection.sendall(piece(chunk({"content": CALL})) + piece(chunk({}, "stop")) + piece(b""))

    with played(play) as server:
        assert told(start(server.url).post(asking(stream=True)).content)[2] == "tool_calls"


def test_a_bad_chunk_in_the_middle_breaks_off(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(HEAD + piece(chunk({"content": "Hello there my good friend. "})))
        Event().wait(0.2)
        connection.sendall(b"ZZ\r\nabc")

    with played(play) as server, pytest.raises(httpx.RemoteProtocolError):
        start(server.url).post(asking(stream=True))


def test_no_error_says_the_query_or_what_came(start: Start) -> None:
    with played(
        lambda connection, _: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: -5 hush\r\n\r\n")
    ) as server:
        through = start(server.url)
        told = through.post(asking(), CHAT + "?api-key=SECRETQ").text + str([run.error for run in through.runs()])
    assert "SECRETQ" not in told
    assert "hush" not in told
    assert "what it says is not HTTP" in told


@pytest.mark.parametrize("status", [401, 403, 429])
def test_an_error_about_the_client_is_an_error_whatever_it_holds(start: Start, status: int) -> None:
    raw = json.dumps({"error": {"message": "no", "failed_generation": CALL}}).encode()
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(raw))
    with played(lambda connection, _: connection.sendall(head + raw)) as server:
        reply = start(server.url).post(asking())
    assert (reply.status_code, reply.content) == (status, raw)


def test_a_call_that_a_server_refused_in_the_middle_is_not_closed(start: Start) -> None:
    raw = json.dumps(
        {"error": {"message": "no", "failed_generation": '{"name": "add", "arguments": {"a": 1, "b": 2}'}}
    ).encode()
    head = b"HTTP/1.1 400 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(raw)
    with played(lambda connection, _: connection.sendall(head + raw)) as server:
        reply = start(server.url).post(asking())
    assert (reply.status_code, reply.content) == (400, raw)


def test_a_server_that_throws_the_connection_away_is_told_of(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with played(play) as server:
        reply = start(server.url).post(asking())
    assert reply.status_code == 502
    assert "(Connection reset by peer)" in reply.json()["error"]["message"]

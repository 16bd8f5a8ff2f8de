"""Scripts, records, connections and the life of the scripted server."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

import pytest

from micro_agent.testing import ModelServer, Received, Reply, text

CHAT = "/v1/chat/completions"


def content(body: bytes) -> str:
    return json.loads(body)["choices"][0]["message"]["content"]


def test_replies_are_played_in_order_and_requests_recorded(post: Any):
    with ModelServer([text("one"), text("two")]) as server:
        assert content(post(server.url + CHAT, messages=[{"role": "user", "content": "a"}])[2]) == "one"
        _, _, body = post(f"{server.url}/api/chat", messages=[{"role": "user", "content": "b"}], stream=False)
        assert json.loads(body)["message"]["content"] == "two"
        assert [server.messages(k)[0]["content"] for k in (0, 1, -1)] == ["a", "b", "b"]
        first = server.requests[0]
        assert (first.method, first.path, first.headers["host"]) == ("POST", CHAT, server.url.removeprefix("http://"))
        assert first.body == json.loads(first.raw)


def test_a_repeated_script_starts_over(post: Any):
    with ModelServer([text("one"), text("two")], repeat=True) as server:
        assert [content(post(server.url + CHAT)[2]) for _ in range(3)] == ["one", "two", "one"]


def test_an_empty_script_is_exhausted_even_if_repeated(post: Any):
    with ModelServer(repeat=True) as server:
        assert post(server.url + CHAT)[0] == 500


def test_a_function_sees_the_request_and_says_the_reply(post: Any):
    def echo(request: Received) -> Reply:
        return text(request.messages[-1]["content"].upper())

    with ModelServer(echo) as server:
        assert content(post(server.url + CHAT)[2]) == "HELLO"


@pytest.mark.parametrize("path", [CHAT, "/api/chat"])
def test_what_a_function_raises_is_told_and_raised_at_the_end(post: Any, path: str):
    def wrong(request: Received) -> Reply:
        raise LookupError(request.messages[0]["role"])

    def converse() -> None:
        with ModelServer(wrong) as server:
            status, _, body = post(server.url + path)
            assert status == 500
            assert b"the script raised LookupError: user" in body
            assert post(server.url + path, messages=[{"role": "tool"}])[0] == 500

    with pytest.raises(LookupError, match="user"):
        converse()


def test_the_error_of_the_test_comes_before_the_error_of_the_script(post: Any):
    def wrong(request: Received) -> Reply:
        raise LookupError

    def converse() -> None:
        with ModelServer(wrong) as server:
            post(server.url + CHAT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        converse()


def test_something_that_is_no_reply_is_refused(post: Any):
    with pytest.raises(TypeError, match=r"made of replies such as text\(.*not of 'hello'"):
        ModelServer([text("x"), "hello"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="not of None"), ModelServer(lambda request: None) as server:  # pyright: ignore
        assert post(server.url + CHAT)[0] == 500


def test_one_connection_serves_many_requests(connect: Any):
    with ModelServer([text("x")], repeat=True) as server:
        connection = connect(server.url)
        connection.connect()
        port = connection.sock.getsockname()[1]
        for _ in range(3):
            connection.request("POST", CHAT, '{"messages": []}')
            assert content(connection.getresponse().read()) == "x"
            assert connection.sock.getsockname()[1] == port


def test_a_connection_is_closed_when_the_client_asks(connect: Any):
    with ModelServer([text("x")]) as server:
        connection = connect(server.url)
        connection.request("POST", CHAT, '{"messages": []}', {"Connection": "close"})
        assert connection.getresponse().read()
        assert connection.sock.recv(1) == b""


@pytest.mark.parametrize("path", [CHAT, "/api/chat", "/api/show"])
@pytest.mark.parametrize("body", ["", "{", "[1]", "\xff", "[" * 200_000])
def test_what_is_no_json_object_is_a_bad_request(connect: Any, path: str, body: str):
    with ModelServer([text("x")]) as server:
        connection = connect(server.url)
        connection.request("POST", path, body.encode("latin-1"))
        response = connection.getresponse()
        assert response.status == 400
        assert "JSON object" in str(json.load(response)["error"])
        assert (server.requests[0].body, server.chats) == (None, [])
        assert server.requests[0].messages == []


def test_a_chat_without_messages_is_a_bad_request(post: Any):
    with ModelServer([text("x")]) as server:
        assert post(server.url + CHAT, messages="hello")[0] == 400


@pytest.mark.parametrize("path", ["/nothing", "/api/nothing"])
def test_an_unknown_route_is_not_found(connect: Any, path: str):
    with ModelServer() as server:
        connection = connect(server.url)
        connection.request("GET", path)
        response = connection.getresponse()
        told = json.load(response)["error"]
        assert response.status == 404
        assert (told if path.startswith("/api") else told["message"]) == f"there is no GET {path}"


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET / SPDY/3\r\n\r\n", b"HTTP/1.1 400"),
        (b"POST /api/chat HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"HTTP/1.1 400"),
        (b"POST /api/chat HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 411"),
        (b"GET /v1/models HTTP/1.0\r\n\r\n", b"HTTP/1.1 200"),
        (b"POST /v1/models HTTP/1.1\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", b"HTTP/1.1 100"),
    ],
)
def test_odd_http_is_answered_and_the_connection_closed(sent: bytes, answered: bytes):
    with ModelServer() as server, closing(_socket(server)) as client, client.makefile("rb") as stream:
        client.sendall(sent)
        assert stream.read().startswith(answered)


def test_an_answer_to_head_has_no_body():
    with ModelServer() as server, closing(_socket(server)) as client, client.makefile("rb") as stream:
        client.sendall(b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert stream.read().endswith(b"\r\n\r\n")


def test_sixty_four_clients_at_once_each_get_one_reply():
    counted: list[int] = []

    def count(request: Received) -> Reply:
        counted.append(len(counted))
        return text(str(counted[-1]))

    with ModelServer(count) as server:
        together = threading.Barrier(64)

        def client(_: int) -> list[str]:
            with closing(HTTPConnection(server.url.removeprefix("http://"), timeout=60)) as connection:
                connection.connect()
                together.wait(60)
                said: list[str] = []
                for _ in range(5):
                    connection.request("POST", CHAT, '{"messages": []}')
                    said.append(content(connection.getresponse().read()))
                return said

        with ThreadPoolExecutor(64) as pool:
            said = [word for words in pool.map(client, range(64)) for word in words]
        assert sorted(map(int, said)) == list(range(320))
        assert len(server.chats) == 320


def test_closing_leaves_no_thread_and_no_port(connect: Any):
    before = set(threading.enumerate())
    server = ModelServer([text("x")])
    connection = connect(server.url)
    connection.request("POST", CHAT, '{"messages": []}')
    assert connection.getresponse().read()
    server.close()
    server.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        _socket(server)


def test_closing_at_once_leaves_no_thread():
    before = set(threading.enumerate())
    for _ in range(100):  # the connection that wakes the listener has a thread of its own, too
        ModelServer().close()
        assert set(threading.enumerate()) <= before


def test_closing_does_not_wait_for_a_client_that_reset_its_connection():
    with ModelServer() as server, closing(_socket(server)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def test_a_port_can_be_asked_for():
    with ModelServer() as server:
        port = int(server.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            ModelServer(port=port)
    with ModelServer(port=port) as server:
        assert server.url.endswith(f":{port}")


def _socket(server: ModelServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=20)

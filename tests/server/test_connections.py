"""Clients that are silent, slow or many, over connections of their own; the others are served meanwhile."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import pytest

from micro_agent.testing import call, text

if TYPE_CHECKING:
    from tests.server.conftest import Serving, Start

TOKEN = "a-token-for-the-tests"
HOST = b"Host: localhost\r\n"
ALIVE = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
ASK = b"POST /ask HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\nContent-Length: 17\r\n\r\n"

LONG = " ".join(map(str, range(300_000)))


def code(answer: bytes) -> tuple[bytes, Any]:
    """The status and the code of an error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    return head.split()[1], json.loads(body)["error"]["code"]


def waiting_for(condition: Callable[[], object]) -> None:
    """Look until something is so."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_client_that_sends_nothing_is_let_go(start: "Start") -> None:
    assert start(header_timeout=0.1).raw(b"") == b""


def test_a_client_that_sends_half_a_head_is_told_and_let_go(start: "Start") -> None:
    assert code(start(header_timeout=0.1).raw(ALIVE[:-2])) == (b"408", "timeout")


def test_a_byte_now_and_then_is_no_reason_to_wait_on(start: "Start") -> None:
    with socket.create_connection(("127.0.0.1", start(header_timeout=0.2).port), timeout=20) as client:
        client.settimeout(0.02)
        told, sent = b"", iter(ALIVE[:20] + b"x" * 10_000)
        while not told:
            client.sendall(bytes([next(sent)]))
            with suppress(TimeoutError):
                told = client.recv(1000)
    assert told.startswith(b"HTTP/1.1 408 ")


def test_the_time_for_a_head_begins_again_with_the_next_request(start: "Start") -> None:
    first, second = start(header_timeout=0.2).raw(ALIVE + ALIVE[:-2]).split(b"HTTP/1.1 ")[1:]
    assert (first[:3], second[:3]) == (b"200", b"408")


def test_a_client_that_holds_back_its_body_is_told_and_let_go(start: "Start", caplog: Any) -> None:
    serving = start([text("Never.")], body_timeout=0.1)
    assert code(serving.raw(ASK + b'{"quest')) == (b"408", "timeout")
    assert (serving.client.get("/health").json()["running"], serving.lm.requests) == (0, [])
    assert caplog.records == []


def test_who_was_refused_already_may_not_go_on_sending(start: "Start") -> None:
    answer = start(body_timeout=0.1, api_token=TOKEN).raw(ASK + b'{"quest')
    assert (answer[:13], answer.count(b"HTTP/1.1")) == (b"HTTP/1.1 401 ", 1)


def test_a_run_may_take_as_long_as_it_likes(start: "Start") -> None:
    def wait() -> str:
        """Wait."""
        time.sleep(0.3)
        return "done"

    times = {"header_timeout": 0.05, "body_timeout": 0.05, "send_timeout": 0.05}
    serving = start([call("wait", {}), text("Done.")], tools=[wait], **times)
    assert serving.client.post("/ask", json={"question": "Wait."}).json()["answer"] == "Done."


def test_where_there_are_too_many_the_one_goes_that_has_been_silent_for_longest(start: "Start") -> None:
    serving = start(max_connections=3, api_token=TOKEN)
    with ExitStack() as stack:
        clients: list[socket.socket] = []
        for data in (b"", b"GET /", ASK):
            clients.append(stack.enter_context(socket.create_connection(("127.0.0.1", serving.port), timeout=20)))
            clients[-1].sendall(data)
            served(serving)
        assert clients[0].recv(1) == b""
        assert clients[2].recv(13) == b"HTTP/1.1 401 "


def served(serving: "Serving") -> None:
    """A client of its own is, and it stays."""
    with socket.create_connection(("127.0.0.1", serving.port), timeout=20) as client:
        client.sendall(ALIVE)
        assert client.recv(13) == b"HTTP/1.1 200 "


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """What a tool waits for."""
    event = threading.Event()
    yield event
    event.set()


def test_a_client_that_waits_for_its_answer_keeps_its_place(start: "Start", held: threading.Event) -> None:
    def wait() -> str:
        """Wait."""
        held.wait()
        return "done"

    serving = start([call("wait", {}), text("Done.")], tools=[wait], max_connections=1)
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(serving.client.post, "/ask", json={"question": "Wait."})
        waiting_for(lambda: len(serving.lm.requests))
        refused = [code(serving.raw(b"")) for _ in range(3)]
        held.set()
        assert asking.result().json()["answer"] == "Done."
    assert refused == [(b"503", "too_many_connections")] * 3
    waiting_for(lambda: serving.client.get("/healthz").status_code == 200)


def reader(serving: "Serving", room: int = 4096) -> socket.socket:
    """A client that has asked for a stream and has room for little of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    client.settimeout(20)
    client.connect(("127.0.0.1", serving.port))
    client.sendall(ASK.replace(b"/ask", b"/ask/stream") + b'{"question": "?"}')
    return client


def test_a_client_that_does_not_read_is_let_go(start: "Start") -> None:
    serving, found = start([text(LONG)], send_timeout=0.1), 0
    with reader(serving) as client:
        waiting_for(lambda: any(serving.store.ids()))
        time.sleep(0.5)
        with suppress(ConnectionResetError):
            while piece := client.recv(1 << 20):
                found += len(piece)
    assert found < len(LONG)
    assert serving.client.get("/healthz").status_code == 200


def test_a_client_that_reads_slowly_gets_all_of_it(start: "Start") -> None:
    found = bytearray()
    with reader(start([text(LONG)], send_timeout=0.3), room=65536) as client:
        while not found.endswith(b"\r\n0\r\n\r\n"):
            piece = client.recv(100_000)
            assert piece, f"cut off after {len(found)} bytes"
            found += piece
            time.sleep(0.02)
    assert len(found) > 3 * len(LONG)  # as it came, and twice in the end


def test_two_lengths_are_refused_and_the_connection_is_closed(start: "Start") -> None:
    serving = start([text("Never.")])
    lengths = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"
    head = b"POST /ask HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n" + lengths + b"\r\n"
    answer = serving.raw(head + b"0\r\n\r\n" + ALIVE)
    assert code(answer) == (b"400", "bad_request")
    assert b"Content-Length or Transfer-Encoding" in answer

"""Requests over real sockets: deadlines, broken connections, proxies, many at once, event loops that come and go."""

import asyncio
import gc
import socket
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event, Semaphore, Thread
from time import monotonic, sleep

import pytest
from dspy import LMError, LMProviderError, LMTimeoutError, LMTransportError
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.errors import ConfigurationError
from micro_agent.models.endpoint import MAX_CONNECTIONS, Endpoint, Lines, is_loopback
from micro_agent.models.failures import failure_of
from micro_agent.models.http import MAX_REPLY, AsyncHttp, Http
from micro_agent.models.scope import CallScope, calling

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LONG_END = CHUNKED + b"5\r\nlast\n\r\n" + b"%x\r\n%b\r\n0\r\n\r\n" % (100_000, bytes(100_000))
"""After its first event so much comes that it is not read with it."""
GENEROUS_S = 10.0
"""A deadline of a fraction of a second must be seen within this, on a machine however busy."""


class Wire:
    """A server that does with each connection what it is told; ``requests`` counts what came on all of them."""

    def __init__(self, play: Callable[["Wire", socket.socket], object]):
        self.connections: list[socket.socket] = []
        self.requests: list[bytes] = []
        self.closing = Event()
        self.ended = Semaphore(0)
        """Released for each connection that the client has closed."""
        self._play = play
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                self._threads.append(Thread(target=self._serve, args=(connection,), daemon=True))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while self.read(connection):
                self._play(self, connection)
            self.ended.release()

    def read(self, connection: socket.socket) -> bytes:
        """The next request: its head, as every body here is one ``{}``."""
        data = b""
        while not data.endswith(b"\r\n\r\n{}"):
            piece = connection.recv(65536)
            if not piece:
                return b""
            data += piece
        self.requests.append(data)
        return data

    def close(self) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()


@contextmanager
def serving(play: Callable[[Wire, socket.socket], object]) -> Generator[Wire, None, None]:
    wire = Wire(play)
    try:
        yield wire
    finally:
        wire.close()


def answering(data: bytes) -> Callable[[Wire, socket.socket], object]:
    return lambda _, connection: connection.sendall(data)


def cutting(data: bytes) -> Callable[[Wire, socket.socket], object]:
    def play(_: Wire, connection: socket.socket) -> None:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)

    return play


def dripping(head: bytes) -> Callable[[Wire, socket.socket], object]:
    def play(_: Wire, connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(b"x")
            sleep(0.05)

    return play


def silent(wire: Wire, _: socket.socket) -> None:
    wire.closing.wait(GENEROUS_S)


def endpoint(url: str, timeout_s: float = GENEROUS_S) -> Endpoint:
    return Endpoint(url, "/chat", timeout_s=timeout_s, headers=[("X-Test", "1")])


def fetch(url: str, timeout_s: float = GENEROUS_S) -> tuple[int, bytes]:
    http = Http(endpoint(url, timeout_s))
    try:
        with http.post(b"{}") as reply:
            return reply.status, reply.read()
    finally:
        http.close()


def afetch(url: str, timeout_s: float = GENEROUS_S) -> tuple[int, bytes]:
    async def run() -> tuple[int, bytes]:
        http = AsyncHttp(endpoint(url, timeout_s))
        try:
            async with await http.post(b"{}") as reply:
                return reply.status, await reply.read()
        finally:
            await http.aclose()

    return asyncio.run(run())


both = pytest.mark.parametrize("get", [fetch, afetch])
Get = Callable[..., tuple[int, bytes]]


@both
def test_status_headers_and_body_arrive(get: Get) -> None:
    with serving(answering(OK)) as wire:
        assert get(wire.url) == (200, b"ok")
    assert wire.requests[0].startswith(b"POST /chat HTTP/1.1\r\n")
    assert b"Content-Type: application/json\r\nX-Test: 1\r\n" in wire.requests[0]


@both
@pytest.mark.parametrize(
    "play",
    [
        pytest.param(silent, id="silent"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nX-Slow: "), id="drips its head"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"), id="drips its body"),
    ],
)
def test_the_timeout_bounds_the_whole_exchange(get: Get, play: Callable[[Wire, socket.socket], object]) -> None:
    start = monotonic()
    told = r"no reply from http://127.0.0.1:\d+/chat within 0.3 s: allow more time"
    with serving(play) as wire, pytest.raises(LMTimeoutError, match=told):
        get(wire.url, 0.3)
    assert monotonic() - start < GENEROUS_S / 2


@both
def test_the_deadline_of_the_call_counts_when_it_is_nearer(get: Get) -> None:
    start = monotonic()
    with serving(silent) as wire, calling(CallScope(deadline=monotonic() + 0.2)), pytest.raises(LMTimeoutError):
        get(wire.url)
    assert monotonic() - start < GENEROUS_S / 2


@both
def test_nothing_is_sent_after_the_deadline(get: Get) -> None:
    with serving(answering(OK)) as wire:
        with calling(CallScope(deadline=monotonic() - 1)), pytest.raises(LMTimeoutError, match="within 0 s"):
            get(wire.url)
        assert wire.connections == []


@both
def test_no_server_is_said_so(get: Get) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(LMTransportError, match=rf"cannot reach {url}/chat: is the server running\?") as caught:
        get(url)
    assert failure_of(caught.value).code == "NO_SERVER"


@both
def test_a_connection_that_cannot_be_made_before_the_deadline_is_a_timeout(get: Get) -> None:
    with socket.socket() as full:  # a backlog that is full answers no further SYN
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        with pytest.raises(LMTimeoutError):
            get(f"http://127.0.0.1:{full.getsockname()[1]}", 0.3)
        for client in waiting:
            client.close()


@both
@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", CHUNKED + b"4\r\nha", b"not http\r\n\r\n"]
)
def test_half_a_reply_is_no_reply(get: Get, data: bytes) -> None:
    with (
        serving(cutting(data)) as wire,
        pytest.raises(LMTransportError, match="broke before the reply was complete") as caught,
    ):
        get(wire.url)
    failure = failure_of(caught.value)
    assert (failure.code, failure.retryable) == ("SERVER_ERROR", True)


@both
def test_the_size_of_a_reply_is_bounded(get: Get) -> None:
    data = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MAX_REPLY + 1) + bytes(MAX_REPLY + 1)
    with serving(answering(data)) as wire, pytest.raises(LMProviderError, match="larger than 16 MB") as caught:
        get(wire.url, 60)
    failure = failure_of(caught.value)
    assert (failure.code, failure.retryable, "limit max_tokens" in failure.message) == ("BAD_REPLY", False, True)


def count(url: str) -> int:
    http = Http(endpoint(url, 60))
    with http.post(b"{}") as reply:
        return sum(1 for _ in reply.lines())


def acount(url: str) -> int:
    async def run() -> int:
        http = AsyncHttp(endpoint(url, 60))
        async with await http.post(b"{}") as reply:
            return len([line async for line in reply.lines()])

    return asyncio.run(run())


@pytest.mark.torture
@pytest.mark.parametrize("count", [count, acount])
def test_the_size_of_a_stream_is_bounded_but_for_what_is_around_its_pieces(count: Callable[[str], int]) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    for line in (b"without an end", b"x" * 65_535 + b"\n"):
        data = line * (2 * MAX_REPLY // len(line))
        with serving(answering(head % len(data) + data)) as wire, pytest.raises(LMProviderError, match="larger than 1"):
            count(wire.url)
    data = b"x" * 299 + b"\n"
    data *= 2 * MAX_REPLY // len(data)
    with serving(answering(head % len(data) + data)) as wire:
        assert count(wire.url) == len(data) // 300
    data *= 3
    with serving(answering(head % len(data) + data)) as wire, pytest.raises(LMProviderError, match="larger than 64 MB"):
        count(wire.url)


def test_connections_are_kept_also_after_a_stream_that_was_left_at_its_last_event() -> None:
    with serving(answering(LONG_END)) as wire:
        http = Http(endpoint(wire.url))
        for _ in range(3):
            with http.post(b"{}") as reply:
                assert next(reply.lines()) == b"last\n"
        http.close()
    assert (len(wire.connections), len(wire.requests)) == (1, 3)


def test_async_connections_are_kept_too() -> None:
    async def run() -> None:
        http = AsyncHttp(endpoint(wire.url))
        for _ in range(3):
            async with await http.post(b"{}") as reply:
                assert await anext(reply.lines()) == b"last\n"
        await http.aclose()
        await http.aclose()  # nothing is left to close

    with serving(answering(LONG_END)) as wire:
        asyncio.run(run())
    assert (len(wire.connections), len(wire.requests)) == (1, 3)


def test_a_stream_that_does_not_end_costs_its_connection_and_nothing_else() -> None:
    async def run() -> None:
        ahttp = AsyncHttp(endpoint(wire.url))
        for _ in range(2):
            async with await ahttp.post(b"{}") as reply:
                assert await anext(reply.lines()) == b"last\n"
        await ahttp.aclose()

    with serving(answering(CHUNKED + b"5\r\nlast\n\r\n")) as wire:
        http = Http(endpoint(wire.url))
        for _ in range(2):
            with http.post(b"{}") as reply:
                assert next(reply.lines()) == b"last\n"
        http.close()
        asyncio.run(run())
    assert len(wire.connections) == 4


def test_errors_that_somebody_keeps_hold_no_connections() -> None:
    kept: list[LMError] = []
    with serving(cutting(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as wire:
        http = Http(endpoint(wire.url))
        for _ in range(MAX_CONNECTIONS + 1):  # each would wait for a free one otherwise
            try:
                with http.post(b"{}") as reply:
                    reply.read()
            except LMTransportError as error:
                kept.append(error)
        http.close()
    assert len(kept) == MAX_CONNECTIONS + 1


def test_an_exception_of_the_reader_passes_and_costs_the_connection_only() -> None:
    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as wire:
        http = Http(endpoint(wire.url))
        for _ in range(MAX_CONNECTIONS + 1):
            with pytest.raises(KeyError), http.post(b"{}"):
                raise KeyError
        http.close()


def test_an_exception_of_an_async_reader_passes_too() -> None:
    async def run() -> None:
        http = AsyncHttp(endpoint(wire.url))
        with pytest.raises(KeyError):
            async with await http.post(b"{}"):
                raise KeyError
        await http.aclose()

    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")) as wire:
        asyncio.run(run())


def test_lines_arrive_with_the_last_one_as_it_is() -> None:
    async def run() -> list[bytes]:
        ahttp = AsyncHttp(endpoint(wire.url))
        async with await ahttp.post(b"{}") as reply:
            lines = [line async for line in reply.lines()]
        await ahttp.aclose()
        return lines

    with serving(answering(CHUNKED + b"6\r\none\ntw\r\n3\r\no\nt\r\n0\r\n\r\n")) as wire:
        http = Http(endpoint(wire.url))
        with http.post(b"{}") as reply:
            assert list(reply.lines()) == [b"one\n", b"two\n", b"t"]
        http.close()
        assert asyncio.run(run()) == [b"one\n", b"two\n", b"t"]


def test_64_threads_at_once() -> None:
    with serving(answering(OK)) as wire, ThreadPoolExecutor(64) as pool:
        http = Http(endpoint(wire.url))

        def post(_: int) -> bytes:
            with http.post(b"{}") as reply:
                return reply.read()

        assert list(pool.map(post, range(256))) == [b"ok"] * 256
        http.close()


def test_event_loops_come_and_go() -> None:
    async def run(http: AsyncHttp) -> list[bytes]:
        async def post() -> bytes:
            async with await http.post(b"{}") as reply:
                return await reply.read()

        return list(await asyncio.gather(*[post() for _ in range(64)]))

    def three_loops(url: str) -> None:
        http = AsyncHttp(endpoint(url))
        for _ in range(3):
            assert asyncio.run(run(http)) == [b"ok"] * 64

    with serving(answering(OK)) as wire:
        three_loops(wire.url)
        gc.collect()  # a socket that was left open would warn here, and a warning is an error


def test_the_connections_of_a_loop_that_has_ended_are_closed_with_the_next_request() -> None:
    async def run(http: AsyncHttp) -> None:
        async with await http.post(b"{}") as reply:
            await reply.read()

    with serving(answering(OK)) as wire:
        http = AsyncHttp(endpoint(wire.url))
        asyncio.run(run(http))
        assert not wire.ended.acquire(blocking=False)
        asyncio.run(run(http))
        assert wire.ended.acquire(timeout=GENEROUS_S)


def test_a_cancelled_request_ends_at_once() -> None:
    async def run() -> None:
        http = AsyncHttp(endpoint(wire.url))
        with pytest.raises(asyncio.TimeoutError):
            async with asyncio.timeout(0.1):
                await http.post(b"{}")
        await http.aclose()

    start = monotonic()
    with serving(silent) as wire:
        asyncio.run(run())
    assert monotonic() - start < GENEROUS_S / 2


@both
def test_proxies_are_ignored_on_this_machine_and_used_elsewhere(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with serving(answering(OK)) as proxy, serving(answering(OK)) as wire:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert get(wire.url) == (200, b"ok")
        assert proxy.requests == []
        assert get("http://model.invalid") == (200, b"ok")
        assert proxy.requests[0].startswith(b"POST http://model.invalid/chat HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:1/v1", True),
        ("http://x.localhost", True),
        ("http://127.1.2.3", True),
        ("http://[::1]:80", True),
        ("http://0.0.0.0:11434", True),
        ("http://10.0.0.1", False),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.com", False),
    ],
)
def test_what_is_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


@pytest.mark.parametrize(
    "url", ["ftp://x", "127.0.0.1:1", "http://", "http://me:hunter2@host/v1", "http://a b", "http://a\n"]
)
def test_a_base_url_that_is_none_is_refused_in_one_line(url: str) -> None:
    with pytest.raises(ConfigurationError, match="base URL") as caught:
        endpoint(url)
    assert "hunter2" not in str(caught.value)


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"b", b"\n")), max_size=20))
def test_lines_do_not_depend_on_how_the_bytes_arrive(chunks: list[bytes]) -> None:
    lines = Lines()
    cut = [line for chunk in chunks for line in lines.feed(chunk)] + lines.end()
    assert b"".join(cut) == b"".join(chunks)
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in cut[:-1])
    assert all(b"\n" not in line[:-1] for line in cut)

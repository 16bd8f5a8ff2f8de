"""HTTP to an upstream: every form of a body, however it is cut; what is no HTTP; connections that are used again."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.proxy import upstream
from micro_agent.proxy.upstream import BrokenOff, Headers, HttpUpstream, Unreachable
from micro_agent.testing import Received
from tests.each import each
from tests.proxy.conftest import Start, asking, played

T = TypeVar("T")
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = OK + b"Content-Length: 1\r\n\r\nx"
RESET = b"\0"
"""In the place of bytes: the connection is thrown away."""
Script = Sequence[Sequence[bytes] | None]


def with_server(script: Script, visit: Callable[[HttpUpstream, list[int]], Awaitable[T]]) -> T:
    """What a visit returns to a server that answers the requests with these pieces, and then closes after ``None``.

    The list has, for each request, the number of its connection.
    """

    async def run() -> T:
        left, seen, connections = list(script), list[int](), list[asyncio.StreamWriter]()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connections.append(writer)
            number = len(connections)
            try:
                while True:
                    await reader.readuntil(b"\r\n\r\n")
                    seen.append(number)
                    for piece in left.pop(0) or ():
                        if piece == RESET:
                            linger = struct.pack("ii", 1, 0)
                            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                            writer.transport.abort()
                            return
                        writer.write(piece)
                        await writer.drain()
                        for _ in range(4):
                            await asyncio.sleep(0)  # so that each arrives alone
                    if left and left[0] is None:
                        left.pop(0)
                        return
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        asked = HttpUpstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        try:
            return await visit(asked, seen)
        finally:
            await asked.aclose()
            server.close()
            for _ in range(5):
                await asyncio.sleep(0)
                for one in connections:
                    one.transport.abort()

    return asyncio.run(run())


async def got(asked: HttpUpstream, method: str = "POST") -> tuple[int, bytes]:
    answer = await asked.post(method, "/", [], b"")
    try:
        return answer.status, await answer.whole()
    finally:
        answer.close()


async def sent(url: str, headers: Headers) -> None:
    asked = HttpUpstream(url)
    try:
        await asked.post("GET", "/v1/models", headers, b"")
    finally:
        await asked.aclose()


def fetched(*pieces: bytes, method: str = "POST", more: Script = (None,)) -> tuple[int, bytes]:
    return with_server([pieces, *more], lambda asked, _: got(asked, method))


BODIES: list[tuple[bytes, int, bytes]] = [
    (OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello"),
    (OK + b"content-length:0\r\n\r\n", 200, b""),
    (OK + b"X: 1\r\nConnection: close\r\n\r\nhello", 200, b"hello"),
    (b"HTTP/1.0 404 Not Found\r\n\r\nno", 404, b"no"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx", 200, b"x"),
    (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    (CHUNKED + b"5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n", 200, b"hello!"),
    (CHUNKED + b"A\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n", 200, b"0123456789"),
    (CHUNKED + b"0\r\n\r\n", 200, b""),
    (OK + b"X: " + b"x" * 60_000 + b"\r\nContent-Length: 1\r\n\r\nx", 200, b"x"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 1\r\n\r\nx", 302, b"x"),
]


@each(["raw", "status", "body"], BODIES)
def test_bodies(raw: bytes, status: int, body: bytes) -> None:
    assert fetched(raw) == (status, body)
    if len(raw) < 1000:
        assert fetched(*[bytes([byte]) for byte in raw]) == (status, body)


def test_no_body() -> None:
    assert fetched(OK + b"Content-Length: 5\r\n\r\n", method="HEAD") == (200, b"")


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=4), st.lists(st.integers(0, 200), max_size=5))
def test_chunks_however_they_are_cut(chunks: list[bytes], cuts: list[int]) -> None:
    raw = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
    at = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    pieces = [raw[start:end] for start, end in pairwise(at) if start < end]
    assert fetched(*pieces) == (200, b"".join(chunks))


BROKEN: list[tuple[bytes, type[Exception] | tuple[type[Exception], ...]]] = [
    (b"hello\r\n\r\n", Unreachable),
    (OK + b"no colon\r\n\r\n", Unreachable),
    (OK + b"Content-Length: -1\r\n\r\n", Unreachable),
    (OK + b"X: ", Unreachable),
    (b"", Unreachable),
    (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", Unreachable),
    (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", Unreachable),
    (OK + b"X: " + b"x" * 70_000 + b"\r\n\r\n", Unreachable),
    (OK + b"Content-Length: 9\r\n\r\nhello", BrokenOff),
    (CHUNKED + b"5", BrokenOff),
    (CHUNKED + b"5\r\nhel", BrokenOff),
    (CHUNKED + b"5\r\nhello", BrokenOff),
    (CHUNKED + b"5\r\nhello\r\nzz\r\n", (Unreachable, BrokenOff)),  # it may come with the head
    (CHUNKED + b"5\r\nhello\r\n0\r\n", BrokenOff),
]


@each(["raw", "kind"], BROKEN)
def test_what_is_no_http(raw: bytes, kind: type[Exception] | tuple[type[Exception], ...]) -> None:
    with pytest.raises(kind) as found:
        fetched(raw)
    assert "\n" not in str(found.value)


def test_a_body_that_ended_before_it_was_read() -> None:
    async def late(asked: HttpUpstream, _: list[int]) -> bytes:
        answer = await asked.post("POST", "/", [], b"")
        await asyncio.sleep(0.05)
        try:
            return await answer.whole()
        finally:
            answer.close()

    with pytest.raises(BrokenOff):
        with_server([[OK + b"Content-Length: 9\r\n\r\nhello"], None], late)
    assert with_server([[OK + b"\r\nhello"], None], late) == b"hello"


def test_connections_are_used_again_while_that_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    async def thrice(asked: HttpUpstream, seen: list[int]) -> list[int]:
        for _ in range(3):
            assert await got(asked) == (200, b"x")
            await asyncio.sleep(0.005)  # what the server closes is closed
        return seen

    whole = [WHOLE]
    cases: list[tuple[Script, list[int]]] = [
        ([whole, whole, whole], [1, 1, 1]),
        ([whole, None, whole, whole], [1, 2, 2]),
        ([whole, [], None, whole, whole], [1, 1, 2, 2]),  # it was closed with the request on its way
        ([whole, [RESET], whole, whole], [1, 1, 2, 2]),
        ([[WHOLE.replace(b"OK\r\n", b"OK\r\nConnection: Close\r\n")], whole, whole], [1, 2, 2]),
    ]

    @each(["script", "connections"], cases)
    def holds(script: Script, connections: list[int]) -> None:
        assert with_server(script, thrice) == connections

    holds()
    monkeypatch.setattr(upstream, "_IDLE_S", 1e-6)
    assert with_server([whole] * 3, thrice) == [1, 2, 3]


def test_a_request_is_sent_once_on_a_fresh_connection() -> None:
    async def once(asked: HttpUpstream, seen: list[int]) -> list[int]:
        with pytest.raises(Unreachable, match="gave no answer"):
            await got(asked)
        return seen

    assert with_server([[], None, [WHOLE]], once) == [1]


def test_a_server_waits_for_who_does_not_read() -> None:
    body = b"x" * 5_000_000

    async def slowly(asked: HttpUpstream, _: list[int]) -> int:
        answer = await asked.post("POST", "/", [], b"")
        count, largest = 0, 0
        async for data in answer.pieces:
            await asyncio.sleep(0)
            count, largest = count + len(data), max(largest, len(data))
        assert largest < 1_000_000
        return count

    assert with_server([[OK + b"Content-Length: 5000000\r\n\r\n" + body]], slowly) == len(body)


def test_a_body_has_a_limit_where_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "MOST", 4)
    with pytest.raises(BrokenOff, match="more than 4 bytes"):
        fetched(OK + b"Content-Length: 5\r\n\r\nhello")


def test_a_server_that_does_not_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "CONNECT_S", 1e-9)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(Unreachable) as found:
            asyncio.run(sent(url, []))
    told = "did not accept a connection within 1e-09 s: start the server, or pass another --upstream"
    assert str(found.value) == f"{url} {told}"


def test_a_request_goes_out_as_it_came(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    heads: list[bytes] = []

    async def run() -> list[bytes]:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for _ in range(2):
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                length = b"\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"
                await reader.readexactly(int(heads[-1].partition(b"ength: ")[2].partition(b"\r")[0] or 0))
                writer.write(OK[:-2] + length)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        asked = HttpUpstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/base/v1/", key="a-key")
        try:
            sent: Headers = [(b"x-twice", b"1"), (b"x-twice", "2 é".encode()), (b"cookie", b"b=2"), (b"x-old", b"\xe9")]
            for headers, body in ((sent, b"x" * 600_000), ([(b"Authorization", b"Own")], b"")):
                answered = await asked.post("POST", "/v1/a%2Fb?c=%20d&e=", headers, body)
                assert (b"Set-Cookie", b"a=1") in answered.headers
                assert (answered.header(b"set-cookie"), answered.header(b"none"), await answered.whole()) == (
                    b"a=1", b"", b"",
                )  # fmt: skip
        finally:
            await asked.aclose()
            server.close()
        return heads

    first, second = asyncio.run(run())
    line, *rest = first.split(b"\r\n")[:-2]
    assert line == b"POST /base/v1/a%2Fb?c=%20d&e= HTTP/1.1"
    assert [one.partition(b":")[0].lower() for one in rest] == [
        b"host", b"x-twice", b"x-twice", b"cookie", b"x-old", b"authorization", b"content-length",
    ]  # fmt: skip
    assert rest[1:6] == [
        b"x-twice: 1", "x-twice: 2 é".encode(), b"cookie: b=2", "x-old: é".encode(), b"authorization: Bearer a-key",
    ]  # fmt: skip
    assert b"Cookie" not in second
    assert b"\r\nAuthorization: Own\r\n" in second
    assert b"a-key" not in second


def test_no_header_can_hold_another(start: Start) -> None:
    def play(connection: socket.socket, _: Received) -> None:
        connection.sendall(OK + b"Content-Length: 2\r\n\r\n{}")

    with played(play) as server:
        through = start(server.url)
        with socket.create_connection(("127.0.0.1", int(through.url.rsplit(":", 1)[1])), timeout=20) as connection:
            connection.sendall(b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-A: 1\rX-B: 2\r\n\r\n")
            assert b" 400 " in connection.recv(65536).partition(b"\n")[0]
        assert server.requests == []
        with pytest.raises(ValueError, match="header"):
            asyncio.run(sent(server.url, [(b"x", b"1\r\ny: 2")]))
        assert through.post(asking()).status_code == 200

"""HTTP to a model server: POST and the reply, whole or line by line, within one deadline.

A thin layer over the pooled socket transports that DSPy ships: it adds a bound on the whole exchange (theirs is on each
read), a bound on the size, and errors that say what to do.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from contextlib import suppress
from dataclasses import replace
from socket import socket
from threading import Lock
from time import monotonic
from typing import Any, Self, TypeVar
from weakref import WeakKeyDictionary

from dspy import LMError, LMProviderError

from micro_agent.dspy_internals import (
    AsyncTransportResponse,
    StdlibAsyncTransport,
    StdlibTransport,
    TransportError,
    TransportRequest,
    TransportResponse,
)
from micro_agent.models.endpoint import Deadline, Endpoint, Lines, translating

MAX_REPLY = 16 * 1024 * 1024
"""Bytes of one reply, but for what a stream has around its pieces."""
MAX_STREAM = 64 * 1024 * 1024
"""Bytes of one streamed reply in all."""
_AROUND = 512
"""Bytes that a piece of a stream has around its text, or fewer."""
DRAIN_S = 0.05
"""So long the end of a stream is waited for, after its last event, to keep the connection for the next request."""

T = TypeVar("T")


class _Reply:
    """Status and headers of a reply (names in lower case), and the checks of its body."""

    def __init__(self, response: TransportResponse | AsyncTransportResponse, url: str, deadline: Deadline):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers}
        self._url = url
        self._deadline = deadline
        self._size, self._most = 0, MAX_REPLY

    def _checked(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        if self._size > self._most:
            told = f"the reply of {self._url} is larger than {self._most >> 20} MB"
            raise LMProviderError(f"{told}: limit max_tokens, and check that the base URL is that of a model's API")
        return chunk

    def _cut(self, lines: Lines, chunk: bytes) -> list[bytes]:
        found = lines.feed(chunk)
        self._most = min(MAX_STREAM, self._most + _AROUND * len(found))
        return found

    def _shorten(self, seconds: float) -> None:
        self._deadline.at = min(self._deadline.at, monotonic() + seconds)


class HttpReply(_Reply):
    """A reply whose body is read by the caller, as a context manager."""

    def __init__(self, response: TransportResponse, url: str, deadline: Deadline):
        super().__init__(response, url, deadline)
        self._response = response
        self._chunks = iter(response)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *why: object) -> None:
        self._shorten(DRAIN_S if kind is None else 0.0)
        with suppress(TransportError, OSError):  # a connection that does not end is not kept
            for _ in self._chunks:
                pass
        self._response.close()

    def chunks(self) -> Iterator[bytes]:
        """The body as it arrives.

        Raises:
            LMTimeoutError: The deadline has passed.
            LMTransportError: The connection broke.
            LMProviderError: The body is too large.
        """
        while True:
            with translating(self._url, self._deadline):
                chunk: bytes = next(self._chunks, b"")
            if not chunk:
                return
            yield self._checked(chunk)

    def read(self) -> bytes:
        """The whole body; raises as `chunks` does."""
        return b"".join(self.chunks())

    def lines(self) -> Iterator[bytes]:
        """The lines of the body as they arrive, as `Lines` cuts them; raises as `chunks` does."""
        lines = Lines()
        for chunk in self.chunks():
            yield from self._cut(lines, chunk)
        yield from lines.end()


class AsyncHttpReply(_Reply):
    """The asynchronous twin of `HttpReply`."""

    def __init__(self, response: AsyncTransportResponse, url: str, deadline: Deadline):
        super().__init__(response, url, deadline)
        self._response = response
        self._chunks = aiter(response)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *why: object) -> None:
        try:
            if kind is None:
                self._shorten(DRAIN_S)
                with suppress(LMError):  # a connection that does not end is not kept
                    async for _ in self.chunks():
                        pass
        finally:
            await self._response.aclose()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; raises as `HttpReply.chunks` does."""
        while chunk := await _within(self._deadline, self._url, anext(self._chunks, b"")):
            yield self._checked(chunk)

    async def read(self) -> bytes:
        """The whole body; raises as `chunks` does."""
        return b"".join([chunk async for chunk in self.chunks()])

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines of the body as they arrive, as `Lines` cuts them; raises as `chunks` does."""
        lines = Lines()
        async for chunk in self.chunks():
            for line in self._cut(lines, chunk):
                yield line
        for line in lines.end():
            yield line


async def _opened(transport: StdlibAsyncTransport, request: TransportRequest) -> AsyncTransportResponse:
    return await transport.stream(request)


async def _within(deadline: Deadline, url: str, waiting: Awaitable[T]) -> T:
    with translating(url, deadline):
        async with asyncio.timeout(deadline.left()):
            return await waiting


class _BoundedSocket:
    """A socket whose reads end at a `Deadline`, however slowly bytes trickle in.

    The transport starts its read timeout anew with each piece; as that timeout it hands us the `Deadline`.
    """

    def __init__(self, sock: socket):
        self._sock = sock

    def settimeout(self, value: Deadline) -> None:
        self._deadline = value
        self._sock.settimeout(value.left())

    def recv(self, size: int) -> bytes:
        left = self._deadline.left()
        if not left:
            raise TimeoutError("the deadline has passed")
        self._sock.settimeout(left)
        return self._sock.recv(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class _BoundedTransport(StdlibTransport):
    def _open(self, *args: Any, **kwargs: Any) -> Any:
        connection: Any = super()._open(*args, **kwargs)
        connection.sock = _BoundedSocket(connection.sock)
        return connection


class Http:
    """A pool of connections to one endpoint; safe to share between threads."""

    def __init__(self, endpoint: Endpoint):
        self._endpoint = endpoint
        self._transport = _BoundedTransport(**endpoint.pooling())

    def post(self, body: bytes) -> HttpReply:
        """Send ``body`` and wait for the head of the reply, whatever its status.

        Raises:
            LMTimeoutError: The deadline has passed.
            LMTransportError: No server there, or the connection broke.
        """
        request, deadline = self._endpoint.request(body)
        with translating(request.url, deadline):
            response = self._transport.stream(request)
        return HttpReply(response, request.url, deadline)

    def close(self) -> None:
        """Close the connections; nothing can be posted any more."""
        self._transport.close()


class AsyncHttp:
    """The asynchronous twin of `Http`. Connections belong to their event loop; there is a pool for each."""

    def __init__(self, endpoint: Endpoint):
        self._endpoint = endpoint
        self._lock = Lock()
        self._transports: WeakKeyDictionary[asyncio.AbstractEventLoop, StdlibAsyncTransport] = WeakKeyDictionary()

    async def post(self, body: bytes) -> AsyncHttpReply:
        """Send ``body`` and wait for the head of the reply; raises as `Http.post` does."""
        request, deadline = self._endpoint.request(body)
        request = replace(request, read_timeout=None, write_timeout=None)
        response = await _within(deadline, request.url, _opened(self._transport(), request))
        return AsyncHttpReply(response, request.url, deadline)

    async def aclose(self) -> None:
        """Close the connections of this event loop, and those of loops that have ended."""
        with self._lock:
            self._forget_closed_loops()
            transport = self._transports.pop(asyncio.get_running_loop(), None)
        if transport is not None:
            await transport.aclose()

    def _transport(self) -> StdlibAsyncTransport:
        loop = asyncio.get_running_loop()
        with self._lock:
            transport = self._transports.get(loop)
            if transport is None:
                self._forget_closed_loops()
                # The transport makes a task of each wait that it bounds. `_within` bounds the whole exchange as it is.
                unbounded: dict[str, Any] = {"read_timeout": None, "write_timeout": None, "pool_timeout": None}
                transport = StdlibAsyncTransport(**{**self._endpoint.pooling(), **unbounded})
                self._transports[loop] = transport
            return transport

    def _forget_closed_loops(self) -> None:
        # An idle connection refers to its loop, so the weak keys alone would keep both for ever. A transport that is
        # let go closes its sockets.
        for loop in [loop for loop in self._transports if loop.is_closed()]:
            del self._transports[loop]

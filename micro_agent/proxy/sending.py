"""The side of the client: the head of a response, its bytes, and comments that show that the proxy is alive."""

import asyncio
import json
from collections.abc import Mapping
from time import monotonic
from typing import Any

from starlette.types import Send

from micro_agent.proxy.events import comment
from micro_agent.proxy.upstream import Answer, Headers

_EVENTS = (b"content-type", b"text/event-stream; charset=utf-8")

_OF_ONE_HOP = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
})  # fmt: skip
"""Headers that are for the next program alone (RFC 9110, section 7.6.1)."""
_OURS = frozenset({b"host", b"content-length", b"accept-encoding", b"expect"})
"""Of a request: said anew, or not said, so that no server compresses what is to be read."""
_THEIRS = frozenset({b"content-length", b"date", b"x-micro-agent-repairs", b"x-micro-agent-run"})
"""Of a response: said anew, or by us alone."""


def passed_on(headers: Headers, *, without: frozenset[bytes] = frozenset()) -> list[tuple[bytes, bytes]]:
    """The headers of a request that go to the upstream."""
    return _without(headers, _OURS | without)


class Sender:
    """Sends one response.

    Args:
        send: Where it goes.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._every_s = 0.0
        self._look: asyncio.TimerHandle | None = None
        self._comment: asyncio.Task[None] | None = None
        self._last = monotonic()
        self.extra: list[tuple[bytes, bytes]] = []
        """Headers of ours."""
        self.status: int | None = None
        """What was sent, once something was."""
        self.waits = True
        """Whether the client waits for something that is there or is being made, so that it is told that we live."""

    def keep_alive(self, every_s: float) -> None:
        """From now on, begin a stream and comment in it whenever nothing was sent for so long and the client waits."""
        self._every_s = every_s
        self._look = asyncio.get_running_loop().call_later(every_s, self._looked)

    async def start(self, response: Answer) -> None:
        """The head of a response that comes in pieces; nothing where a comment went before it."""
        if self.status is None:
            await self._head(response.status, [*_kept(response), *self.extra])

    async def send(self, data: bytes) -> None:
        """Some of its bytes."""
        self._last = monotonic()
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """The last ones."""
        self.stop()
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def whole(self, response: Answer, raw: bytes, *, status: int | None = None) -> None:
        """A response in one piece."""
        await self._one(status or response.status, _kept(response), raw)

    async def events(self, data: bytes) -> None:
        """A stream of ours, whole."""
        self.stop()
        if self.status is None:
            await self._head(200, [_EVENTS, *self.extra])
        await self.end(data)

    async def refuse(self, status: int, body: Mapping[str, Any]) -> None:
        """An error of ours."""
        await self._one(status, [(b"content-type", b"application/json")], json.dumps(body).encode())

    def stop(self) -> None:
        """No more comments."""
        for one in (self._look, self._comment):
            if one is not None:
                one.cancel()

    async def _one(self, status: int, headers: list[tuple[bytes, bytes]], raw: bytes) -> None:
        if self.status is None:
            self.stop()
            await self._head(status, [*headers, *self.extra, (b"content-length", str(len(raw)).encode())])
            return await self.end(raw)
        # A stream has begun with a comment: an error is an event of it, as is a body that should have been one.
        name = b"event: error\n" if status >= 400 else b""
        return await self.end(name + b"".join(b"data: " + line + b"\n" for line in raw.splitlines()) + b"\n")

    async def _head(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def _looked(self) -> None:
        """A timer costs a stream that ends soon a tenth of what a task does."""
        left = self._last + self._every_s - monotonic()
        if self.waits and left <= 0:
            self._comment = asyncio.create_task(self._commented())
        else:
            self._look = asyncio.get_running_loop().call_later(max(self._every_s / 10, left), self._looked)

    async def _commented(self) -> None:
        if self.status is None:
            await self._head(200, [_EVENTS, *self.extra])
        await self.send(comment("keep-alive"))
        self._looked()


def _kept(response: Answer) -> list[tuple[bytes, bytes]]:
    return _without([(name.lower(), value) for name, value in response.headers], _THEIRS)


def _without(headers: Headers, others: frozenset[bytes]) -> list[tuple[bytes, bytes]]:
    """The headers that go on: none for the next program alone, among which are those that ``Connection`` names."""
    named = {one.strip().lower() for name, value in headers if name == b"connection" for one in value.split(b",")}
    dropped = named.union(_OF_ONE_HOP, others)
    return [(name, value) for name, value in headers if name not in dropped]

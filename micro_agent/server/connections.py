"""Bounds on connections: how many there are, and how long a client may take over its part of an exchange.

uvicorn closes a connection that is idle after a response, and nothing else: one that sends no request, half of one, or
that does not read the response, stays for as long as its client likes.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from micro_agent.server.errors import SAFE, problem
from micro_agent.server.settings import ServerSettings

_Part = Literal["head", "body"]
_PARTS: dict[Any, _Part] = {h11.IDLE: "head", h11.SEND_BODY: "body"}
"""What a client has to send next, by where it is in its request."""


@dataclass
class Bounds:
    """What the connections of one server share.

    Args:
        settings: The seconds that clients have.
        most: So many connections at once.
    """

    settings: ServerSettings
    most: int
    owing: "dict[Connection, None]" = field(default_factory=dict["Connection", None])
    """The connections whose clients have to send something, the one that has for longest first."""

    def seconds(self, part: _Part) -> float:
        """How long a client may take to send a part of its request."""
        return self.settings.header_timeout if part == "head" else self.settings.body_timeout


class Connection(H11Protocol):
    """A connection within `Bounds`.

    Where there are too many, the one goes whose client has owed something for longest, so that silent clients lock out
    nobody; one that waits for its answer never goes.
    """

    def __init__(self, *args: Any, bounds: Bounds, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounds = bounds
        self._due: _Part | None = None
        self._owed: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the place of another one, if there is none left."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that what a client leaves unread shows as soon as it is ours to keep
        if len(self.connections) <= self._bounds.most:
            self._watch()
        elif oldest := next(iter(self._bounds.owing), None):
            oldest.transport.abort()
            oldest.settle()
            self._watch()
        else:
            self._answer("too_many_connections")

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        self._wait_for_reader()

    def resume_writing(self) -> None:
        """The client has read all there was."""
        super().resume_writing()
        self._unread = _stopped(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self.settle()
        super().connection_lost(exc)
        self._unread = _stopped(self._unread)

    def settle(self) -> None:
        """The client owes nothing any more."""
        self._due, self._owed = None, _stopped(self._owed)
        self._bounds.owing.pop(self, None)

    def _watch(self) -> None:
        due = None if self.transport.is_closing() else _PARTS.get(self.conn.their_state)
        if due == self._due:
            return
        self.settle()
        if due is not None:
            self._due, self._bounds.owing[self] = due, None
            self._owed = self.loop.call_later(self._bounds.seconds(due), self._overdue)

    def _overdue(self) -> None:
        begun = self._due == "body" or self.conn.trailing_data[0]
        if begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer("timeout")
        else:
            self.transport.abort()

    def _answer(self, code: str) -> None:
        """Answer in the application's place, and close."""
        response = problem(code, headers={**SAFE, "Connection": "close"})
        head = b"".join(b"%b: %b\r\n" % header for header in response.raw_headers)
        self.transport.write(b"HTTP/1.1 %d \r\n%b\r\n%b" % (response.status_code, head, bytes(response.body)))
        self.transport.close()
        self.settle()

    def _wait_for_reader(self) -> None:
        left = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < left:
                self._wait_for_reader()
            else:
                self.transport.abort()

        self._unread = self.loop.call_later(self._bounds.settings.send_timeout, look)


def _stopped(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()

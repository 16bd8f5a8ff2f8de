"""The server's process: it listens, serves on one event loop, and ends so that no run is lost."""

import asyncio
import functools
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import ceil
from types import FrameType
from typing import Any, Protocol

import uvicorn
from fastapi import FastAPI

from micro_agent.errors import ConfigurationError
from micro_agent.server.connections import Bounds, Connection
from micro_agent.server.descriptors import room_for, telling_once
from micro_agent.server.settings import ServerSettings, require_token

BACKLOG = 2048
"""Connections that may wait to be accepted."""
ACCEPTED_AT_ONCE = 16
"""asyncio accepts as many before it looks whether there is room for them."""
SEND_BUFFER = 256 * 1024
"""Bytes that the system keeps for a client that does not read; left to itself it keeps megabytes."""
LAST_WORDS_S = 1
"""Seconds for the last responses, after the runs have ended or were suspended. Who has not read them is cut off."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Work(Protocol):
    """What is under way in a server, such as a `RunPool`."""

    def running(self) -> int:
        """How much there is of it."""
        ...

    async def close(self, grace_s: float) -> None:
        """Let it end for so long, then end it."""
        ...


def serve(
    app: FastAPI, pool: Work, settings: ServerSettings, *, say: Callable[[str], None],
    loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> None:  # fmt: skip
    """Serve until SIGINT or SIGTERM, then end: take no more requests, let runs end, suspend what is left of them.

    Call it in the main thread, which gets the signals.

    A second signal ends the process at once, as a kill would. The runs are then as a kill leaves them: on record.

    Args:
        app: What `create_app` made.
        pool: What it has under way, which is closed at the end.
        settings: Where to listen (port 0: any free one), and for how long runs may go on at the end.
        say: Takes each line for a person; the first one says where the server listens, once it does.
        loop: Makes the event loop, by default one of asyncio's.

    Raises:
        ConfigurationError: The address cannot be listened on, or others could connect and no token is set.
    """
    require_token(settings)
    listener = listening(settings.host, settings.port)
    config = configured(app, settings)
    server = _Server(config, pool, settings.grace, say)
    with listener, asyncio.Runner(loop_factory=loop) as runner:
        runner.run(server.serve([listener]))


def configured(app: FastAPI, settings: ServerSettings) -> uvicorn.Config:
    """How uvicorn serves an app: nothing but HTTP/1.1, within the bounds of the settings."""
    bounds = Bounds(settings, room_for(settings.max_connections))
    protocol: Any = functools.partial(Connection, bounds=bounds)
    return uvicorn.Config(
        app, http=protocol, loop="asyncio", ws="none", lifespan="off", log_config=None, access_log=False,
        log_level="error",  # below are lines about what clients send, as many as they like
        server_header=False, proxy_headers=False, backlog=ACCEPTED_AT_ONCE,
        timeout_graceful_shutdown=ceil(settings.grace) + 10 * LAST_WORDS_S,
    )  # fmt: skip


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens on an address.

    Raises:
        ConfigurationError: It cannot.
    """
    try:
        family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # in brackets it repeats the address
        told = f"cannot listen on {host}, port {port}: {reason}; choose another --host or --port"
        raise ConfigurationError(told) from error
    # A response goes out in pieces, which wait for one another (40 ms) unless this is set. asyncio sets it only where
    # a socket was made with the number of its protocol. Connections have it from their listener.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    return listener


def url_of(listener: socket.socket) -> str:
    """Where a client finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, pool: Work, grace_s: float, say: Callable[[str], None]) -> None:
        super().__init__(config)
        self._pool, self._grace_s, self._say = pool, grace_s, say

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(telling_once(self._say))
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # asyncio has made it as short as what it accepts at once
            self._say(f"micro-agent listens on {url_of(listener)}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        closing = asyncio.create_task(self._pool.close(self._grace_s))  # whoever waits for a run gets an answer by that
        cutting = asyncio.create_task(self._cut_off(closing))
        await super().shutdown(sockets)
        await closing
        cutting.cancel()

    async def _cut_off(self, closing: "asyncio.Task[None]") -> None:
        await closing
        await asyncio.sleep(LAST_WORDS_S)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # What whoever started us told us to ignore stays ignored, as a shell does for commands in the background.
        before = {n: signal.signal(n, self.handle_exit) for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN}
        try:
            yield
        finally:
            for number, previous in before.items():
                signal.signal(number, previous)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:  # pragma: no cover (what was measured ends with the process)
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True
        if running := self._pool.running():
            self._say(f"ending: {running} under way, {self._grace_s:g} s for them; a second signal ends at once")

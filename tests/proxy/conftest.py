"""The proxy as its clients meet it: a real server on loopback, before a real one that plays a script."""

import asyncio
import json
import socket
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import httpx
import pytest
import uvicorn
import uvloop

from micro_agent.proxy import exchange
from micro_agent.proxy.app import WIRES, create_app
from micro_agent.proxy.engine import Options, Proxy
from micro_agent.proxy.records import Recorder
from micro_agent.proxy.upstream import HttpUpstream
from micro_agent.run import Run
from micro_agent.server.serve import BACKLOG, configured, listening
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import Received
from micro_agent.testing.http1 import BadRequest, read_request
from micro_agent.traces import TraceStore

CHAT = "/v1/chat/completions"
SCHEMA = {
    "type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"],
}  # fmt: skip
ADD = {"type": "function", "function": {"name": "add", "description": "Add.", "parameters": SCHEMA}}
SAY = {
    "type": "function",
    "function": {"name": "say", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
}
CALL = '<tool_call>{"name": "add", "arguments": {"a": 1, "b": "2"}}</tool_call>'
KINDS = "markup, dialect:hermes, number_string"


def asking(*, stream: bool = False, **more: Any) -> dict[str, Any]:
    """A request that offers tools."""
    said = [{"role": "user", "content": "What is 1 + 2?"}]
    return {"model": "scripted", "messages": said, "tools": [ADD, SAY], "stream": stream, **more}


def frame(data: Any) -> bytes:
    """An event of a stream."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
    """An event of a streamed completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return frame(
        {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice], **more}
    )


def events_of(raw: bytes) -> list[Any]:
    """The data of the events of a stream, but for its end."""
    lines = [line[6:] for line in raw.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def told(raw: bytes) -> tuple[str, list[tuple[str, Any]], str | None]:
    """The text, the calls and the reason in a streamed completion."""
    text, calls, reason = "", dict[int, list[str]](), None
    for event in events_of(raw):
        for choice in event.get("choices", ()):
            delta = choice["delta"]
            text += delta.get("content") or ""
            reason = choice["finish_reason"] or reason
            for one in delta.get("tool_calls") or ():
                known = calls.setdefault(one["index"], ["", ""])
                known[0] += one["function"].get("name") or ""
                known[1] += one["function"].get("arguments") or ""
    return text, [(name, json.loads(args)) for name, args in calls.values()], reason


@dataclass
class Proxied:
    """A proxy that runs in a thread, and a client of it."""

    url: str
    proxy: Proxy
    store: TraceStore
    client: httpx.Client
    loop: asyncio.AbstractEventLoop

    def post(self, body: Any, path: str = CHAT, **more: Any) -> httpx.Response:
        """What it answers."""
        return self.client.post(path, json=body, **more)

    def runs(self) -> list[Run]:
        """What is on record, the oldest first, when all is written."""
        self.settle()
        return sorted((self.store.load(run_id) for run_id in self.store.ids()), key=lambda run: run.ts)

    def settle(self) -> None:
        """Wait until all is written."""
        assert self.proxy.recorder is not None
        asyncio.run_coroutine_threadsafe(self.proxy.recorder.settled(), self.loop).result(30)

    def count(self, name: str) -> float:
        """A figure of its metrics, 0 where it is not there."""
        lines = [line.rsplit(" ", 1) for line in self.client.get("/metrics").text.splitlines()]
        return next((float(value) for key, value in lines if key == f"micro_agent_proxy_{name}"), 0)


Start = Callable[..., Proxied]


@pytest.fixture(autouse=True)
def _no_comments(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """On a busy machine a second is soon over: only a test of comments has them."""
    monkeypatch.setattr(exchange, "ALIVE_S", 60.0)


@pytest.fixture
def start(store: TraceStore) -> Iterator[Start]:
    """Starts proxies, which end with the test."""
    with ExitStack() as stack:

        def start(
            url: str, options: Options | None = None, *, record: bool = True, wires: Any = WIRES, upstream: Any = None,
            headers: dict[str, str] | None = None, key: str | None = None, context_length: int | None = None,
            **settings: Any,
        ) -> Proxied:  # fmt: skip
            proxy = Proxy(upstream or HttpUpstream(url, key=key, context_length=context_length), options or Options())
            if record:
                proxy.recorder = Recorder(store, lambda: proxy.metrics.failed("record"))
            chosen = ServerSettings(**settings)
            port, loop = stack.enter_context(_serving(create_app(proxy, chosen, wires), proxy, chosen))
            base = f"http://127.0.0.1:{port}"
            client = httpx.Client(base_url=base, headers=headers, trust_env=False, timeout=30, verify=False)
            return Proxied(base, proxy, store, stack.enter_context(client), loop)

        yield start


@contextmanager
def _serving(app: Any, proxy: Proxy, settings: ServerSettings) -> Generator[tuple[int, asyncio.AbstractEventLoop]]:
    """As `uvicorn.Server.serve`, without its look at the clock ten times a second: tests end at once."""
    config = configured(app, settings)
    config.load()
    server, listener = uvicorn.Server(config), listening("127.0.0.1", 0)
    server.lifespan = config.lifespan_class(config)
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        end = asyncio.Event()
        await server.startup([listener])
        listener.listen(BACKLOG)
        begun.set_result((asyncio.get_running_loop(), end))
        await end.wait()
        closing = asyncio.create_task(proxy.close(0))
        await server.shutdown([listener])
        await closing

    def run() -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve())

    thread = Thread(target=run, daemon=True)
    thread.start()
    loop, end = begun.result(30)
    try:
        yield listener.getsockname()[1], loop
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(60)
        listener.close()
        assert not thread.is_alive(), "its event loop stands still"


@dataclass
class Played:
    """A server that a function plays, with the socket in its hands."""

    url: str
    requests: list[Received] = field(default_factory=list[Received])


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def piece(data: bytes) -> bytes:
    """A chunk of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def played(play: Callable[[socket.socket, Received], None]) -> Generator[Played]:
    """A server on loopback; ``play`` answers each request, after which the connection is closed."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Played(f"http://127.0.0.1:{listener.getsockname()[1]}")
    threads: list[Thread] = []

    def answer(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(OSError, BadRequest):
            request = read_request(stream, connection.sendall)
            if request is not None:
                server.requests.append(request)
                play(connection, request)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(Thread(target=answer, args=(connection,)))
            threads[-1].start()

    acceptor = Thread(target=accept)
    acceptor.start()
    try:
        yield server
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in [acceptor, *threads]:
            thread.join()

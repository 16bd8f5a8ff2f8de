"""The API as a client meets it: a real server on loopback, over an app whose model plays a script."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Thread
from typing import Any

import httpx
import pytest
import uvicorn

from micro_agent import MicroAgent, Tool
from micro_agent.coding.patches.store import Patches
from micro_agent.server.app import create_app
from micro_agent.server.health import Backend
from micro_agent.server.runs import RunPool
from micro_agent.server.serve import BACKLOG, configured, listening
from micro_agent.server.settings import ServerSettings
from micro_agent.testing import Script, ScriptedLM
from micro_agent.traces import TraceStore

TOKEN = "a-token-for-the-tests"
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@dataclass
class Serving:
    """A server that runs in a thread, and a client of it."""

    app: Any
    pool: RunPool
    store: TraceStore
    client: httpx.Client
    port: int
    deleted: list[str]
    """What the tool ``delete`` was called with."""
    lm: Any

    @property
    def authority(self) -> str:
        """What a ``Host`` header says."""
        return f"127.0.0.1:{self.port}"

    def raw(self, data: bytes, *, until: bytes | None = None) -> bytes:
        """Send bytes over a connection of their own and read until something comes or the server closes it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            found = b""
            while (until is None or until not in found) and (piece := connection.recv(65536)):
                found += piece
            return found


Start = Callable[..., Serving]


@pytest.fixture
def start(store: TraceStore) -> Iterator[Start]:
    """Starts servers, which end with the test. All of them share the test's folders of traces and state."""
    with ExitStack() as stack:

        def start(
            script: Script = (), *, tools: Sequence[Any] = (), backend: Backend | None = None, max_running: int = 8,
            traces: TraceStore | None = None, queue: Patches | None = None, **settings: Any,
        ) -> Serving:  # fmt: skip
            deleted: list[str] = []
            lm = ScriptedLM(script)

            def remove(path: str) -> str:
                deleted.append(path)
                return "deleted"

            delete = Tool("delete", "Delete a file.", SCHEMA, remove, requires_confirmation=True)
            runs = traces or store
            agent = MicroAgent(tools=[delete, *tools], lm=lm, rules=[], traces=runs)
            pool = RunPool(lambda _: agent, runs, max_running=max_running)
            chosen = ServerSettings(**settings)
            app = create_app(pool=pool, store=runs, settings=chosen, backend=backend, queue=queue)
            port = stack.enter_context(_Served(app, pool, chosen))
            headers = {"Authorization": f"Bearer {TOKEN}"} if settings.get("api_token") else {}
            client = httpx.Client(
                base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=30, verify=False
            )
            return Serving(app, pool, runs, stack.enter_context(client), port, deleted, lm)

        yield start


class _Served:
    """A context in which an app is served; gives the port.

    It does what `uvicorn.Server.serve` does, without its look at the clock ten times a second: tests end at once.
    """

    def __init__(self, app: Any, pool: RunPool, settings: ServerSettings) -> None:
        config = configured(app, settings)
        config.load()
        self._server, self._pool = uvicorn.Server(config), pool
        self._server.lifespan = config.lifespan_class(config)
        self._socket = listening("127.0.0.1", 0)
        self._ends: Future[Callable[[], object]] = Future()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    async def _serve(self) -> None:
        end, loop = asyncio.Event(), asyncio.get_running_loop()
        await self._server.startup([self._socket])
        self._socket.listen(BACKLOG)  # as the server's own start does
        self._ends.set_result(lambda: loop.call_soon_threadsafe(end.set))
        await end.wait()
        await self._server.shutdown([self._socket])
        await self._pool.close(0)

    def __enter__(self) -> int:
        self._thread.start()
        return self._socket.getsockname()[1]

    def __exit__(self, *_: object) -> None:
        self._ends.result()()
        self._thread.join(60)
        self._socket.close()
        assert not self._thread.is_alive(), "its event loop stands still"

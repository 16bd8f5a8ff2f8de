"""An engine that stands for several servers with the same model, and gives each call to one of them.

What is known of the model stands beside the one engine; connections, turns and what a stream may ask for beside each
server. `pool` decides which server it is.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any, Self

from dspy import LMTransportError, lm15

from micro_agent.models.announcing import Announce, to_stderr
from micro_agent.models.context_length import told_at
from micro_agent.models.engine import SUPPORTED, HttpEngine
from micro_agent.models.identity import Served, Told, Traits
from micro_agent.models.ollama import OllamaEngine
from micro_agent.models.openai import OpenAIEngine
from micro_agent.models.pool import Pool, Route, Server
from micro_agent.models.same_model import agreed, difference
from micro_agent.models.scope import calling

_KINDS: dict[str, type[HttpEngine]] = {"openai": OpenAIEngine, "ollama": OllamaEngine}


class ServersEngine(Traits):
    """The same model on several servers. Safe to share between threads; a copy is the engine itself.

    What else is asked of it, such as its context or its default mode, the engine of the first server answers.

    Args:
        engines: One for each server, alike but for the address.
        announce: Takes a line when a server is left out, and one when it is back.
    """

    supports_function_calling = True
    supports_response_schema = True
    supported_params = SUPPORTED

    def __init__(self, engines: Sequence[HttpEngine], *, announce: Announce = to_stderr) -> None:
        self.pool = Pool(engines, announce)
        self._first = engines[0]
        self._said: dict[str, Served] = {}
        self._contradicted: set[str] = set()
        for name in Traits.__annotations__:
            setattr(self, name, getattr(engines[0], name))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._first, name)

    @property
    def base_urls(self) -> tuple[str, ...]:
        """Where the servers are; ``base_url`` is the first of them."""
        return tuple(server.url for server in self.pool.servers)

    @property
    def answering(self) -> tuple[str, ...]:
        """The addresses of the servers that have said which model they have."""
        return tuple(self._said)

    def bound(self, limit: int) -> None:
        """Let each server have so many requests under way, at most; others wait."""
        for server in self.pool.servers:
            server.engine.turns.bound(limit)

    def agreed(self) -> Told:
        """What the servers say of themselves and of their model, asked now. Those that do not answer are left out.

        Raises:
            ConfigurationError: Two do not have the same model.
        """
        servers = self.pool.servers
        with ThreadPoolExecutor(len(servers)) as threads:
            every = list(threads.map(told_at, [server.engine for server in servers]))
        self._said = {server.url: told.served for server, told in zip(servers, every, strict=True) if not told.silent}
        served = agreed(self._said)
        for server, told in zip(servers, every, strict=True):
            if told.silent:
                self.pool.leave_out(server, f"it does not answer ({told.silent})")
        return replace(next((told for told in every if not told.silent), every[0]), served=served)

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `HttpEngine.complete`; what a server that fails does not answer, another is asked."""
        route = self.pool.route()
        while True:
            with route as server, calling(route.scope):
                if server.on_trial:
                    self.check(server, route)
                return server.engine.complete(request)

    def stream(self, request: lm15.Request) -> Iterator[Any]:
        """As `HttpEngine.stream`; another server is asked as long as nothing of the reply was told."""
        route = self.pool.route()
        yield lm15.StreamStartEvent(model=self._first.model)
        while not route.over:
            with route as server:
                if server.on_trial:
                    self.check(server, route)
                with closing(server.engine.stream(request)) as events:
                    for event in events:
                        if not isinstance(event, lm15.StreamStartEvent):
                            route.emitted = True
                            yield event

    def check(self, server: Server, route: Route) -> None:
        """Let a server that had failed be asked, if it answers and still has the model.

        Raises:
            LMTransportError: It does not.
        """
        told = told_at(server.engine)
        if told.silent:
            if route.last_resort:
                return  # the request will tell
            raise LMTransportError(f"{server.url} does not answer ({told.silent})")
        for url, served in list(self._said.items()):
            if found := difference(served, told.served):
                what, ours, theirs = found
                line = f"{server.url} has another model now: its {what} is {theirs}, that of {url} {ours}"
                if server.url not in self._contradicted:
                    self._contradicted.add(server.url)
                    self.pool.announce(f"{line}: it stays left out")
                raise LMTransportError(line)
        self._said[server.url] = told.served
        self._contradicted.discard(server.url)

    def twin(self) -> "AsyncServersEngine":
        """The same servers for ``async`` callers."""
        return AsyncServersEngine(self)

    def close(self) -> None:
        """Close the connections. The engine cannot be used after that."""
        for server in self.pool.servers:
            server.engine.close()

    def dump_state(self) -> dict[str, Any]:
        """The settings as JSON, without the key."""
        return {"kind": self._first.provider, "base_urls": list(self.base_urls), "each": self._first.dump_state()}

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """An engine with those settings. Its servers are asked for their model before the first run."""
        kind = _KINDS[state["kind"]]
        return cls([kind.load_state({**state["each"], "base_url": url}) for url in state["base_urls"]])

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class AsyncServersEngine:
    """The asynchronous twin of a `ServersEngine`: the same servers, with connections for each event loop."""

    supports_function_calling = True
    supports_response_schema = True
    supported_params = SUPPORTED

    def __init__(self, engine: ServersEngine) -> None:
        self._engine = engine
        self._twins = [server.engine.twin() for server in engine.pool.servers]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._engine, name)

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """As `ServersEngine.complete`."""
        route = self._engine.pool.route()
        while True:
            with route as server, calling(route.scope):
                if server.on_trial:
                    await asyncio.to_thread(self._engine.check, server, route)
                return await self._twins[server.number].complete(request)

    async def stream(self, request: lm15.Request) -> AsyncGenerator[Any, None]:
        """As `ServersEngine.stream`."""
        route = self._engine.pool.route()
        yield lm15.StreamStartEvent(model=self._engine.model)
        while not route.over:
            with route as server:
                if server.on_trial:
                    await asyncio.to_thread(self._engine.check, server, route)
                async with aclosing(self._twins[server.number].stream(request)) as events:
                    async for event in events:
                        if not isinstance(event, lm15.StreamStartEvent):
                            route.emitted = True
                            yield event

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        for twin in self._twins:
            await twin.aclose()

    def dump_state(self) -> dict[str, Any]:
        """As `ServersEngine.dump_state`."""
        return self._engine.dump_state()

    @classmethod
    def load_state(cls, state: dict[str, Any]) -> Self:
        """The twin of an engine with those settings."""
        return cls(ServersEngine.load_state(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def at_once(lm: Any, each: int, *, samples: int = 1) -> int:
    """How many runs of ``lm`` may be under way, of ``each`` a server; what is asked beyond that has to wait.

    With one server this is that number. The bound of several counts requests, of which a run makes ``samples`` at once.
    """
    engine = getattr(lm, "engine", None)
    if not isinstance(engine, ServersEngine):
        return each
    engine.bound(each * samples)
    return each * len(engine.pool.servers)

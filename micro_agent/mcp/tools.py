"""The tools of other people's servers, for as long as somebody holds them."""

import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, overload

import mcp_types

from micro_agent.errors import ToolDefinitionError
from micro_agent.mcp.adopting import adopted
from micro_agent.mcp.config import Given, servers
from micro_agent.mcp.connection import MOST_TOOLS, Connection, ServerGone
from micro_agent.mcp.deferring import behind_a_search
from micro_agent.mcp.home import Home
from micro_agent.models.announcing import once
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

CONTEXT_LENGTH = 8192
"""Tokens of context where none is named: few, so that tools are rather looked for than fill it."""


class McpTools(Sequence[Tool]):
    """The tools of MCP servers, as they are given to an agent. The servers run until `close`, or the end of a ``with``.

    Without either they run until nobody has the tools any more, or the program ends. A server that cannot be reached,
    or a tool that cannot be taken, is told on standard error, once, and left out.

    Args:
        given: A file with ``mcpServers``, the same as data, one server with its ``name``; or several of these.
        context_length: Tokens of the model's context: tools that take more than a tenth of it are found by a search.
        pause_s: Seconds before a server that has ended is started again, doubled each time that this fails.

    Raises:
        ConfigurationError: What is given cannot be read.
    """

    def __init__(
        self, given: Given | Sequence[Given], *, context_length: int | None = None, pause_s: float = 1.0
    ) -> None:
        named = servers(given)
        self._running = _Running([Connection(server, pause_s=pause_s) for server in named])
        self._tools: Sequence[Tool] = ()
        try:
            found = self._running.tools()
        except BaseException:
            self.close()
            raise
        self.offered = found
        """All tools, also those behind a search, by name."""
        self.left_out = self._running.left_out
        """Why servers could not be reached at the start, by name."""
        self._tools = behind_a_search(found, [server.name for server in named], context_length or CONTEXT_LENGTH)

    @overload
    def __getitem__(self, index: int) -> Tool: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Tool]: ...
    def __getitem__(self, index: int | slice) -> Tool | Sequence[Tool]:
        return self._tools[index]

    def __len__(self) -> int:
        return len(self._tools)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections, and the programs that were started for them."""
        self._running.close()


class _Running:
    """The connections, and the thread that they live in. Each tool holds it; with the last of them it goes."""

    def __init__(self, connections: list[Connection]) -> None:
        self._connections, self._home = connections, Home()
        self.left_out: dict[str, str] = {}
        self.close = weakref.finalize(self, _closed, self._home, connections)

    def tools(self) -> dict[str, Tool]:
        """What the servers list, taken over."""
        found: dict[str, Tool] = {}
        waiting = [self._home.begin(connection.tools()) for connection in self._connections]
        for connection, listed in zip(self._connections, waiting, strict=True):
            server = connection.server
            try:
                theirs = self._home.result(listed)
            except ServerGone as error:
                self.left_out[server.name] = str(error)
                once(f"the MCP server {server.name} is left out: {error}")
                continue
            if len(theirs) == MOST_TOOLS:
                once(f"the MCP server {server.name} offers many tools; the first {MOST_TOOLS} are taken")
            for tool in theirs:
                self._add(found, connection, tool)
        return found

    def _add(self, found: dict[str, Tool], connection: Connection, tool: mcp_types.Tool) -> None:
        def call(name: str, arguments: dict[str, Any]) -> Any:
            if not self.close.alive:
                raise ToolError("MCP_SERVER_GONE", f"the server {connection.server.name} was closed here")
            return self._home.awaited(connection.call(name, arguments))

        try:
            taken = adopted(connection.server, tool, call)
        except ToolDefinitionError as error:
            once(f"a tool of the MCP server {connection.server.name} is left out: {error}"[:500])
            return
        if found.setdefault(taken.name, taken) is not taken:
            once(f"the MCP server {connection.server.name} has two tools {taken.name}; the second is left out")


def _closed(home: Home, connections: list[Connection]) -> None:
    async def all_closed() -> None:
        for connection in connections:
            await connection.close()

    closing = home.begin(all_closed())
    closing.add_done_callback(lambda _: home.stop())
    if home.is_here():  # the last tool was let go of in that thread
        return
    try:
        home.result(closing)
    except BaseException:  # Ctrl-C while a server takes its time
        for connection in connections:
            connection.kill()
        raise
    home.join()

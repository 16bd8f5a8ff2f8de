"""A connection to one server: made anew after a pause when it breaks, given up on where it cannot be made.

All of it happens on the event loop of a `Home`. The SDK speaks either form of the protocol: it asks ``server/discover``
first (2026-07-28 and later, no session), and shakes hands with ``initialize`` where a server does not know that.
"""

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from mcp import Client, MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    Tool,
    ToolListChangedNotification,
)  # fmt: skip
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from micro_agent.mcp.config import Server
from micro_agent.mcp.pipes import Pipes
from micro_agent.models.announcing import once
from micro_agent.text.printable import printable
from micro_agent.tools.error import ToolError

MOST_TOOLS = 1000
"""So many tools of one server are taken."""
_PAGES = 100
_LATE = 2
"""A server that is late so often in a row is started anew."""
_LONGEST_WAIT_S, _LONGEST_PAUSE_S = 3.0, 60.0
_CLOSING_S = 5.0
_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)

for _name in ("mcp", "client"):  # what they log of a server's doings is no text for a person's terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ServerGone(Exception):
    """There is no connection to a server; one line says why."""


@dataclass(slots=True)
class _Link:
    """One connection while it lasts."""

    pipes: Pipes | None
    ready: "asyncio.Future[Client]"
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None
    changed: bool = False
    """Whether the server has said that its tools are others now."""
    now: dict[str, str] = field(default_factory=dict[str, str])
    """Its tools as it lists them now, each with its digest."""

    def open(self) -> bool:
        broken = self.pipes is not None and self.pipes.ended is not None
        return self.task is not None and not self.task.done() and not broken and not self.leave.is_set()


class Connection:
    """One server's connection. ``pause_s``: seconds before it is made anew, doubled each time that this fails."""

    def __init__(self, server: Server, *, pause_s: float = 1.0) -> None:
        self.server = server
        self.offered: dict[str, str] = {}
        """The tools that were taken at first, each with its digest."""
        self._pause_s, self._not_before, self._failed, self._late = pause_s, 0.0, 0, 0
        self._link: _Link | None = None
        self.kill: Callable[[], None] = lambda: None
        """Ends the program behind it at once, from any thread."""
        self._opening = asyncio.Lock()

    async def tools(self) -> list[Tool]:
        """The server's tools, as it lists them at first. Raises `ServerGone`."""
        link = await self._linked()
        try:
            async with asyncio.timeout(self.server.start_timeout_s):
                listed = await _listed(await link.ready)
        except (MCPError, ValidationError, TimeoutError) as error:
            raise ServerGone(f"it does not list its tools: {_line(error)}") from None
        self.offered = link.now = {tool.name: _digest(tool) for tool in listed}
        return listed

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """Call a tool. Raises `ToolError`, whatever the server does."""
        try:
            link = await self._linked()
        except ServerGone as error:
            raise self._gone(str(error)) from None
        try:
            async with asyncio.timeout(self.server.timeout_s):
                client = await self._unchanged(link, name)
                request = CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments))
                # Not `Client.call_tool`: what comes is checked by no schema of the server's.
                result = await client.session.send_request(request, _RESULT)
        except TimeoutError:
            raise await self._was_late() from None
        except MCPError as error:
            raise await self._failure(link, error) from None
        except ValidationError as error:
            raise ToolError("MCP_BAD_RESULT", f"the server {self._name} gave no result: {_line(error)}") from None
        self._late = 0
        if isinstance(result, InputRequiredResult):
            told = f"the server {self._name} asks for a person's input, which cannot be given here"
            raise ToolError("MCP_INPUT_REQUIRED", told)
        return result

    async def close(self) -> None:
        """End the connection, and the program behind it."""
        link = self._link
        if link is None or link.task is None:
            return
        link.leave.set()
        if not link.ready.done():
            link.task.cancel()
        await asyncio.wait({link.task}, timeout=_CLOSING_S)
        link.task.cancel()
        await asyncio.wait({link.task}, timeout=_CLOSING_S)
        if link.pipes is not None:
            await link.pipes.gone()
        if self._link is link:
            self._link = None

    @property
    def _name(self) -> str:
        return self.server.name

    async def _linked(self) -> _Link:
        """The connection, made if there is none. Raises `ServerGone`."""
        async with self._opening:
            if self._link is not None and self._link.open():
                return self._link
            now = asyncio.get_running_loop().time()
            await self.close()
            if (wait := self._not_before - now) > _LONGEST_WAIT_S:
                raise ServerGone(f"it is not started again for the next {wait:.0f} s")
            await asyncio.sleep(wait)
            try:
                link = await self._made()
            except ServerGone:
                self._failed += 1
                raise
            finally:
                pause = min(self._pause_s * 2**self._failed, _LONGEST_PAUSE_S)
                self._not_before = asyncio.get_running_loop().time() + pause
            self._failed = 0
            return link

    async def _made(self) -> _Link:
        pipes = Pipes(self.server) if self.server.command else None
        if pipes is not None:
            self.kill = lambda: pipes.kill()
        self._link = link = _Link(pipes, asyncio.get_running_loop().create_future())
        link.task = asyncio.create_task(self._kept(link))
        try:
            async with asyncio.timeout(self.server.start_timeout_s):
                client = await asyncio.shield(link.ready)
                listed = await _listed(client) if self.offered else []
                link.now = {tool.name: _digest(tool) for tool in listed}
        except (MCPError, ValidationError, TimeoutError, ServerGone) as error:
            said, why = (pipes.said(), pipes.ended) if pipes else ("", None)
            await self.close()
            if isinstance(error, TimeoutError):
                why = f"it does not answer within {self.server.start_timeout_s:g} s"
            why = why or _line(error)
            raise ServerGone(f"{why}; it said: {said}" if said else why) from None
        return link

    async def _kept(self, link: _Link) -> None:
        """Hold the connection until it is left. The SDK's scopes are entered and left in one task."""
        try:
            async with Client(
                self._streams(link), mode="auto", cache=None, message_handler=lambda message: _heard(link, message),
                client_info=Implementation(name="micro-agent", version="1"),
            ) as client:  # fmt: skip
                listening = asyncio.create_task(_listening(client, link))
                link.ready.set_result(client)
                await link.leave.wait()
                listening.cancel()
        except Exception as error:  # noqa: BLE001 a server can break the SDK in any way; who waits is told
            if not link.ready.done():
                link.ready.set_exception(ServerGone(_line(error)))
        finally:
            link.ready.cancel()

    def _streams(self, link: _Link) -> Any:
        if link.pipes is not None:
            return link.pipes.open()
        from micro_agent.mcp.http import http_streams

        return http_streams(self.server)

    async def _unchanged(self, link: _Link, name: str) -> Client:
        """The client, if a tool is still what it was when it was offered."""
        client = await link.ready
        if link.changed:
            link.changed = False
            link.now = {tool.name: _digest(tool) for tool in await _listed(client)}
        if link.now.get(name) != self.offered[name]:
            once(f"the MCP server {self._name} has changed its tools; what has changed is not called")
            told = f"the server has changed or taken back {name} since it was offered; use another tool"
            raise ToolError("MCP_TOOL_CHANGED", told)
        return client

    async def _was_late(self) -> ToolError:
        self._late += 1
        if self._late >= _LATE:
            once(f"the MCP server {self._name} does not answer; it is started again when it is next called")
            self._late = 0
            await self.close()
        told = f"the server {self._name} did not answer within {self.server.timeout_s:g} s; ask for less at once"
        return ToolError("MCP_TIMEOUT", told)

    async def _failure(self, link: _Link, error: MCPError) -> ToolError:
        if error.code == CONNECTION_CLOSED or not link.open():
            why = (link.pipes and link.pipes.ended) or "the connection broke"
            await self.close()
            return self._gone(why)
        if error.code == INVALID_REQUEST and link.pipes is None:
            await self.close()  # a session that the server has forgotten, mostly: the next call begins another
        return ToolError("MCP_ERROR", f"the server {self._name} refused the call: {_line(error)}")

    def _gone(self, why: str) -> ToolError:
        once(f"the MCP server {self._name} is gone: {why}")
        told = f"the server {self._name} is gone ({why}); the call may have been made. Go on without it, or try later"
        return ToolError("MCP_SERVER_GONE", told)


async def _heard(link: _Link, message: object) -> None:
    if isinstance(message, ToolListChangedNotification):
        link.changed = True


async def _listening(client: Client, link: _Link) -> None:
    """Hear of changed tools in the form of the protocol where that has to be asked for."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or tools is None or not tools.list_changed:
        return
    with suppress(MCPError, RuntimeError, TimeoutError):  # it is not told then; each new connection looks anew
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                link.changed = True


async def _listed(client: Client) -> list[Tool]:
    """All tools that a server lists, up to a bound."""
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None or len(found) > MOST_TOOLS:
            break
    return found[:MOST_TOOLS]


def _digest(tool: Tool) -> str:
    told = tool.model_dump(mode="json", include={"name", "description", "input_schema", "annotations"})
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _line(error: BaseException) -> str:
    """The cause of an error in one short line. What a server says in it is shown as text."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return printable(" ".join(str(error).split()))[:300] or type(error).__name__

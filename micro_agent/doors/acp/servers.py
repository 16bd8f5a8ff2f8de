"""The MCP servers that an editor sends with a session, connected to in the background."""

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from micro_agent.extras import how_to_install, is_installed
from micro_agent.mcp import Server

if TYPE_CHECKING:
    from acp.schema import AcpMcpServer

    from micro_agent.mcp.tools import McpTools

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]+")
_MOST_NAME = 24


@dataclass(frozen=True, slots=True)
class Sent:
    """What an editor sent. No server of it is trusted: each call is put to the person.

    Attributes:
        servers: Those that can be tried.
        left_out: Why others cannot, by name.
    """

    servers: Sequence[Server]
    left_out: dict[str, str]


def sent(told: "Iterable[McpServerStdio | HttpMcpServer | SseMcpServer | AcpMcpServer]", cwd: Path) -> Sent:
    """The servers that an editor names. Their programs start in the folder of the session."""
    servers: list[Server] = []
    left_out: dict[str, str] = {}
    for one in told:
        if isinstance(one, McpServerStdio):
            env = {variable.name: variable.value for variable in one.env}
            servers.append(Server(name=one.name, command=(one.command, *one.args), env=env, cwd=str(cwd)))
        elif isinstance(one, HttpMcpServer):
            headers = {header.name: header.value for header in one.headers}
            servers.append(Server(name=one.name, url=one.url, headers=headers))
        else:
            left_out[one.name] = f"it is of type {one.type}, which is not spoken here; stdio and http are"
    return Sent(servers, left_out)


def named_apart(servers: Iterable[Server], taken: Iterable[str]) -> list[Server]:
    """The servers under names that tools' names can begin with, all different and none of them taken."""
    found: list[Server] = []
    used = set(taken)
    for server in servers:
        wanted = name = _NOT_IN_NAMES.sub("_", server.name)[:_MOST_NAME].strip("_") or "server"
        number = 1
        while name in used:
            number += 1
            name = f"{wanted[: _MOST_NAME - len(str(number)) - 1]}-{number}"
        used.add(name)
        found.append(replace(server, name=name))
    return found


class Servers:
    """Those of one session: connected to in the background from the start. Belongs to one event loop.

    Args:
        sent: What the editor sent.
        connect: Connects to servers, in a thread.
    """

    def __init__(self, sent: Sent, connect: "Callable[[Sequence[Server]], McpTools]") -> None:
        self._left_out, self._told = dict(sent.left_out), False
        self._ready: asyncio.Future[McpTools] | None = None
        if sent.servers and is_installed("mcp"):
            self._ready = asyncio.wrap_future(_in_a_thread(partial(connect, sent.servers)))
            self._ready.add_done_callback(lambda ready: ready.exception())  # nobody may ever ask for it
        elif sent.servers:
            why = f"mcp is not installed: {how_to_install('mcp')}"
            self._left_out |= {server.name: why for server in sent.servers}

    async def waited_for(self, unless: asyncio.Event) -> bool:
        """Wait until they are connected to; returns ``False`` where ``unless`` is set before that."""
        if self._ready is None:
            return True
        over = asyncio.ensure_future(unless.wait())
        await asyncio.wait({self._ready, over}, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        return self._ready.done()

    def tools(self) -> "McpTools | None":
        """Their tools and those of the user's own servers, after the wait; ``None``: the editor's servers are not used.

        Raises:
            ConfigurationError: The user's own servers cannot be read.
        """
        return None if self._ready is None else self._ready.result()

    def left_out(self) -> dict[str, str]:
        """Why servers are not used, by name, after the wait."""
        tools = self.tools()
        return self._left_out | (tools.left_out if tools is not None else {})

    def news(self) -> str:
        """What a person is told of that, once."""
        told, self._told = self._told, True
        lines = [f"The MCP server {name} is left out: {why}\n\n" for name, why in self.left_out().items()]
        return "" if told else "".join(lines)


def _in_a_thread(work: "Callable[[], McpTools]") -> "Future[McpTools]":
    """Do some work in a thread that the end of the process does not wait for, as it would for one of a pool."""
    done: Future[McpTools] = Future()
    done.set_running_or_notify_cancel()

    def do() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 who waits for it is told
            done.set_exception(error)

    Thread(target=do, name="micro-agent-acp-mcp", daemon=True).start()
    return done

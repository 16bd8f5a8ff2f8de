"""A server as a program of ours: JSON-RPC, a message a line, over its standard streams, with a bound to everything.

The SDK's own transport takes lines of any length and passes on the server's log; what a server floods must be thrown
away here, and what it logs is another's text that has no place on a person's terminal.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from micro_agent.mcp.config import Server
from micro_agent.text.printable import printable

MOST_BYTES = 8 * 1024 * 1024
"""So many bytes a server may send for one request of ours, all that it says meanwhile included."""
_INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_GRACE_S, _LOOK_S = 1.0, 0.01
_CHUNK = 65_536
_LOG_CHUNKS, _LOG_BYTES = 2, 1024


class Pipes:
    """The streams of one program, and what became of it.

    Attributes:
        ended: Why there is nothing to read any more, in words; ``None`` while there is.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._left = MOST_BYTES
        self._log: deque[bytes] = deque(maxlen=_LOG_CHUNKS)
        self.ended: str | None = None
        self._process: Any = None
        self.kill: Callable[[], None] = lambda: None
        """Ends the program and all that it has started, if they are in its session still."""

    def said(self) -> str:
        """The end of what it logged, in one line."""
        text = b"".join(self._log)[-_LOG_BYTES:].decode("utf-8", "replace")
        return printable(" ".join(text.split()))[-300:]

    async def gone(self) -> None:
        """Wait until the program is gone, which a cancelled scope cannot: the loop may be closed after that."""
        if (process := self._process) is not None:
            process._transport.close()  # nobody reads the pipes any more, which others may hold open
            await _waited(process)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[tuple[Any, Any]]:
        """Start the program; gives the streams that the SDK takes. What it leaves running is killed at the end."""
        process = await asyncio.create_subprocess_exec(
            *self._server.command, env=environment(self._server), cwd=self._server.cwd, start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._process, self.kill = process, partial(_kill, process.pid)
        try:
            to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, from_us = anyio.create_memory_object_stream[SessionMessage](0)
            tasks = [
                asyncio.create_task(self._reads(process.stdout, to_us)),
                asyncio.create_task(self._writes(process.stdin, from_us, to_us)),
                asyncio.create_task(self._logs(process.stderr)),
            ]
            try:
                yield read, write
            finally:
                for stream in (to_us, read, write, from_us):
                    stream.close()
                await self._ended(process)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self.kill()  # where this was cancelled on the way

    async def _reads(self, stdout: Any, to_us: Any) -> None:
        """Pass on what it says, line by line, until it ends or says more than it may."""
        waiting: list[bytes] = []
        with to_us, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            while chunk := await stdout.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    self.ended = f"it said more than {MOST_BYTES} bytes at once"
                    return
                first, *rest = chunk.split(b"\n")
                waiting.append(first)
                for piece in rest:
                    line = b"".join(waiting).strip()
                    waiting = [piece]
                    if line:
                        try:
                            message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                        except ValueError:  # a program that logs to its standard output, mostly
                            continue
                        await to_us.send(message)
            self.ended = "it has ended"

    async def _writes(self, stdin: Any, from_us: Any, to_us: Any) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            async for message in from_us:
                self._left = MOST_BYTES
                said = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(said.encode() + b"\n")
                await stdin.drain()
            return
        self.ended = self.ended or "it does not listen any more"
        to_us.close()

    async def _ended(self, process: Any) -> None:
        """Let a program end by itself, for a second: its standard input is closed, as MCP has it. Then it is killed."""
        with suppress(OSError):
            process.stdin.close()
        if self.ended is None:
            await _waited(process)
        self.kill()

    async def _logs(self, stderr: Any) -> None:
        while chunk := await stderr.read(_CHUNK):
            self._log.append(chunk[-_LOG_BYTES:])


def environment(server: Server) -> dict[str, str]:
    """The environment of a server's program: what every program needs, and what the person names; no key of ours."""
    return {**{name: os.environ[name] for name in _INHERITED if name in os.environ}, **server.env}


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _waited(process: Any) -> None:
    """Wait for its end, a while. Not for that of its pipes, as `wait` does: what it has started may hold them open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_S):
            while process.returncode is None:
                await asyncio.sleep(_LOOK_S)

"""The messages of the protocol on two pipes: one line of JSON each, and nothing else.

The SDK has the like; this one answers what is no message, bounds what it reads, and ends when nobody reads any more.
"""

import asyncio
import json
from typing import Any, cast

from acp import RequestError

LONGEST = 64 * 1024 * 1024
"""Bytes of one message: images come as base64."""


class Lines:
    """A transport of the SDK's.

    Args:
        reader: What the editor says; its limit is at most `LONGEST`.
        writer: What it reads.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._turn = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises `ConnectionError` when nobody reads."""
        async with self._turn:
            said = json.dumps(message, separators=(",", ":"), default=str, ensure_ascii=False)
            self._writer.write(said.encode("utf-8", "replace") + b"\n")  # others refuse half a character as an escape
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; ``None`` at the end."""
        while line := await self._line():
            if not line.strip():
                continue
            try:
                message = cast("object", json.loads(line))
            except (ValueError, RecursionError):
                await self._refuse(RequestError(-32700, "that is no JSON: send one message a line"))
                continue
            if isinstance(message, dict):
                return cast("dict[str, Any]", message)
            await self._refuse(RequestError(-32600, "a message is a JSON object"))
        return None

    async def close(self) -> None:
        """Nothing is said any more."""
        self._writer.close()

    async def _line(self) -> bytes:
        """The next line; one that is too long is left out, and the editor is told."""
        too_long = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                return b"" if too_long else error.partial
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
                too_long = True
                continue
            if not too_long:
                return line
            too_long = False
            await self._refuse(RequestError(-32600, f"a message has more than {LONGEST // 1024 // 1024} MiB"))

    async def _refuse(self, error: RequestError) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": error.to_error_obj()})

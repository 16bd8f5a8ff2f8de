"""Talking with an editor through standard input and output, until it goes away or a signal says so."""

import asyncio
import os
import signal
import sys
from typing import Any, cast

from acp.agent.connection import AgentSideConnection

from micro_agent.doors.acp.choices import Approvals
from micro_agent.doors.acp.face import Face
from micro_agent.doors.acp.keeping import Keeping
from micro_agent.doors.acp.lines import LONGEST, Lines
from micro_agent.doors.acp.places import Making
from micro_agent.errors import ConfigurationError


def serve(making: Making, keeping: Keeping, *, approvals: Approvals) -> int:
    """Serve one editor; returns the number of the signal that ended it, 0 where the editor went away.

    From now on what the process prints goes to standard error, and nothing reads its standard input: what a tool prints
    is no message, and what it reads is none either.

    Raises:
        ConfigurationError: Standard input or output is neither a pipe nor a socket nor a terminal.
    """
    reads, writes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    return asyncio.run(_serve(reads, writes, Face(making, keeping, approvals=approvals)))


async def _serve(reads: int, writes: int, face: Face) -> int:
    loop, got = asyncio.get_running_loop(), list[int]()
    ended = asyncio.Event()

    def came(number: int) -> None:
        got.append(number)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, came, number)
    lines = Lines(*await _streams(reads, writes))
    connection = AgentSideConnection(cast("Any", face), cast("Any", lines), listening=False)
    listening, told = asyncio.ensure_future(connection.listen()), asyncio.ensure_future(ended.wait())
    await asyncio.wait({listening, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()
    listening.cancel()
    await face.suspend()
    await connection.close()
    return got[0] if got else 0


async def _streams(reads: int, writes: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST)
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reads, "rb", 0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writes, "wb", 0)
        )  # fmt: skip
    except ValueError as error:
        raise ConfigurationError("acp talks with an editor through pipes: have the editor start it") from error
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)

"""What the proxy costs: processor time of a request, the wait for the first byte, many streams at once."""

import asyncio
import http.client
import json
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit

from benchmarks.proxy_defects.identical import PATHS, asked
from benchmarks.proxy_defects.proxying import Process

EVENTS = 40
"""Of each paced stream."""
WHOLE = "weak:dev-good-call:raw:cpu"


def request(model: str, *, streamed: bool) -> bytes:
    """The body of a request of the task."""
    return json.dumps(asked("chat", model, streamed=streamed, tools=True)).encode()


def cpu_ms(process: Process, count: int, *, streamed: bool, unread: bool = False) -> float:
    """Processor milliseconds of the process for one request, of ``count`` one after the other.

    ``unread``: by a path that the proxy passes on without a look at what comes.
    """
    body, at = request(WHOLE, streamed=streamed), urlsplit(process.url)
    connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=30)
    begun = process.cpu_s()
    for _ in range(count):
        connection.request("POST", PATHS["chat"] + "/" * unread, body, {"Content-Type": "application/json"})
        assert connection.getresponse().read()
    connection.close()
    return (process.cpu_s() - begun) / count * 1000


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream: seconds to its first byte and to its end, and whether all came."""

    first_s: float
    all_s: float
    whole: bool


async def begun(url: str, model: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Ask for a paced stream and read its head."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    body = request(model, streamed=True)
    head = f"POST {PATHS['chat']} HTTP/1.1\r\nHost: {at.netloc}\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    await writer.drain()
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def stream(url: str, model: str) -> Stream:
    """Ask for a paced stream and read it to its end."""
    asked_at = perf_counter()
    reader, writer = await begun(url, model)
    told = await reader.read(1)
    first = perf_counter() - asked_at
    told += await reader.read()
    writer.close()
    return Stream(first, perf_counter() - asked_at, b"data: [DONE]" in told)


def first_byte_ms(urls: list[str], count: int) -> list[float]:
    """Milliseconds to the first byte of a stream, the median for each server; they take turns."""
    found: list[list[float]] = [[] for _ in urls]
    for turn in range(count):
        for url, taken in zip(urls, found, strict=True):
            taken.append(asyncio.run(stream(url, f"pace:3:20:{turn}")).first_s * 1000)
    return [median(taken) for taken in found]


def crowd(url: str, count: int, *, ms: int = 25) -> list[Stream]:
    """So many paced streams at once."""

    async def all_of_them() -> list[Stream]:
        return await asyncio.gather(*(stream(url, f"pace:{EVENTS}:{ms}:{k}") for k in range(count)))

    return asyncio.run(all_of_them())

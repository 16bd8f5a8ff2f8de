"""A server behind a URL, by streamable HTTP, with a bound to what one response may bring."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from micro_agent.mcp.config import Server
from micro_agent.mcp.pipes import MOST_BYTES
from micro_agent.models.endpoint import is_loopback

_CONNECT_S = 10.0


@asynccontextmanager
async def http_streams(server: Server) -> AsyncGenerator[tuple[Any, Any]]:
    """The streams that the SDK takes. Redirects lead nowhere but to the same origin: headers may hold keys."""
    client = httpx2.AsyncClient(
        headers={**server.headers, "accept-encoding": "identity"},
        timeout=httpx2.Timeout(_CONNECT_S, read=None),  # calls have a time of their own; changes are heard of for long
        trust_env=not is_loopback(server.url),  # no proxy can reach this machine
        event_hooks={"response": [_bound]},
    )
    async with (
        client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MOST_BYTES) as streams,
    ):
        yield streams


class _Bounded(httpx2.AsyncByteStream):
    """The body of a response, which fails when it is longer than it may be."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError(f"it said more than {MOST_BYTES} bytes at once")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    """Let a response bring only so much. One that was packed all the same is not unpacked: it could be a bomb."""
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(response.stream)

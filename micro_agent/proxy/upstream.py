"""The model server behind the proxy: requests go to it over one pool of connections, and its bytes come back raw."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Protocol, cast

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from micro_agent.context.tokens import estimate
from micro_agent.errors import ConfigurationError
from micro_agent.models.addresses import http_url
from micro_agent.proxy.events import MOST
from micro_agent.proxy.wires import Asked
from micro_agent.text.encoding import as_json

_OVERESTIMATED = 1.8
_DATA = frozenset({"data", "encrypted_content", "file_data", "image_url", "images", "input_audio", "signature", "url"})
"""Fields of messages that hold what is no text, in base64 or as an address."""
CONNECT_S = 10.0
"""Seconds to connect in. Nothing else has a limit: a model takes as long as it takes."""
_IDLE_S = 4.0
"""Most servers close a connection that is idle for five seconds: one that is about to be closed is not used."""
_LONGEST_LINE = 64 * 1024
"""Bytes of the first line of a response, and of each of its headers."""
_LOOK_S = 0.5
"""Seconds between two looks at whether what comes is HTTP still."""
_LARGE = 512 * 1024
"""Bytes of a body that are sent in parts, so that other requests have their turn."""
_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp adds of itself: what the client did not say is not said."""

Headers = Sequence[tuple[bytes, bytes]]


class Unreachable(Exception):
    """There is no answer. The message says why, and what to do about it."""


class BrokenOff(Exception):
    """The answer ended before its end. The message says why."""


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A request on its way.

    ``target`` is path and query as the client sent them; ``headers`` are those that are passed on; ``body`` and
    ``asked`` are what is in ``raw``, ``None`` where nobody could read it or it is none of a wire's.
    """

    method: str
    path: str
    target: str
    headers: Headers
    raw: bytes = b""
    body: dict[str, Any] | None = None
    asked: Asked | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response whose head is there.

    ``headers`` are as they came; ``pieces`` are the bytes of the body as they come, once, and raise `BrokenOff`.
    ``close`` ends the request, if it has not ended.
    """

    status: int
    headers: Headers
    pieces: AsyncIterator[bytes]
    close: Callable[[], None]

    def header(self, name: bytes) -> bytes:
        """The first header of this name, which is in lower case; empty where there is none."""
        return next((value for known, value in self.headers if known.lower() == name), b"")

    async def whole(self) -> bytes:
        """The body. Raises `BrokenOff`, also where it has more than `MOST` bytes."""
        whole = bytearray()
        async for piece in self.pieces:
            whole += piece
            if len(whole) > MOST:
                raise BrokenOff(f"it said more than {MOST} bytes at once")
        return bytes(whole)


class Upstream(Protocol):
    """What the proxy forwards to."""

    @property
    def url(self) -> str:
        """Where it is, for records and errors."""
        ...

    @property
    def provider(self) -> str:
        """The name of the provider in records."""
        ...

    def overlong(self, request: Forwarded) -> str | None:
        """Why a request cannot fit into the context of the model, where that is known."""
        ...

    async def send(self, request: Forwarded) -> Answer:
        """Send a request and return the response when its head is there, its body unread: the caller closes it.

        Raises:
            Unreachable: It cannot be reached, or says nothing that is HTTP.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


class HttpUpstream:
    """A server that speaks the API that is asked for.

    Args:
        url: Its base URL, with or without ``/v1`` at the end.
        key: Sent as ``Authorization: Bearer`` where the client sends none.
        context_length: Tokens that prompt and reply may have together; ``None`` leaves it to the server to say.

    Raises:
        ConfigurationError: The URL cannot be one.
    """

    provider = "openai"

    def __init__(self, url: str, *, key: str | None = None, context_length: int | None = None) -> None:
        try:
            self.url = http_url(url)
        except ValueError as error:
            told = f"the upstream is {error}; it is ollama, or such as http://127.0.0.1:8080"
            raise ConfigurationError(told) from None
        self._base = self.url.removesuffix("/v1").rstrip("/")
        self._key, self._context_length = key, context_length
        self._session: aiohttp.ClientSession | None = None

    def overlong(self, request: Forwarded) -> str | None:
        """See `Upstream`."""
        return None if self._context_length is None else overlong(request, self._context_length)

    async def send(self, request: Forwarded) -> Answer:
        """See `Upstream`."""
        return await self.post(request.method, request.target, request.headers, request.raw)

    async def post(self, method: str, target: str, headers: Headers, body: bytes) -> Answer:
        """Send these bytes; see `Upstream.send`."""
        sent = CIMultiDict((name.decode("latin-1"), _text(value)) for name, value in headers)
        if self._key:
            sent.setdefault("authorization", f"Bearer {self._key}")
        if self._session is None:  # it belongs to the loop, which does not run yet where an upstream is made
            self._session = _session()
        url = URL(self._base + target, encoded=True)
        while True:
            used: list[bool] = []
            data = BytesIO(body) if len(body) > _LARGE else body or None
            try:
                response = await self._session.request(
                    method, url, headers=sent, data=data, allow_redirects=False, trace_request_ctx=used
                )
            except (aiohttp.ClientError, OSError) as error:
                # A server may close a connection that was idle just when it is used again: a fresh one is asked then.
                lost = isinstance(error, aiohttp.ServerDisconnectedError | OSError)
                if used and lost and not isinstance(error, aiohttp.ClientConnectorError):
                    continue
                raise Unreachable(_why(self.url, error)) from error
            if not 200 <= response.status < 600:
                response.close()
                raise Unreachable(f"{self.url} gave no answer (HTTP status {response.status}): look at its log")
            _watch(response)
            return Answer(response.status, response.raw_headers, _pieces(response), response.close)

    async def aclose(self) -> None:
        """See `Upstream`."""
        if self._session is not None:
            await self._session.close()


def _session() -> aiohttp.ClientSession:
    """Connections to a server, which add nothing to what is sent and take nothing from what comes."""
    reused = aiohttp.TraceConfig()
    reused.on_connection_reuseconn.append(_note)
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_S), cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S), auto_decompress=False, trust_env=False,
        skip_auto_headers=_ADDED, trace_configs=[reused], max_line_size=_LONGEST_LINE, max_field_size=_LONGEST_LINE,
    )  # fmt: skip


async def _note(_: object, context: Any, __: object) -> None:
    """Tell whoever sends a request that its connection was used before."""
    context.trace_request_ctx.append(True)


def _watch(response: aiohttp.ClientResponse) -> None:
    """End a body that does not go on as HTTP. aiohttp 3.14 closes the connection then, and tells nobody who reads."""
    connection, content = response.connection, response.content
    if connection is None or content.is_eof() or content.exception() is not None:
        return
    if (protocol := connection.protocol) is not None and protocol.exception() is not None:
        content.set_exception(aiohttp.ClientPayloadError("what it says is not HTTP"))
        return
    asyncio.get_running_loop().call_later(_LOOK_S, _watch, response)


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for data in response.content.iter_any():
            yield data
    except (aiohttp.ClientError, OSError) as error:
        raise BrokenOff(_told(error)) from error


def _text(value: bytes) -> str:
    """The value of a header, as aiohttp wants it, which sends UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _why(url: str, error: Exception) -> str:
    """Why there is no answer, and what to do about it."""
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return f"{url} did not accept a connection within {CONNECT_S:g} s: start the server, or pass another --upstream"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {url} ({error.os_error}): start the server, or pass another --upstream"
    return f"{url} gave no answer ({_told(error)}): look at the log of the server"


def _told(error: Exception) -> str:
    """What went wrong, in words of ours: in those of aiohttp stands the URL, with a key in its query, or what came."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the body does not go on as HTTP has it"
    if isinstance(error, aiohttp.ClientResponseError):
        return "what it says is not HTTP"
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def overlong(request: Forwarded, context_length: int) -> str | None:
    """Why a request cannot fit into a context of so many tokens; ``None`` where it may.

    The size is an estimate that is up to 1.7 times too long for ordinary text, so what is refused is longer than that.
    """
    if request.asked is None:
        return None
    tokens = int(estimate(as_json(_without_data(request.asked.messages))) / _OVERESTIMATED)
    if tokens <= context_length:
        return None
    told = f"the prompt has at least {tokens} tokens, and the context of the model {context_length}"
    return f"{told}: shorten the conversation, or give the model a longer context"


def _without_data(value: Any) -> Any:
    """What of a conversation is text: a picture takes tokens by its size, not by the letters that carry it."""
    if isinstance(value, Mapping):
        known = cast("Mapping[str, Any]", value)
        return {name: _without_data(one) for name, one in known.items() if name not in _DATA}
    return [_without_data(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value

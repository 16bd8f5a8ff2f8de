"""Who may talk to the server: checks that run before a request reaches any route.

A program of this machine and a web page in a browser on it reach the same loopback address. `Perimeter` keeps out what
a page of another site makes a browser send: DNS rebinding shows in ``Host``, a cross-site request in ``Origin`` and in
``Sec-Fetch-Site`` (https://www.w3.org/TR/fetch-metadata/). `Entry` asks for the token and for JSON of a bounded size;
a form of another site can post neither.
"""

import re
from collections.abc import Iterator
from hmac import compare_digest

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from micro_agent.server.errors import SAFE, problem
from micro_agent.server.settings import HOST, LOOPBACK_ORIGIN, ServerSettings

OPEN_PATHS = frozenset({"/health", "/healthz"})
"""What answers without a token."""
PAGE, PAGE_FILES = "/", "/page/"
"""The page and its files do too: they hold nothing of a run, and the page asks for the token."""

_JSON = re.compile(rb'application/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?', re.IGNORECASE)
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERY_ADDRESS = ("0.0.0.0", "::")
_SAFE = [(name.lower().encode(), value.encode()) for name, value in SAFE.items()]


class Perimeter:
    """Refuses requests for other hosts and from pages of other origins; sets the headers that every response has."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._hosts = frozenset({*_LOOPBACK, *_own_name(settings.host), *settings.allowed_hosts})
        self._origins = frozenset(settings.allowed_origins)
        self._loopback = settings.allow_loopback_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _safe(scope["path"], message)}
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> Response | None:
        hosts = list(_values(scope, b"host"))
        if len(hosts) != 1:
            return problem("bad_request", "a request has exactly one Host header")
        if any(_values(scope, b"content-length")) and any(_values(scope, b"transfer-encoding")):
            # Another program on the way may go by the other one, and take a part of the body for the next request.
            told = "a request has Content-Length or Transfer-Encoding, not both"
            return problem("bad_request", told, headers={"Connection": "close"})
        host = hosts[0].lower()
        if not self._is_ours(host):
            return problem("bad_host")
        return None if self._is_same_site(scope, host) else problem("cross_site")

    def _is_ours(self, host: str) -> bool:
        match = HOST.fullmatch(host)
        return match is not None and (host in self._hosts or match["name"] in self._hosts)

    def _is_same_site(self, scope: Scope, host: str) -> bool:
        origins = list(_values(scope, b"origin"))
        if len(origins) == 1 and self._is_allowed(origins[0].lower()):
            return True
        if any(origin.lower() != f"{scope['scheme']}://{host}" for origin in origins):
            return False
        return all(site in ("same-origin", "none") for site in _values(scope, b"sec-fetch-site"))

    def _is_allowed(self, origin: str) -> bool:
        return origin in self._origins or (self._loopback and LOOPBACK_ORIGIN.fullmatch(origin) is not None)


class Entry:
    """Asks for the token, and for bodies that are JSON and no larger than is allowed."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._token = settings.api_token.get_secret_value().encode() if settings.api_token else None
        self._max_body = settings.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif not self._is_authorized(scope):
            await problem("unauthorized", headers={"WWW-Authenticate": "Bearer"})(scope, receive, send)
        elif not _has_body(scope):
            await self._app(scope, receive, send)
        else:
            await (self._refusal(scope) or self._app)(scope, self._bounded(receive), send)

    def _is_authorized(self, scope: Scope) -> bool:
        if not self._token or scope["path"] in (*OPEN_PATHS, PAGE) or scope["path"].startswith(PAGE_FILES):
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(b" ")
        return scheme.lower() == b"bearer" and compare_digest(token.strip(b" "), self._token)

    def _refusal(self, scope: Scope) -> Response | None:
        types = [value for name, value in scope["headers"] if name == b"content-type"]
        if len(types) != 1 or not _JSON.fullmatch(types[0]) or any(_values(scope, b"content-encoding")):
            return problem("unsupported_media_type")
        if any(int(length) > self._max_body for length in _values(scope, b"content-length")):
            return problem("too_large")
        return None

    def _bounded(self, receive: Receive) -> Receive:
        left = self._max_body

        async def receive_within_bounds() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413)
            return message

        return receive_within_bounds


def _safe(path: str, start: Message) -> list[tuple[bytes, bytes]]:
    """The headers of a response with those that every one has. Files of the page alone may be kept by a browser."""
    if path.startswith(PAGE_FILES) and start["status"] == 200:
        return [*start["headers"], *(header for header in _SAFE if header[0] != b"cache-control")]
    return [*(header for header in start["headers"] if header[0] != b"cache-control"), *_SAFE]


def _own_name(host: str) -> tuple[str, ...]:
    """The name by which clients call a server that listens on ``host``; none where that is every address."""
    if host in _EVERY_ADDRESS:
        return ()
    return (f"[{host.lower()}]" if ":" in host else host.lower(),)


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1") for header, value in scope["headers"] if header == name)


def _has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )

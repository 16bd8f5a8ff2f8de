"""The application of the proxy: its routes behind the same checks as those of `micro-agent serve`."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from micro_agent import __version__
from micro_agent.proxy.engine import Proxy
from micro_agent.proxy.exchange import RUN, Exchange, relay
from micro_agent.proxy.mending import REPAIRS
from micro_agent.proxy.metrics import CONTENT_TYPE
from micro_agent.proxy.sending import Sender, passed_on
from micro_agent.proxy.upstream import Forwarded, Unreachable
from micro_agent.proxy.wires import Wire
from micro_agent.proxy.wires.chat import ChatWire
from micro_agent.proxy.wires.messages import MessagesWire
from micro_agent.proxy.wires.responses import ResponsesWire
from micro_agent.server.errors import answer_errors
from micro_agent.server.security import Entry, Perimeter
from micro_agent.server.settings import LOOPBACK_ORIGIN, ServerSettings
from micro_agent.server.sse import unless_gone

WIRES: tuple[Wire, ...] = (ChatWire(), ResponsesWire(), MessagesWire())
"""The APIs whose replies are read. All else below ``/v1`` is passed on unread."""


def create_app(proxy: Proxy, settings: ServerSettings, wires: Sequence[Wire] = WIRES) -> FastAPI:
    """The app, for any ASGI server with one worker. It does not close the proxy."""
    cors = Middleware(
        CORSMiddleware, allow_origins=settings.allowed_origins, allow_methods=["GET", "POST"], allow_headers=["*"],
        allow_origin_regex=LOOPBACK_ORIGIN.pattern if settings.allow_loopback_origins else None,
        expose_headers=[REPAIRS, RUN.decode()],
    )  # fmt: skip
    between = [cors] if settings.allowed_origins or settings.allow_loopback_origins else []
    app = FastAPI(
        title="micro-agent proxy", version=__version__, docs_url=None, redoc_url=None, openapi_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Perimeter, settings=settings), *between, Middleware(Entry, settings=settings)],
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )  # fmt: skip

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(proxy.metrics.text(), media_type=CONTENT_TYPE)

    async def alive(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    own_token = settings.api_token is not None
    for wire in wires:
        app.router.routes.append(Route(wire.path, _Door(proxy, wire, own_token=own_token), methods=["POST"]))
    app.router.routes += [
        Route("/v1/{rest:path}", _Door(proxy, None, own_token=own_token)),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/healthz", alive, methods=["GET"]),
    ]
    answer_errors(app)
    return app


class _Door:
    """An ASGI app that answers the requests of one wire, or passes on what is of none."""

    def __init__(self, proxy: Proxy, wire: Wire | None, *, own_token: bool) -> None:
        self._proxy, self._wire = proxy, wire
        # The token is ours then: it says nothing to the upstream, and is none of its business.
        self._without = frozenset({b"authorization"}) if own_token else frozenset[bytes]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw = await _body(receive)
        if raw is None:
            return
        request, sender, metrics = self._request(scope, raw), Sender(send), self._proxy.metrics
        if ".." in unquote(request.target.partition("?")[0]).replace("\\", "/").split("/"):
            await sender.refuse(404, {"error": {"code": "not_found", "message": "There is nothing at this path."}})
            return
        metrics.under_way += 1
        try:
            if self._wire is None:
                done = await unless_gone(self._relayed(request, sender), receive)
            else:
                exchange = Exchange(self._proxy, self._wire, request, sender)
                done = await unless_gone(_answered(exchange), receive)
                if not done:
                    exchange.left()
        finally:
            sender.stop()
            metrics.under_way -= 1
            metrics.answered(self._wire.path if self._wire else "other", sender.status or 499)

    def _request(self, scope: Scope, raw: bytes) -> Forwarded:
        query: bytes = scope["query_string"]
        path: bytes = scope.get("raw_path") or scope["path"].encode()
        target = (path + (b"?" + query if query else b"")).decode("latin-1")
        return Forwarded(
            scope["method"], scope["path"], target, passed_on(scope["headers"], without=self._without), raw
        )

    async def _relayed(self, request: Forwarded, sender: Sender) -> bool:
        try:
            response = await self._proxy.upstream.send(request)
        except Unreachable as error:
            self._proxy.metrics.failed("upstream")
            await sender.refuse(502, {"error": {"code": "upstream_unreachable", "message": str(error)}})
            return True
        try:
            await relay(response, sender, self._proxy)
        finally:
            response.close()
        return True


async def _answered(exchange: Exchange) -> bool:
    await exchange.answer()
    return True


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; ``None`` where the client went away before its end: nobody is asked with a part."""
    parts: list[bytes] = []
    while True:
        message: Any = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)

"""The application: routes, errors and checks put together."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from micro_agent import __version__
from micro_agent.coding.patches.store import Patches
from micro_agent.server import approvals, asking, health, page, patches, records
from micro_agent.server.errors import answer_errors, documented
from micro_agent.server.health import Backend, Folder
from micro_agent.server.openai import routes as openai
from micro_agent.server.openai.errors import InTheirForm
from micro_agent.server.openai.errors import answer_errors as answer_openai_errors
from micro_agent.server.openai.threads import Threads
from micro_agent.server.openai.turns import Desk
from micro_agent.server.runs import RunPool
from micro_agent.server.schemas import Error
from micro_agent.server.security import OPEN_PATHS, Entry, Perimeter
from micro_agent.server.settings import LOOPBACK_ORIGIN, ServerSettings
from micro_agent.traces import TraceStore

_DESCRIPTION = """Ask an agent over HTTP, follow its runs, confirm what it wants to do.

Every error is `{"error": {"code", "message"}}`. Bodies are JSON. Nothing here loads anything from another host.
"""
_TAGS = [
    {"name": "ask", "description": "Questions and their answers, at once or as they come."},
    {"name": "approvals", "description": "Calls that wait for a person, and runs that go on or end."},
    {"name": "records", "description": "What is on record."},
    {"name": "patches", "description": "What models proposed for the repository that is served."},
    {"name": "health", "description": "Whether the server can answer."},
]


def create_app(
    *, pool: RunPool, store: TraceStore, settings: ServerSettings, backend: Backend | None = None,
    queue: Patches | None = None,
) -> FastAPI:  # fmt: skip
    """The app, for any ASGI server with one worker. It does not close the pool.

    Args:
        pool: Where runs are started; it belongs to the event loop that serves.
        store: Where runs are on record; the pool's.
        settings: Token, hosts, origins and bounds.
        backend: The model that is asked, for ``/health`` to tell of.
        queue: The patches of the repository that the model works in.
    """
    app = FastAPI(
        title="micro-agent", version=__version__, description=_DESCRIPTION, openapi_tags=_TAGS,
        docs_url=None, redoc_url=None,  # these pages load scripts from another host
        redirect_slashes=False, generate_unique_id_function=lambda route: route.name, middleware=_middleware(settings),
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )  # fmt: skip
    app.state.pool, app.state.store, app.state.settings = pool, store, settings
    app.state.backend, app.state.patches, app.state.looked_at = backend or Backend(), queue, None
    app.state.folders = {"traces_writable": Folder(store.directory), "state_writable": Folder(store.state_dir)}
    token = {"unauthorized"} if settings.api_token else set[str]()
    for part in (asking, approvals, records, page, patches):
        app.include_router(part.router, responses=documented(*token))
    app.include_router(health.router)
    app.include_router(openai.router)
    app.state.desk = Desk(pool, store, Threads())
    app.include_router(page.static)
    answer_errors(app)
    answer_openai_errors(app)
    app.openapi = lambda: _openapi(app, bearer=bool(token))
    return app


def _middleware(settings: ServerSettings) -> list[Middleware]:
    """From the outside in: preflights are answered without a token, and errors can be read by allowed pages."""
    cors = Middleware(
        CORSMiddleware, allow_origins=settings.allowed_origins, allow_methods=["GET", "POST"],
        allow_origin_regex=LOOPBACK_ORIGIN.pattern if settings.allow_loopback_origins else None,
        allow_headers=["Authorization", "Content-Type", "Last-Event-ID"], expose_headers=["Retry-After"],
    )  # fmt: skip
    between = [cors] if settings.allowed_origins or settings.allow_loopback_origins else []
    outer = [Middleware(InTheirForm), Middleware(Perimeter, settings=settings)]
    return [*outer, *between, Middleware(Entry, settings=settings)]


def _openapi(app: FastAPI, *, bearer: bool) -> dict[str, Any]:
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, tags=app.openapi_tags, routes=app.routes
        )
        schemas = Error.model_json_schema(ref_template="#/components/schemas/{model}")
        found["components"]["schemas"] |= {**schemas.pop("$defs"), "Error": schemas}
        if bearer:
            found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            found["security"] = [{"token": []}]
            for path in OPEN_PATHS:
                found["paths"][path]["get"]["security"] = []
        app.openapi_schema = found
    return app.openapi_schema

"""Whether the server lives, whether it can answer questions, and what it is."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Literal
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict

from micro_agent import __version__
from micro_agent.server.errors import documented
from micro_agent.server.schemas import sent
from micro_agent.storage.probe import nearest, try_writing

router = APIRouter(tags=["health"])

_CONNECT_S = 1.0
_FRESH_S = 5.0
"""For so long the last look counts: whoever asks often makes no connections and writes no files."""


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"]

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "ok"}]})


class Health(BaseModel):
    """Whether questions can be answered. ``status`` is ``ok`` when all of it is well."""

    status: Literal["ok", "unwell", "draining"]
    provider: str | None
    model: str | None
    model_server: Literal["up", "down"] | None
    """Whether something accepts connections at its address; ``None`` where there is no address to look at."""
    traces_writable: bool
    state_writable: bool
    running: int
    max_running: int

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "status": "ok", "provider": "ollama", "model": "llama3.2:3b", "model_server": "up",
                    "traces_writable": True, "state_writable": True, "running": 1, "max_running": 8,
                }
            ]
        }
    )  # fmt: skip


class Version(BaseModel):
    """What answers."""

    name: str
    version: str

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "micro-agent", "version": __version__}]})


@dataclass
class Backend:
    """The model that an app's agents ask, as far as it is known, and when its server was last looked at."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    _seen: Literal["up", "down"] | None = None
    _until: float = 0.0

    async def look(self) -> Literal["up", "down"] | None:
        """Whether the model server accepts connections, at most a few seconds old."""
        if self.base_url is not None and monotonic() >= self._until:
            self._until = monotonic() + _FRESH_S  # whoever asks meanwhile is told what was seen before
            self._seen = "up" if await _accepts(self.base_url) else "down"
        return self._seen


@dataclass
class Folder:
    """A folder that runs are written to, and what came of writing there last."""

    path: Path
    fresh_s: float = _FRESH_S
    _look: asyncio.Future[bool] | None = None
    _until: float = 0.0

    async def look(self) -> bool:
        """Whether a file can be written there, as of a few seconds ago; not if that takes as long."""
        if self._look is None or (self._look.done() and monotonic() >= self._until):
            self._until = monotonic() + self.fresh_s
            self._look = asyncio.ensure_future(asyncio.to_thread(_writable, self.path))
        await asyncio.wait({self._look}, timeout=self.fresh_s)
        return self._look.done() and self._look.result()


@router.get("/healthz", summary="The process answers", response_model=Alive, responses=documented())
async def alive() -> dict[str, Any]:
    """Needs no token and tells nothing else."""
    return {"status": "ok"}


@router.get(
    "/health",
    summary="Whether questions can be answered",
    response_model=Health,
    responses={503: {"model": Health, "description": "Draining, or something is not well."}, **documented()},
)
async def health(request: Request) -> Response:
    """Needs no token. 503 while the server is ending, a folder takes no files or the model server is away."""
    state = request.app.state
    backend: Backend = state.backend
    checks: dict[str, Any] = {
        "model_server": await backend.look(),
        **{name: await folder.look() for name, folder in state.folders.items()},
    }
    well = checks["model_server"] != "down" and checks["traces_writable"] and checks["state_writable"]
    status = "draining" if state.pool.closing else "ok" if well else "unwell"
    body = Health(
        status=status, provider=backend.provider, model=backend.model, running=state.pool.running(),
        max_running=state.pool.max_running, **checks,
    )  # fmt: skip
    return sent(body, state.store, status=200 if status == "ok" else 503)


@router.get("/version", summary="What answers", response_model=Version, responses=documented("unauthorized"))
async def version() -> dict[str, Any]:
    """The version of micro-agent."""
    return {"name": "micro-agent", "version": __version__}


async def _accepts(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except OSError:  # TimeoutError is one
        return False
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return True


def _writable(folder: Path) -> bool:
    try:
        try_writing(nearest(folder.absolute()))
    except OSError:
        return False
    return True

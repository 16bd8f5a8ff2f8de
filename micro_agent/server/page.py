"""The page of runs, and what it shows of one: ``/``, its files under ``/page/``, ``/runs/{id}/view``."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from micro_agent.page.files import files, version
from micro_agent.page.items import Shown
from micro_agent.page.shell import shell
from micro_agent.page.view import view_of
from micro_agent.run import Run
from micro_agent.server.errors import Refused, documented
from micro_agent.server.records import standing, store_of
from micro_agent.server.schemas import EXAMPLE_ID, RunId, sent
from micro_agent.traces import OpenRun, TraceStore

router = APIRouter(tags=["records"])
"""What needs the token."""
static = APIRouter(include_in_schema=False)
"""What holds nothing of a run and answers without one: the page has to be there to ask for it."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Nothing inline and nothing from elsewhere (https://www.w3.org/TR/CSP3/)."""
KEPT = "public, max-age=31536000, immutable"
_HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
_LONGEST = 4000
_EXAMPLE = view_of(
    Run(id=EXAMPLE_ID, ts="2026-11-21T21:32:00.125Z", question="What is 2*(3+5)?", answer="The answer is 16.",
        status="completed", termination_reason="final", provider="ollama", model="llama3.2:3b")
).model_dump()  # fmt: skip
_SHOWN: dict[int | str, Any] = {200: {"content": {"application/json": {"example": _EXAMPLE}}}}


@static.get("/")
async def page() -> Response:
    """The page. What it shows it asks for itself."""
    return Response(shell(), media_type="text/html", headers=_HEADERS)


@static.get("/page/{given}/{name}")
async def file(given: str, name: str) -> Response:
    """One of its files, which a browser may keep: another version of it has another address."""
    if given != version() or name not in files():
        raise Refused("not_found")
    media, data = files()[name]
    return Response(data, media_type=media, headers={**_HEADERS, "Cache-Control": KEPT})


@router.get(
    "/runs/{run_id}/view",
    summary="What is shown of a run",
    response_model=Shown,
    responses={**_SHOWN, **documented("run_not_found")},
)
def view(
    request: Request,
    run_id: RunId,
    first: Annotated[int, Query(ge=0, le=10**7, description="The first item.")] = 0,
    count: Annotated[int, Query(ge=0, le=10_000, description="So many items.")] = 500,
    longest: Annotated[int, Query(ge=1, le=10**8, description="Characters of each text.")] = _LONGEST,
) -> Response:
    """A run as the page shows it, open or ended: its facts, its open question, and items, each a reply or a step.

    Replies stand there as the model wrote them, with their repairs marked. Texts are cut, and `left` says by how much.
    """
    store = store_of(request)
    run, known = _as_it_stands(request, store, run_id)
    part: dict[str, Any] = {"first": first, "count": count, "longest": longest}
    if known is not None:
        part |= {"open": True, "busy": known.busy, "damage": known.damage, "decision": known.decision}
    return sent(view_of(run, **part), store)


def _as_it_stands(request: Request, store: TraceStore, run_id: str) -> tuple[Run, OpenRun | None]:
    """As `standing`; the run that was looked at last is not read again for its next part, if it has ended."""
    as_written, kept = (run_id, store.written(run_id)), request.app.state.looked_at
    if kept is not None and kept[0] == as_written:
        return kept[1], None
    run, known = standing(store, run_id, earlier=True)
    if known is None:
        request.app.state.looked_at = (as_written, run)
    return run, known

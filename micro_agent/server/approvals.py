"""The word of a person on what a run wants to do, and runs that go on, or end, because somebody said so."""

import asyncio
from datetime import UTC, datetime
from functools import partial

from fastapi import APIRouter, Request, Response

from micro_agent.errors import RunBusy
from micro_agent.run.questions import about
from micro_agent.server.errors import Refused, documented
from micro_agent.server.records import found, store_of
from micro_agent.server.runs import Live, RunPool
from micro_agent.server.schemas import Answer, Approval, Approvals, ConfirmRequest, RunId, RunState, answer_of, sent
from micro_agent.traces import OpenRun, TraceStore

router = APIRouter(tags=["approvals"])

_ELSEWHERE = {202: {"model": RunState, "description": "The decision is on record; who holds the run goes on."}}


@router.get("/approvals", summary="The open questions", response_model=Approvals, responses=documented())
def approvals(request: Request) -> Response:
    """Every call that waits for a person's word, the newest first."""
    store = store_of(request)
    waiting = [run for run in store.open_runs() if run.status == "confirmation_required"]
    return sent(Approvals(approvals=[_asked(run, store) for run in waiting]), store)


@router.post(
    "/runs/{run_id}/confirm",
    summary="Decide an open question",
    response_model=Answer,
    responses={
        **_ELSEWHERE,
        **documented(
            "run_not_found", "already_decided", "approval_expired", "not_waiting", "too_many_runs", "shutting_down"
        ),
    },
)
async def confirm(request: Request, run_id: RunId, said: ConfirmRequest) -> Response:
    """Approve or refuse the call that a run asks about; the answer comes when the run has ended or asks again.

    Of several that decide, the first counts, the others get 409. The run goes on also when the client goes away. An
    approval with `args` is of the call with these arguments: they are checked, and the run asks about them once more.
    """
    pool, store = _pool(request), store_of(request)
    pool.admit()  # before anything is written: who cannot go on now can decide again later
    decided = {"feedback": said.feedback, "question": said.sha256, "args": said.args}
    await asyncio.to_thread(partial(store.decide, run_id, said.decision, **decided))
    try:
        live = pool.resume(run_id)
        await live.started()
    except RunBusy:  # whoever holds it looks for the decision by itself
        return sent(await asyncio.to_thread(found, store, run_id), store, status=202)
    return await _ended(live, store)


@router.post(
    "/runs/{run_id}/resume",
    summary="Go on with an open run",
    response_model=Answer,
    responses=documented("run_not_found", "run_busy", "too_many_runs", "configuration_error", "shutting_down"),
)
async def resume(request: Request, run_id: RunId) -> Response:
    """Take up a run that was interrupted, or whose question was decided elsewhere; else it asks its question again."""
    return await _ended(_pool(request).resume(run_id), store_of(request))


@router.post(
    "/runs/{run_id}/cancel",
    summary="End a run that is under way",
    response_model=Answer,
    responses=documented("run_not_found", "not_under_way", "shutting_down"),
)
async def cancel(request: Request, run_id: RunId) -> Response:
    """Break off what the run is doing; the answer is its end, `stopped` with the reason `cancelled`."""
    live = _pool(request).live(run_id)
    if live is None or live.until is not None:
        state = await asyncio.to_thread(found, store_of(request), run_id)
        raise Refused("not_under_way", f"run {run_id} is not under way here: its status is {state.status}")
    live.cancel()
    return await _ended(live, store_of(request))


async def _ended(live: Live, store: TraceStore) -> Response:
    return sent(answer_of(await live.ended(), store), store)


def _pool(request: Request) -> RunPool:
    return request.app.state.pool


def _asked(run: OpenRun, store: TraceStore) -> Approval:
    asked = run.confirmation or {}
    kind, named = about(asked)
    shown = {name: asked[name] for name in ("tool", "args", "reason", "sha256")}
    shown |= {name: asked.get(name) for name in ("shown", "edited", "fault", "expires")}
    since = datetime.fromtimestamp(store.written(run.id) / 1e9, UTC)
    return Approval(
        **shown, kind=kind, id=named, ungrounded=asked.get("ungrounded", []), run_id=run.id, question=run.question,
        busy=run.busy, since=since.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    )  # fmt: skip

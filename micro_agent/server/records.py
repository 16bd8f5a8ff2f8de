"""Runs on record, and those under way, for whoever looks from outside."""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Query, Request, Response

from micro_agent.errors import RunNotFound
from micro_agent.run import Run, Status
from micro_agent.server.errors import documented
from micro_agent.server.schemas import EXAMPLE_ID, RunId, Runs, RunState, RunSummary, sent, state_of
from micro_agent.traces import OpenRun, TraceStore, read_records

router = APIRouter(tags=["records"])

Filter = Literal["running", "completed", "confirmation_required", "stopped", "failed", "unreadable"]
assert {*get_args(Status), "unreadable"} == set(get_args(Filter))

_PAGE = 50
_LONGEST_PAGE = 500
_LOOKED_AT = 2000


_EXAMPLE = {
    "id": EXAMPLE_ID, "ts": "2026-11-21T21:32:00.125Z", "question": "What is 2*(3+5)?", "answer": "The answer is 16.",
    "status": "completed", "termination_reason": "final", "provider": "ollama", "model": "llama3.2:3b",
    "steps": [{"tool": "calculator", "args": {"expression": "2*(3+5)"}, "observation": 16}],
}  # fmt: skip
_RECORD: dict[int | str, Any] = {200: {"content": {"application/json": {"example": _EXAMPLE}}}}


@router.get(
    "/trace/{run_id}",
    summary="The record of a run",
    response_model=Run,
    responses={**_RECORD, **documented("run_not_found")},
)
def trace(
    request: Request,
    run_id: RunId,
    index: Annotated[
        int, Query(ge=-(10**6), le=10**6, description="Which of its records, counted as in a list; -1 is the latest.")
    ] = -1,
) -> Response:
    """The record as it stands in the trace file, secrets masked. A run that has not paused or ended has none yet."""
    store = store_of(request)
    return sent(store.load(run_id, index, earlier=False), store)


@router.get("/runs", summary="The runs, the one written last first", response_model=Runs, responses=documented())
def runs(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=_LONGEST_PAGE, description="Runs on a page.")] = _PAGE,
    cursor: Annotated[
        str | None,
        Query(pattern="^[0-9]{1,20}-[0-9a-f]{32}$", description="`next` of the page before."),
    ] = None,
    status: Annotated[Filter | None, Query(description="Only runs of this status.")] = None,
    q: Annotated[
        str | None, Query(max_length=500, description="Only runs with all of these words in id, question or answer.")
    ] = None,
) -> Response:
    """Runs that have ended and runs that are open. One that cannot be read is there too, with what is wrong.

    With `q` a page may have fewer runs than `limit`, or none, and yet a `next`: only so many are looked at.
    """
    store = store_of(request)
    words = q.casefold().split() if q else []
    return sent(page(store, limit=limit, cursor=cursor, status=status, words=words), store)


@router.get(
    "/runs/{run_id}", summary="A run as it stands", response_model=RunState, responses=documented("run_not_found")
)
def run(request: Request, run_id: RunId) -> Response:
    """A run that is open as far as it has come, or one that has ended; nothing is taken or changed."""
    store = store_of(request)
    return sent(found(store, run_id), store)


def store_of(request: Request) -> TraceStore:
    """The store of the app that got this request."""
    return request.app.state.store


def page(
    store: TraceStore, *, limit: int, cursor: str | None, status: Filter | None, words: Sequence[str] = (),
    most: int = _LOOKED_AT,
) -> Runs:  # fmt: skip
    """The runs behind a cursor. A run that is written to between two pages moves to the front and is not repeated.

    Args:
        store: Where the runs are.
        limit: So many runs at most.
        cursor: `next` of the page before.
        status: Only those of this status.
        words: Only those with all of these, in lower case, in id, question or answer.
        most: So many are read at most for ``words``: a search of very many runs takes several pages.

    Raises:
        StorageError: A folder cannot be read.
    """
    opened = {run.id: run for run in store.open_runs()}
    places = sorted(((store.written(run_id), run_id) for run_id in {*opened, *store.ids()}), reverse=True)
    before = _place(cursor) if cursor else None
    left = [place for place in places if before is None or place < before]
    kept, last = list[tuple[tuple[int, str], RunSummary]](), None
    for number, place in enumerate(left):
        if words and number == most:
            last = left[number - 1]
            break
        known = opened.get(place[1])
        summary = _of_open(known) if known else _of_ended(store.path(place[1]), place[1])
        if _wanted(summary, status, words):
            kept.append((place, summary))
        if len(kept) > limit:
            last = kept[limit - 1][0]
            break
    return Runs(runs=[summary for _, summary in kept[:limit]], next=f"{last[0]}-{last[1]}" if last else None)


def _wanted(summary: RunSummary, status: Filter | None, words: Sequence[str]) -> bool:
    if status is not None and (summary.status or "unreadable") != status:
        return False
    text = " ".join([summary.id, summary.question or "", summary.answer or ""]).casefold() if words else ""
    return all(word in text for word in words)


def found(store: TraceStore, run_id: str) -> RunState:
    """A run as it stands.

    Raises:
        RunNotFound: There is nothing of it.
        StorageError: What there is cannot be read.
    """
    run, known = standing(store, run_id)
    if known is None:
        return state_of(run, store, open=False, busy=False, decision=None, damage=None)
    return state_of(run, store, open=True, busy=known.busy, decision=known.decision, damage=known.damage)


def standing(store: TraceStore, run_id: str, *, earlier: bool = False) -> tuple[Run, OpenRun | None]:
    """A run as it stands, and what is known of it as long as it is open. Raises as `found`.

    Args:
        store: Where the runs are.
        run_id: Which one.
        earlier: Read those before it in its conversation, too.
    """
    if (known := store.open_run(run_id)) is not None:
        with suppress(RunNotFound):  # it ended while we looked
            run = store.peek(run_id)
            run.status = known.status or run.status
            return run, known
    return store.load(run_id, earlier=earlier), None


def _place(cursor: str) -> tuple[int, str]:
    written, _, run_id = cursor.partition("-")
    return int(written), run_id


def _of_open(run: OpenRun) -> RunSummary:
    return RunSummary(
        id=run.id, ts=run.ts, question=run.question, status=run.status, termination_reason=None, answer=None,
        open=True, busy=run.busy, damage=run.damage,
    )  # fmt: skip


def _of_ended(path: Path, run_id: str) -> RunSummary:
    stamp = None
    with suppress(OSError):  # it is gone by now
        known = path.stat()
        stamp = known.st_ctime_ns, known.st_size
    return _read(path, run_id, stamp)


@lru_cache(maxsize=2 * _LOOKED_AT)  # a list, and each letter of a search, would read every record anew
def _read(path: Path, run_id: str, _: tuple[int, int] | None) -> RunSummary:
    last, faults = None, list[str]()
    for record in read_records(path):
        last = record.run or last
        faults += [f"line {record.line_number}: {record.fault}"] if record.fault else []
    names = ("ts", "question", "status", "termination_reason", "answer")
    known: dict[str, Any] = {name: getattr(last, name, None) for name in names}
    return RunSummary(**known, id=run_id, open=False, busy=False, damage="; ".join(faults) or None)

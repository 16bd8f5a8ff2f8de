"""The patches of the repository that is served: shown, applied, refused and taken back by a person."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from micro_agent.coding.patches.store import Patch, Patches, Status
from micro_agent.server.errors import Refused, documented
from micro_agent.server.records import store_of
from micro_agent.server.schemas import sent
from micro_agent.text.printable import visible
from micro_agent.tools.error import ToolError
from micro_agent.traces import TraceStore

router = APIRouter(tags=["patches"])

_ID = "patch_0123456789"
_FACTS: dict[str, Any] = {
    "id": _ID, "status": "proposed", "intent": "a total of nothing is 0.0", "files": ["till.py"], "repaired": [],
    "feedback": None, "times": {"proposed": "2026-11-21T21:32:00.125000+00:00"}, "sha256": "9f" * 32,
}  # fmt: skip
_DIFF = "--- a/till.py\n+++ b/till.py\n@@ -6 +6 @@\n-    return sum(prices)\n+    return sum(prices, 0.0)\n"

PatchId = Annotated[
    str, Path(pattern="^patch_[0-9a-f]{10}$", description="`patch_` and 10 digits of 0-9 and a-f", examples=[_ID])
]


class PatchFacts(BaseModel):
    """A patch in a list."""

    id: str
    status: Status
    intent: str
    files: list[str]
    repaired: list[str] = Field(description="What was put right in what the model proposed.")
    feedback: str | None
    times: dict[str, str] = Field(description="When it got each status: UTC, ISO 8601.")
    sha256: str = Field(description="Of the diff. Send it with a decision, so that no other diff is decided.")


class PatchState(PatchFacts):
    """A patch with its diff, in which what does not show is an escape."""

    diff: str

    model_config = ConfigDict(json_schema_extra={"examples": [{**_FACTS, "diff": _DIFF}]})


class PatchQueue(BaseModel):
    """The patches of the repository, the newest first."""

    repository: str | None = Field(description="Its folder; `null`: no repository is served.")
    patches: list[PatchFacts]
    damaged: list[str] = Field(description="Files that cannot be read.")

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"repository": "/home/me/shop", "patches": [_FACTS], "damaged": []}]}
    )


class PatchDecision(BaseModel):
    """The word of a person on a patch."""

    seen: Literal["proposed", "approved", "rejected", "applied", "undone"] | None = Field(
        default=None, description="The status that was shown: a patch of another status by now is left alone."
    )
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="Of the diff that was shown.")
    feedback: str | None = Field(default=None, description="With `reject`: kept with the patch.")

    model_config = ConfigDict(
        strict=True, extra="forbid", json_schema_extra={"examples": [{"seen": "proposed", "sha256": "9f" * 32}]}
    )


_DECIDING = documented("patch_not_found", "patch_refused")


@router.get("/patches", summary="The patches", response_model=PatchQueue, responses=documented())
def patches(request: Request) -> Response:
    """What models proposed for the repository, and what became of it. Without a repository the list is empty."""
    queue: Patches | None = request.app.state.patches
    found, damaged = queue.all() if queue else ([], [])
    body = PatchQueue(
        repository=str(queue.root) if queue else None, patches=[PatchFacts(**_facts(patch)) for patch in found],
        damaged=damaged,
    )  # fmt: skip
    return sent(body, store_of(request))


@router.get(
    "/patches/{patch_id}", summary="A patch", response_model=PatchState, responses=documented("patch_not_found")
)
def patch(request: Request, patch_id: PatchId) -> Response:
    """A patch with its diff."""
    return _done(request, lambda queue: queue.get(patch_id))


@router.post(
    "/patches/{patch_id}/apply", summary="Approve and apply a patch", response_model=PatchState, responses=_DECIDING
)
def apply(request: Request, patch_id: PatchId, said: PatchDecision) -> Response:
    """Write its changes to the files, all of them or nothing. Of several that decide, the first counts."""

    def act(queue: Patches) -> Patch:
        queue.decide(patch_id, approved=True, seen=said.seen, diff=said.sha256)
        return queue.apply(patch_id)

    return _done(request, act)


@router.post("/patches/{patch_id}/reject", summary="Reject a patch", response_model=PatchState, responses=_DECIDING)
def reject(request: Request, patch_id: PatchId, said: PatchDecision) -> Response:
    """Write down that it is not wanted, with feedback. One that is applied has to be undone instead."""

    def act(queue: Patches) -> Patch:
        told = {"feedback": said.feedback, "diff": said.sha256}
        done = queue.decide(patch_id, approved=False, seen=said.seen, **told)
        if done.status != "rejected":
            raise ToolError("PATCH_APPLY_FAILED", f"{patch_id} is {done.status}: undo it instead")
        return done

    return _done(request, act)


@router.post("/patches/{patch_id}/undo", summary="Take a patch back", response_model=PatchState, responses=_DECIDING)
def undo(request: Request, patch_id: PatchId) -> Response:
    """Put back what was there before it was applied. Refused if a file has changed since."""
    return _done(request, lambda queue: queue.undo(patch_id))


def _done(request: Request, act: Callable[[Patches], Patch]) -> Response:
    queue: Patches | None = request.app.state.patches
    if queue is None:
        raise Refused("patch_not_found", "no repository is served: start with `serve --repo DIR`")
    store: TraceStore = store_of(request)
    try:
        found = act(queue)
    except ToolError as error:
        code = "patch_not_found" if error.code == "PATCH_NOT_FOUND" else "patch_refused"
        raise Refused(code, error.message) from error
    return sent(PatchState(**_facts(found), diff=visible(found.diff)), store)


def _facts(patch: Patch) -> dict[str, Any]:
    return {
        "id": patch.id, "status": patch.status, "intent": visible(patch.intent), "files": list(patch.files),
        "repaired": list(patch.repaired), "feedback": patch.feedback, "times": patch.times,
        "sha256": patch.digest,
    }  # fmt: skip

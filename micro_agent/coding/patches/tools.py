"""The four tools of patches: two propose one, which a person decides, one shows it, one applies what was approved."""

import json
from dataclasses import replace
from typing import Any

from micro_agent.coding.bounds import cut_text
from micro_agent.coding.opening import suggestion
from micro_agent.coding.patches import check
from micro_agent.coding.patches.faults import PatchError
from micro_agent.coding.patches.replacing import diff_of
from micro_agent.coding.patches.store import Patch, Patches
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_PREVIEW = 500
"""Characters of ``diff_preview``."""
_INTENT = {"type": "string", "description": "What the change is for, in one sentence."}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False
    }  # fmt: skip


_UNIFIED = _object(
    intent=_INTENT,
    unified_diff={
        "type": "string",
        "description": "`--- a/PATH`, `+++ b/PATH`, then hunks: `@@ -LINE,COUNT +LINE,COUNT @@`, three unchanged lines "
        "before and after the change, each after a blank; removed lines after -, added lines after +. "
        "A new file begins with `--- /dev/null`.",
    },
)
_REPLACEMENT = _object(
    intent=_INTENT,
    file_path={"type": "string", "description": "From the root of the repository."},
    original_content={
        "type": "string",
        "description": "The lines that are replaced, copied from the file; they must stand there exactly once. "
        "Empty only for a new file.",
    },
    new_content={"type": "string", "description": "What stands there afterwards. Empty to remove the lines."},
)
_ID = _object(patch_id={"type": "string", "description": "The patch_id of a proposal."})


def tools(place: Workplace) -> list[Tool]:
    """``propose_patch_unified``, ``propose_patch``, ``show_patch`` and ``apply_patch`` of one repository."""
    proposals = _Proposals(place)
    return [
        Tool(
            "propose_patch_unified",
            "Propose a change of one or more files as a unified diff. A person reads it and approves or rejects it. "
            "Then call apply_patch.",
            _UNIFIED, proposals.approved, requires_confirmation=True, timeout_s=60.0,
            preview=proposals.shown, rejected=proposals.rejected,
        ),
        Tool(
            "propose_patch",
            "Propose a change of one file: original_content becomes new_content. A person reads it and approves or "
            "rejects it. Then call apply_patch.",
            _REPLACEMENT, proposals.approved, requires_confirmation=True, timeout_s=60.0,
            preview=proposals.shown, rejected=proposals.rejected,
        ),
        Tool(
            "show_patch", "Show a proposed patch: its diff, whether it is approved, what the person said.", _ID,
            proposals.show, read_only=True,
        ),
        Tool(
            "apply_patch", "Write the changes of an approved patch to the files. It is done once.", _ID,
            proposals.apply, timeout_s=60.0,
        ),
    ]  # fmt: skip


class _Proposals:
    """What the tools do in one repository."""

    def __init__(self, place: Workplace) -> None:
        self._place, self._patches = place, Patches(place.root, place.state)
        self._waiting: dict[str, Patch] = {}
        self._own = set[str]()

    def shown(self, args: dict[str, Any]) -> dict[str, Any]:
        """What a person is shown of a proposal, once it waits in the queue."""
        patch = self._waiting[_key(args)] = self._proposed(args)
        return {
            "kind": "patch", "id": patch.id, "text": patch.diff, "files": list(patch.files),
            "repaired": list(patch.repaired),
        }  # fmt: skip

    def approved(self, **args: Any) -> dict[str, Any]:
        """The result of a proposal that a person agreed to."""
        return _proposal(self._patches.decide(self._patch(args).id, approved=True), args["intent"])

    def rejected(self, args: dict[str, Any], feedback: str | None) -> dict[str, Any]:
        """The result of one that a person did not agree to."""
        patch = self._patches.decide(self._patch(args).id, approved=False, feedback=feedback)
        return _proposal(patch, args["intent"])

    def _patch(self, args: dict[str, Any]) -> Patch:
        """The patch that was shown, here or in a process that has ended."""
        return self._waiting.pop(_key(args), None) or self._proposed(args)

    def _proposed(self, args: dict[str, Any]) -> Patch:
        place, repaired = self._place, ()
        if "unified_diff" in args:
            diff = args["unified_diff"]
        else:
            diff, repaired = diff_of(
                place.root, args["file_path"], args["original_content"], args["new_content"]
            )  # fmt: skip
        planned = check(place.root, diff, sandbox=place.sandbox)
        patch = self._patches.propose(replace(planned, repaired=(*repaired, *planned.repaired)), args["intent"])
        self._own.add(patch.id)
        return patch

    def _known(self, patch_id: str, *, applies: bool = False) -> Patch:
        """The patch with an id; the hint for another id shows the newest patch, or applies the one that waits."""
        try:
            return self._patches.get(patch_id)
        except ToolError as error:
            patches, _ = self._patches.all()
            waiting = [one.id for one in patches if applies and one.id in self._own and one.status == "approved"]
            error.recovery = _showing(patches[0].id, "This is the newest patch.") if patches else None
            if len(waiting) == 1:
                arguments = {"patch_id": waiting[0]}
                error.recovery = suggestion("apply_patch", arguments, "This is the approved patch that waits.")
            raise

    def show(self, patch_id: str) -> dict[str, Any]:
        patch = self._known(patch_id)
        diff, was_cut = cut_text(patch.diff)
        shown: dict[str, Any] = {
            "patch_id": patch.id, "intent": patch.intent, "files": list(patch.files), "diff": diff,
            "approved": patch.is_approved, "feedback": patch.feedback, "applied": patch.status == "applied",
        }  # fmt: skip
        return shown | ({"truncated": True} if was_cut else {})

    def apply(self, patch_id: str) -> dict[str, Any]:
        patch = self._known(patch_id, applies=True)
        if patch.status in ("proposed", "rejected", "undone"):
            return _approval_required(patch)
        try:
            done = self._patches.apply(patch_id, self._place.sandbox)
        except PatchError as error:
            hint = _showing(patch_id, "See what it expects, then read_file the place and propose it anew.")
            recovery = None if patch.status == "applied" else hint
            raise ToolError(error.code, error.message, recovery=recovery) from error
        for change in done.changes:
            if change.after is None:
                self._place.read.pop(change.path, None)
            elif change.path in self._place.read:
                self._place.read[change.path] = change.after
        message = f"The patch is applied to {', '.join(done.files)}. Run the tests."
        return {"ok": True, "patch_id": patch_id, "files_changed": list(done.files), "message": message}


def _showing(patch_id: str, why: str) -> dict[str, Any]:
    return suggestion("show_patch", {"patch_id": patch_id}, why)


def _key(args: dict[str, Any]) -> str:
    return json.dumps(args, sort_keys=True)


def _proposal(patch: Patch, intent: str) -> dict[str, Any]:
    """The result of a proposal."""
    if patch.is_approved:
        message = f"Approved. Call apply_patch with patch_id {patch.id}."
    else:
        message = "Rejected" + (f": {patch.feedback}" if patch.feedback else ".") + " Propose another patch, or none."
    return {
        "patch_id": patch.id, "intent": intent, "files": list(patch.files), "file_path": patch.files[0],
        "diff_preview": cut_text(patch.diff, _PREVIEW)[0], "approved": patch.is_approved, "feedback": patch.feedback,
        "repaired": list(patch.repaired), "message": message,
    }  # fmt: skip


def _approval_required(patch: Patch) -> dict[str, Any]:
    """The error of a patch that nobody has agreed to."""
    told = {
        "proposed": "a person has to approve it first; go on with something else",
        "rejected": "it was rejected; propose another patch",
        "undone": "it was undone; propose it anew",
    }[patch.status]
    return {
        "error": "APPROVAL_REQUIRED", "message": f"{patch.id} is not applied: {told}",
        "blocked": {"approval_required": True}, "approval": {"kind": "patch"}, "patch_id": patch.id,
        "feedback": patch.feedback,
    }  # fmt: skip

"""What became of a task: right, silently wrong, or refused (an error that somebody sees)."""

import json
from typing import Any, Literal

from benchmarks.proxy_defects.sets import Defect
from benchmarks.proxy_defects.task import CODE

Verdict = Literal["right", "wrong", "refused"]


def verdict(defect: Defect, told: dict[str, Any]) -> Verdict:
    """The verdict on what a client told.

    A task is right when exactly the calls that it needs were made, with exactly these arguments, and the answer has the
    code that they give. Where nothing may be run it is right to have run nothing, and to say what the model said or an
    error.
    """
    done = [(name, args) for name, args in told["calls"]]
    if defect.kind == "trap":
        said = defect.said(0)
        seen = told["error"] is not None or (told["answer"] or "").strip() == said.text.strip()
        return "right" if not done and seen else "wrong"
    if told["error"] is not None:
        return "refused"
    same = _written(done) == _written(defect.expected)
    return "right" if same and CODE in told["answer"] else "wrong"


def _written(calls: list[tuple[str, Any]]) -> list[str]:
    """The calls in an order of their own: clients do several at once in threads, as they may."""
    return sorted(json.dumps(call, sort_keys=True) for call in calls)

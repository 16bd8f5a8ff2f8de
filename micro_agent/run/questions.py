"""What a person is asked, and the proof that it is still the same: a digest over all that is shown of it.

A question has ``run``, ``call``, ``call_id``, ``tool``, ``args``, ``reason`` and ``sha256``, the digest of the others.
It is made when the question is; whoever shows a question, takes a decision about it or runs its call checks it first.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from micro_agent.errors import NotWaiting, StorageError
from micro_agent.files.jsonl import encode

if TYPE_CHECKING:
    from micro_agent.run import Run
    from micro_agent.tools import Ready


class QuestionChanged(StorageError):
    """A question, or the call that it is about, is not what its digest was made of."""


def digest_of(question: Mapping[str, Any]) -> str:
    """The sha256 over every field of a question but ``sha256``, the same before and after it was written and read."""
    shown = {name: value for name, value in question.items() if name != "sha256"}
    return sha256(json.dumps(json.loads(encode(shown)), sort_keys=True).encode()).hexdigest()


def verified(question: dict[str, Any]) -> dict[str, Any]:
    """``question``, if it is what its digest was made of. Raises `QuestionChanged`."""
    if question["sha256"] != digest_of(question):
        raise QuestionChanged("the question is not the one that was asked: something of it was changed since")
    return question


def as_approved(question: dict[str, Any], call: int, ready: "Ready") -> None:
    """Make sure that a call is still the one that was approved. Raises `QuestionChanged`; it must not be made then."""
    try:
        verified({**question, "call": call, **called(ready)})
    except QuestionChanged:
        told = f"the call of {ready.tool.name} is not the one that was approved, and it was not made"
        raise QuestionChanged(f"{told}: do not change what is asked about") from None


def called(ready: "Ready") -> dict[str, Any]:
    """What a question says of a call."""
    return {"call_id": ready.call_id, "tool": ready.tool.name, "args": ready.args}


def as_recorded(question: dict[str, Any]) -> dict[str, Any]:
    """A question from a record, with ``sha256`` ``None`` unless it is the digest of what stands there.

    Where a secret is masked it cannot be. A decision that names a digest is thereby never about something else than
    what was shown beside it.
    """
    return question if question.get("sha256") == digest_of(question) else {**question, "sha256": None}


def decided(run: "Run", decision: Any) -> tuple[str, Any] | None:
    """A decision given beforehand with the digest of the run's open question: it counts for no other.

    Raises:
        NotWaiting: The run asks nothing.
        QuestionChanged: The question is not the one that was asked.
    """
    if decision is None:
        return None
    if run.confirmation is None:
        raise NotWaiting(f"run {run.id} asks nothing now: there is nothing to decide")
    return verified(run.confirmation)["sha256"], decision

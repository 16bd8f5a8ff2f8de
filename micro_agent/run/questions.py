"""What a person is asked, and the proof that it is still the same: a digest over all that is shown of it.

A question has ``run``, ``call``, ``call_id``, ``tool``, ``args``, ``reason``, ``expires`` and ``sha256``, the digest of
the others; ``shown`` where the tool has a preview, ``ungrounded``, ``edited`` and ``fault`` where there are such. The
digest is made when the question is. Whoever shows one, takes a decision about it or runs its call checks it first.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast

from micro_agent.errors import NotWaiting, StorageError
from micro_agent.files.jsonl import encode

if TYPE_CHECKING:
    from micro_agent.run import Run
    from micro_agent.tools import Ready

Kind = Literal["patch", "command", "tool"]
"""What a question is about; ``tool``: any other call."""
_LOOKED_UP = ("shown", "expires", "fault")
"""What the driver adds to a question: the loop cannot know it."""


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


def preview_in(question: Mapping[str, Any]) -> dict[str, Any]:
    """What the tool shows of a call, nothing where it has no preview."""
    shown = question.get("shown")
    return cast("dict[str, Any]", shown) if isinstance(shown, dict) else {} if shown is None else {"shown": shown}


def about(question: Mapping[str, Any]) -> tuple[Kind, str | None]:
    """Of what kind a question is, and the id of what is shown."""
    shown = preview_in(question)
    kind, named = shown.get("kind"), shown.get("id")
    known: Kind = kind if kind in ("patch", "command") else "tool"
    return known, named if isinstance(named, str) else None


def until(question: Mapping[str, Any]) -> datetime | None:
    """When a question expires; ``None`` where it does not, or nobody can tell."""
    return _time(question.get("expires"))


def expiry(after_s: float, later_than: str | None = None) -> str:
    """The time (UTC, ISO 8601 with milliseconds) in so many seconds, or the one right after ``later_than``."""
    at, before = datetime.now(UTC) + timedelta(seconds=after_s), _time(later_than)
    if before is not None:
        at = max(at, before + timedelta(milliseconds=1))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def expired(question: Mapping[str, Any]) -> bool:
    """Whether it is too late to decide a question. One without ``expires``, of an older version, never expires."""
    until = _time(question.get("expires"))
    return "expires" in question and (until is None or datetime.now(UTC) >= until)


def _time(text: object) -> datetime | None:
    """A time as `expiry` writes it; ``None`` where it is something else."""
    try:
        return datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def still_open(before: dict[str, Any] | None, made: Mapping[str, Any]) -> dict[str, Any] | None:
    """The question that a run was left with, if it is about just this call: all that the loop knows is the same."""
    if before is None:
        return None
    looked_up = {name: before[name] for name in _LOOKED_UP if name in before}
    return before if digest_of({**made, **looked_up}) == before.get("sha256") == digest_of(before) else None


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

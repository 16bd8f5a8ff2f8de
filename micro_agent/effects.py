"""What the loop asks its driver to do, and what a driver answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from micro_agent.run import LMCall, Run, Status, Usage
from micro_agent.run.asking import YesOrNo
from micro_agent.run.editing import given_args
from micro_agent.run.questions import called, digest_of
from micro_agent.tools import Outcome, Ready

_IDS = {"patch": "patch_id", "command": "cmd_id"}
"""What the id of a preview of this kind is called where the model is told of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Ask the model for its next decision; or, with ``asks``, this question about its last reply.

    Answered by an `LMCall` (decision or decode error in it) or `Trimmed`, with ``asks`` by `Asked`; or a `Failure`. Of
    ``count`` replies that are asked for at once, those that come beside the first stand in its ``samples``.
    """

    run: Run
    asks: YesOrNo | None = None
    count: int = 1


@dataclass(slots=True)
class Asked:
    """What the model said to a question; ``yes`` is ``None`` where it said neither. ``usage`` is of that request."""

    yes: bool | None
    reply: str
    usage: Usage
    latency_s: float | None = None
    retries: int = 0
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Confirm:
    """Ask whether a call may run. Answered by an `Approval`, or by the `Outcome` of a call that is not made.

    ``question`` is what the run knows of it; the driver adds what it looks up (`micro_agent.running.confirming`) and
    keeps the whole in ``Run.confirmation`` while it asks. ``needed`` tells whether anybody has to be asked: a function
    of the tool's, so it is left to who may wait for it.
    """

    question: dict[str, Any]
    ready: Ready
    needed: Callable[[], bool] = lambda: True


@dataclass(frozen=True, slots=True)
class Act:
    """Run a call that the reply number ``call`` asked for. Answered by an `Outcome` or a `Failure`.

    The calls ``beside`` it may begin at the same time; each has an effect of its own that takes its outcome.
    """

    ready: Ready
    call: int
    beside: Sequence[Ready] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """The word on a call. ``pause``: nobody yet, the session ends and waits; ``never``: nobody is going to.

    An approval with ``args`` is of a call with these arguments instead: they are validated, and asked about in turn.
    """

    word: Literal["approve", "reject", "pause", "never"]
    feedback: str | None = None
    args: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What ends a run from outside the loop: the model cannot be asked, nothing can be stored, the user cancelled.

    ``outcome`` is what is known of the tool that was under way, if one was.
    """

    reason: str
    error: dict[str, Any]
    status: Status = "failed"
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Observations were cut so that the next request fits the model's context; the loop records it and plans again.

    ``args`` says what was cut, ``text`` tells the model.
    """

    args: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A call that wants a person's word, for whoever asks the person.

    ``ungrounded`` are paths of arguments, such as ``to`` and ``items[2].name``, that hold a word or number which stands
    nowhere in the conversation. ``elsewhere`` tells whether somebody decided in the meantime, from another terminal or
    over HTTP. ``shown`` is the tool's own preview of the call. ``expires`` is when the question does (UTC, ISO 8601).
    ``edited`` are the arguments as the model gave them, where a person changed them; ``fault`` says why arguments that
    a person gave for this call were not taken.
    """

    run: str
    call: int
    call_id: str
    tool: str
    args: dict[str, Any]
    reason: str
    sha256: str
    elsewhere: Callable[[], Approval | None] = lambda: None
    ungrounded: list[str] = field(default_factory=list[str])
    shown: dict[str, Any] | None = None
    expires: str | None = None
    edited: dict[str, Any] | None = None
    fault: str | None = None


Effect = Plan | Confirm | Act
Planned = LMCall | Trimmed | Asked | Failure
"""What answers a `Plan`."""
Answer = Planned | Approval | Outcome


def question_of(run: Run, ready: Ready, why: str, ungrounded: Sequence[str] = ()) -> dict[str, Any]:
    """What is put to a person about a call, as ``Run.confirmation`` keeps it.

    ``ungrounded`` are the paths of arguments of which something stands nowhere in the conversation; without such there
    is no key, and none ``edited`` where no person changed them. ``sha256`` is over all that is shown: a decision
    belongs to exactly this call of exactly this run.
    """
    marked: dict[str, Any] = {"ungrounded": list(ungrounded)} if ungrounded else {}
    if (given := given_args(run, ready.call_id)) is not None:
        marked["edited"] = given
    shown = {"run": run.id, "call": len(run.calls) - 1, **called(ready), **marked, "reason": why}
    return {**shown, "sha256": digest_of(shown)}


def refusal(approval: Approval, shown: Mapping[str, Any] | None = None) -> Outcome:
    """The observation that stands for a call which was not approved; ``shown`` is its preview, if there is one."""
    if approval.word == "never":
        code, message = "APPROVAL_REQUIRED", "Nobody is there to confirm this call. Do something else, or answer."
        told = {"error": code, **_blocked(shown or {}), "message": message, "feedback": approval.feedback}
        return Outcome(told, ok=False, error=code, latency_s=None)
    code, message = "APPROVAL_REJECTED", "The user refused this call. Do not repeat it as it is."
    feedback = {"feedback": approval.feedback} if approval.feedback else {}
    return Outcome({"error": code, "message": message, **feedback}, ok=False, error=code, latency_s=None)


def _blocked(shown: Mapping[str, Any]) -> dict[str, Any]:
    """What waits for an approval: a patch or a command by its id, or any other call of a tool."""
    kind = shown.get("kind")
    named = {_IDS[kind]: shown.get("id")} if kind in _IDS else {}
    return {"blocked": {"approval_required": True}, "approval": {"kind": kind if named else "tool"}, **named}


def expired(why: str | None = None) -> Outcome:
    """The observation of a call that would not do any more what was approved; ``why``: it cannot be told what."""
    message = "What was approved is no longer what this call would do, so it was not made. Look again, then propose it"
    message = f"{message} again.{f' ({why})' if why else ''}"
    return Outcome(
        {"error": "APPROVAL_EXPIRED", "message": message}, ok=False, error="APPROVAL_EXPIRED", latency_s=None
    )


def interrupted() -> Outcome:
    """What the model is told of a call that had started and of which no end is known."""
    message = "This call was interrupted. It may or may not have happened. Check before you repeat it."
    return Outcome({"error": "INTERRUPTED", "message": message}, ok=False, error="INTERRUPTED", latency_s=None)

"""A step, a reply as it was read, and an end, compared with what is on record. Each function raises at a difference."""

from typing import Any

from micro_agent.replay.divergence import Diverged, Kind, differ, step_text
from micro_agent.rules.same import same
from micro_agent.run import LMCall, Run, Step

_STEP = ("args", "observation", "call", "ok", "error")


def compare_step(number: int, recorded: Step | None, today: Step) -> list[str]:
    """Notes on what may differ. Raises `Diverged`."""
    where = f"step {number}"
    if recorded is None or (recorded.tool, recorded.call_id) != (today.tool, today.call_id):
        raise diverged("step", where, step_text(recorded), step_text(today))
    for name in _STEP:
        was, now = getattr(recorded, name), getattr(today, name)
        if not same(was, now):
            raise diverged("step", f"{where} ({today.tool}): {name}", was, now)
    if not same(recorded.coercions, today.coercions):
        return [f"{where} ({today.tool}) has its arguments by other coercions than on record"]
    return []


def compare_reading(number: int, recorded: LMCall, today: LMCall) -> list[str]:
    """Notes on what may differ between two readings of one reply. Raises `Diverged`."""
    was, now = recorded.decision or recorded.error, today.decision or today.error
    if not same(was, now):
        raise diverged("decision", f"reply {number}, as it is read", was, now)
    if not same(recorded.repairs, today.repairs):
        then, new = (", ".join(str(one.get("kind")) for one in call.repairs) or "none" for call in (recorded, today))
        return [f"reply {number} is read as on record, by other repairs: {then} then, {new} today"]
    return []


def compare_ends(recorded: Run, today: Run) -> None:
    """Raises `Diverged` where the runs ended otherwise, or with another answer."""
    if (recorded.status, recorded.termination_reason) != (today.status, today.termination_reason):
        raise diverged("status", "the end", ended(recorded), ended(today))
    for name in ("error", "model_answer", "answer"):
        was, now = getattr(recorded, name), getattr(today, name)
        if not same(was, now):
            raise diverged("status" if name == "error" else "answer", f"the {name.replace('_', ' ')}", was, now)


def ended(run: Run) -> str:
    """How a run ended, in a few words."""
    message = f": {run.error.get('message')}" if run.error else ""
    answer = "" if run.answer is None else f": {run.answer}"
    return f"{run.status} ({run.termination_reason or 'under way'}){message}{answer}"


def diverged(kind: Kind, where: str, expected: Any, got: Any) -> Diverged:
    """The exception for a difference."""
    return Diverged(differ(kind, where, expected, got))

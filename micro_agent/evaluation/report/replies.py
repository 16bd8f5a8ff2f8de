"""What the model wrote, word for word, with what was mended to read it and what was read: from the trace of a trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.evaluation.report.texts import Text, cut, maybe, shown
from micro_agent.evaluation.report.wording import plural
from micro_agent.run import LMCall

_MOST = 60


@dataclass(frozen=True, slots=True)
class RepairView:
    """One thing that was mended: its kind, and the text before and after."""

    kind: str
    before: Text
    after: Text


@dataclass(frozen=True, slots=True)
class ReplyView:
    """A reply. ``read`` is what it was read as, where its text does not show that already."""

    text: Text | None
    reasoning: Text | None
    calls: list[tuple[str, Text]]
    """The tool calls of the reply itself: the name and the arguments, as the server gave them."""
    repairs: list[RepairView]
    read: Text | None
    fault: Text | None
    """Why it could not be read."""


@dataclass(frozen=True, slots=True)
class Replies:
    """The replies of a trial; ``left`` more are not shown. ``odd``: one was mended or could not be read."""

    summary: str
    shown: list[ReplyView]
    left: int
    odd: bool


def replies_of(calls: Sequence[LMCall], longest: int) -> Replies:
    """The replies of a run; of each text the first ``longest`` characters."""
    mended = sum(bool(call.repairs) for call in calls)
    unread = sum(call.error is not None for call in calls)
    counts = [f"{mended} repaired"] * bool(mended) + [f"{unread} not readable"] * bool(unread)
    views = [reply_view(call, longest) for call in calls[:_MOST]]
    summary = ", ".join([plural(len(calls), "raw reply", "raw replies"), *counts])
    return Replies(summary, views, len(calls) - len(views), bool(counts))


def reply_view(call: LMCall, longest: int) -> ReplyView:
    """One reply; of each text the first ``longest`` characters."""
    asked = [_dict(one) for one in _list(call.reply.get("tool_calls"))]
    return ReplyView(
        text=maybe(call.reply.get("text") or None, longest),
        reasoning=maybe(call.reply.get("reasoning") or None, longest),
        calls=[(str(one.get("name")), shown(one.get("arguments"), longest)) for one in asked],
        repairs=[_repair(one, longest) for one in call.repairs],
        read=_read(call, longest),
        fault=None if call.error is None else cut(_fault(call.error), longest),
    )


def _repair(one: dict[str, Any], longest: int) -> RepairView:
    return RepairView(str(one.get("kind")), shown(one.get("before"), longest), shown(one.get("after"), longest))


def _read(call: LMCall, longest: int) -> Text | None:
    """The decision; ``None`` where the reply says the same in plain words: an answer, or calls that nothing changed."""
    decision = call.decision or {}
    if "final" in decision:
        same = decision["final"] == str(call.reply.get("text") or "").strip()
        return None if same else cut(f"the answer: {decision['final']}", longest)
    if not decision or (call.reply.get("tool_calls") and not call.repairs):
        return None
    calls = (_dict(one) for one in _list(decision.get("tool_calls")))
    return cut("\n".join(f"{one.get('name')} {shown(one.get('args'), longest).shown}" for one in calls), longest)


def _fault(error: dict[str, Any]) -> str:
    return ": ".join(str(error[name]) for name in ("reason", "seen") if error.get(name))


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

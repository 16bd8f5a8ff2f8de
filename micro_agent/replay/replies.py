"""What the model said, where it could not be used as it came: what was repaired in it, or why it could not be read.

Of several replies to one request also how the one in force was chosen, and those that were thrown away with the reason.
"""

import json
from collections.abc import Iterator
from typing import Any

from micro_agent.run import LMCall, Run
from micro_agent.run.sampling import replies

_LONGEST = 600
_LONGEST_OF_OTHERS = 200
"""Characters of a reply that was thrown away, and of the reason."""


class Replies:
    """The replies of a run, each told once, at the first step that was made of it."""

    def __init__(self, run: Run) -> None:
        self._left = dict(enumerate(run.calls))
        self._last = len(run.calls) - 1

    def at(self, call: int | None) -> Iterator[str]:
        """What is to be told of the reply with this index: nothing of one that was used as it came."""
        if call is not None and (reply := self._left.pop(call, None)) is not None:
            yield from _told(reply)

    def last(self) -> Iterator[str]:
        """What is to be told of the last reply, where no step was made of it: it was the answer."""
        yield from self.at(self._last)


def _told(call: LMCall) -> Iterator[str]:
    if call.samples:
        yield f"     {counted(call)}"
    for other in call.samples:
        if other.fault is not None:
            yield f"     thrown away: {_cut(said(other.reply), _LONGEST_OF_OTHERS)}"
            yield f"       -> {_cut(' '.join(_text(other.fault.observation).split()), _LONGEST_OF_OTHERS)}"
    decision = call.decision or {}
    natively = bool(call.reply.get("tool_calls"))
    in_text = call.mode == "native" and bool(decision.get("tool_calls")) and not natively
    if not (call.repairs or call.error or in_text):
        return
    yield f"     {'read from the text' if in_text else 'the reply'}: {_cut(said(call.reply), _LONGEST)}"
    if call.repairs:
        kinds = dict.fromkeys(str(repair.get("kind")) for repair in call.repairs)
        yield f"     repaired: {', '.join(kinds)}"


def counted(call: LMCall) -> str:
    """How many replies there were, and of how many of them what was true."""
    chosen, every = call.chosen or {"agree": 0}, replies(call)
    tried = {at for at, one in enumerate(every) if one.fault is not None}
    unusable, loose = (set(chosen.get(what, ())) - tried for what in ("unusable", "ungrounded"))
    agree: int = chosen["agree"]
    parts = (
        (agree * (agree > 1), "agree", "agree"),
        (len(tried), "was thrown away", "were thrown away"),
        (len(unusable), "could not be used", "could not be used"),
        (len(loose), "has words that stand nowhere", "have words that stand nowhere"),
    )
    told = [f"{count} {one if count == 1 else more}" for count, one, more in parts if count]
    if agree == 1 and not told:
        told = ["no two agree"]
    return ": ".join([f"{len(every)} replies", *(["; ".join(told)] if told else [])])


def said(reply: dict[str, Any]) -> str:
    """A reply on one line: its text, then the calls that it made natively."""
    calls: list[dict[str, Any]] = reply.get("tool_calls") or []
    made = (f"{call.get('name')} {_text(call.get('arguments'))}" for call in calls)
    return " ".join(" ".join([str(reply.get("text") or ""), *made]).split()) or "nothing"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"

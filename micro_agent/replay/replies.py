"""What the model said, where it could not be used as it came: what was repaired in it, or why it could not be read."""

import json
from collections.abc import Iterator
from typing import Any

from micro_agent.run import LMCall, Run

_LONGEST = 600


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
    decision = call.decision or {}
    natively = bool(call.reply.get("tool_calls"))
    in_text = call.mode == "native" and bool(decision.get("tool_calls")) and not natively
    if not (call.repairs or call.error or in_text):
        return
    yield f"     {'read from the text' if in_text else 'the reply'}: {_cut(_said(call.reply))}"
    if call.repairs:
        kinds = dict.fromkeys(str(repair.get("kind")) for repair in call.repairs)
        yield f"     repaired: {', '.join(kinds)}"


def _said(reply: dict[str, Any]) -> str:
    """A reply on one line: its text, then the calls that it made natively."""
    calls: list[dict[str, Any]] = reply.get("tool_calls") or []
    made = (f"{call.get('name')} {_text(call.get('arguments'))}" for call in calls)
    return " ".join(" ".join([str(reply.get("text") or ""), *made]).split()) or "nothing"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

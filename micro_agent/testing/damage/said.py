"""What a reply says, apart from how it says it: the calls or the answer, and the parts that damages put together."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.text.encoding import object_of


@dataclass(frozen=True, slots=True)
class Said:
    """A reply that is to be damaged.

    ``native``: tools stood on the wire, so that it answers in plain prose; in JSON mode calls and answers are objects.
    ``calls`` have objects as arguments. ``text`` is all of it as text: calls as the object that a model of this mode
    writes, an answer as it stands, or whatever came where the reply was not a clean one to begin with.
    """

    reply: ModelReply
    native: bool
    calls: tuple[RawCall, ...]
    text: str

    def written(self, text: str) -> ModelReply:
        """The reply with nothing but this text."""
        return replace(self.reply, text=text, calls=(), finish_reason="stop")

    def called(self, change: Callable[[RawCall], RawCall]) -> ModelReply:
        """The reply with its native calls changed."""
        return replace(self.reply, calls=tuple(map(change, self.calls)))

    def form(self, name: str, args: Any, *, key: str | None = None) -> dict[str, Any]:
        """A call as the object of this mode, its arguments under ``key``."""
        if self.native:
            return {"name": name, key or "arguments": args}
        return {"tool": {"name": name, key or "args": args}}

    def objects(self, change: Callable[[RawCall], Any]) -> str:
        """The calls as text: each as ``change`` has it, several as a list."""
        made = [change(call) for call in self.calls]
        return as_json(made[0] if len(made) == 1 else made)


def said(reply: ModelReply, *, native: bool) -> Said | None:
    """What a reply says; ``None`` if it says nothing."""
    if reply.calls:
        calls = tuple(replace(call, arguments=object_of(call.arguments)) for call in reply.calls)
        if any(call.arguments is None for call in calls):
            return None
        whole = Said(reply, native, calls, "")
        return replace(whole, text=whole.objects(lambda call: whole.form(call.name, call.arguments)))
    if not reply.text.strip():
        return None
    return Said(reply, native, () if native else _decided(reply.text), reply.text)


def as_json(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def _decided(text: str) -> tuple[RawCall, ...]:
    """The call in a clean decision of JSON mode."""
    decision = (object_of(text) or {}).get("tool")
    fields = cast("dict[str, Any]", decision) if isinstance(decision, dict) else {}
    name, args = fields.get("name"), fields.get("args")
    if len(fields) != 2 or not isinstance(name, str) or not isinstance(args, dict):
        return ()
    return (RawCall(name, cast("dict[str, Any]", args)),)

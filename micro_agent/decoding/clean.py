"""What most replies are: whole native calls, or words and nothing else. They are read here, and no reader is loaded.

Loading the readers takes a quarter of a second, most of it for their patterns. What is read here is read by them in
the same way; a test compares the two.
"""

import re
from typing import Any, cast

from micro_agent.decoding.decision import Final, ModelReply, RawCall, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.strict import Unreadable, exact

_WORDS = re.compile(r"(?=[^\W_])(?!analysis)(?:[\w ,;'’%$€£+]|[.!?](?![^\W\d_])|-(?!-))+(?<=[.!?])")
"""A sentence or a few on one line. Every dialect, a thought and a placeholder has a sign that is not among these.

What is left of gpt-oss's channels without their tokens begins with ``analysis``, and runs sentences into one another.
"""


def clean(reply: ModelReply, offer: Offer) -> ToolCalls | Final | None:
    """The decision of a reply without any defect; ``None`` where the readers have to look."""
    if reply.calls:
        calls = [_call(raw, offer) for raw in reply.calls]
        distinct = len(calls) == 1 or len({raw.id for raw in reply.calls if raw.id}) == len(calls)
        return ToolCalls([call for call in calls if call], []) if all(calls) and distinct else None
    whole = reply.finish_reason in (None, "stop")
    return Final(reply.text, prose=True) if whole and _WORDS.fullmatch(reply.text) else None


def _call(raw: RawCall, offer: Offer) -> ToolCall | None:
    """A call of a tool by its very name, with an object of its arguments that has no object in it."""
    if offer.tool(raw.name) is None:
        return None
    args = _object(raw.arguments)
    if args is None or not args.keys() <= offer.properties(raw.name) or any(isinstance(v, dict) for v in args.values()):
        return None
    return ToolCall(raw.name, args, raw.id or None)


def _object(arguments: Any) -> dict[str, Any] | None:
    if isinstance(arguments, str):
        try:
            arguments = None if "</" in arguments else exact(arguments)
        except Unreadable:
            return None
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else None

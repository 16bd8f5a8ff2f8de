"""A value of a call holds what the model wrote: where a thought was taken out of the middle of one, it is put back.

A tag inside a value is found where the value can be read. Where its quotes are broken it cannot, and what looks like
a thought in it was set aside. So the values are looked for in the reply as it came.
"""

import re
from collections.abc import Callable

from micro_agent.decoding.clearing.thinking import without_thinking
from micro_agent.decoding.decision import Decision, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.settle import error

_NO_MATTER = re.compile(r"\\+[nrt]|\\+u[0-9a-fA-F]{4}|[\s\\]|[^\x00-\x7f]")
"""Escapes and what may be written as one."""


def kept(found: Decision | None, written: str, again: Callable[[], Decision | None], offer: Offer) -> Decision | None:
    """``found``, or the same calls with whole values, or an error.

    Args:
        found: What was read without the thoughts.
        written: The reply with them.
        again: Reads the reply with them.
        offer: The tools.
    """
    if not isinstance(found, ToolCalls):
        return found
    plain = _plain(written)
    if all(_plain(text) in plain for call in found.calls for text in texts(call.args)):
        return found
    whole = again()
    if isinstance(whole, ToolCalls) and _same(found.calls, whole.calls):
        return whole
    return error("malformed", "A call with the markup of a thought inside a value.", offer)


def _same(found: list[ToolCall], whole: list[ToolCall]) -> bool:
    """Whether the calls are the same but for thoughts inside their values."""
    return [_spoken(call) for call in found] == [_spoken(call) for call in whole]


def _spoken(call: ToolCall) -> tuple[str, list[str], list[str]]:
    return call.name, list(call.args), [_plain(without_thinking(text)) for text in texts(call.args)]


def _plain(text: str) -> str:
    return _NO_MATTER.sub("", text)

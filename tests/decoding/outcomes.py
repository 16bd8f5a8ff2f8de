"""What the tests of decoding expect of a text: calls, or the reason of an error."""

from collections.abc import Sequence

from micro_agent.decoding import DecodeError, ModelReply, ToolCall, ToolCalls, decode
from micro_agent.tools import Tool


def calls(
    text: str, tools: Sequence[Tool] | None, finish: str | None = None, kind: str | None = None
) -> list[ToolCall]:
    """The calls in ``text``, which must hold some; ``kind`` is that of the first repair."""
    decision = decode(ModelReply(text=text, finish_reason=finish), tools)
    assert isinstance(decision, ToolCalls), decision
    assert kind is None or decision.repairs[0].kind == kind
    return decision.calls


def reason(text: str, tools: Sequence[Tool] | None, finish: str | None = None) -> str:
    """Why ``text`` is an error, which it must be."""
    decision = decode(ModelReply(text=text, finish_reason=finish), tools)
    assert isinstance(decision, DecodeError), decision
    return decision.reason

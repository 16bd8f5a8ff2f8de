"""The tool calls that came over the wire as such."""

from typing import Any

from micro_agent.decoding.arguments import read_arguments
from micro_agent.decoding.decision import DecodeError, ModelReply, RawCall, Repair, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.mending import Unreadable, exact, repair
from micro_agent.decoding.settle import arguments_of, error
from micro_agent.decoding.wording import shorten


def read_calls(reply: ModelReply, offer: Offer) -> ToolCalls | DecodeError:
    """All native calls of ``reply``, which has at least one, or why none of them is run.

    A call of an unknown tool, or with arguments that do not fit, is kept: the loop answers it under its id.
    """
    if offer.names == []:
        return error("unknown_tool", f"A call of {_shown(reply.calls[0])} where no tool is offered.", offer)
    if reply.cut_off and not _complete(reply.calls[-1]):
        seen = f"A call of {_shown(reply.calls[-1])} that the token limit cut off."
        return error("cut_off", seen, offer, offer.resolve(reply.calls[-1].name))
    calls: list[ToolCall] = []
    repairs: list[Repair] = []
    for index, raw in enumerate(reply.calls):
        if raw.id and raw in reply.calls[:index]:
            repairs.append(repair("repetition", raw.name, raw.id))
            continue
        if not raw.name.strip():
            return error("malformed", "A tool call without a name.", offer)
        name = offer.resolve(raw.name) or raw.name
        try:
            args, mended = _arguments(raw, name, offer)
        except Unreadable as why:
            seen = f"A call of {_shown(raw)} whose arguments cannot be read: {why}."
            return error("malformed", seen, offer, name)
        calls.append(ToolCall(name, args, raw.id or None))
        repairs += [repair("tool_name", raw.name, name), *mended] if name != raw.name else mended
    return ToolCalls(calls, repairs)


def _arguments(raw: RawCall, name: str, offer: Offer) -> tuple[dict[str, Any], list[Repair]]:
    """The arguments; those of a tool there is also where they stand in a list or in a whole call.

    Raises:
        Unreadable: There is no object.
    """
    if offer.tool(name) is None:
        return read_arguments(raw.arguments, offer.allowance)
    try:
        value = exact(raw.arguments) if isinstance(raw.arguments, str) else raw.arguments
    except Unreadable:
        value = raw.arguments
    return arguments_of(name, value if isinstance(value, list) else raw.arguments, offer)


def _complete(raw: RawCall) -> bool:
    """Whether the arguments are JSON to the last bracket: what was cut off is not, and it is never repaired."""
    if not isinstance(raw.arguments, str):
        return isinstance(raw.arguments, dict)
    try:
        return isinstance(exact(raw.arguments), dict | str)
    except Unreadable:
        return False


def _shown(raw: RawCall) -> str:
    return repr(shorten(raw.name, 60))

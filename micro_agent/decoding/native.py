"""The tool calls that came over the wire as such."""

from dataclasses import replace
from typing import Any

from micro_agent.decoding.arguments import arguments_of, read_arguments
from micro_agent.decoding.decision import DecodeError, ModelReply, RawCall, Reason, Repair, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.mending import Unreadable, exact, repair
from micro_agent.decoding.scan.scanner import piece_at
from micro_agent.decoding.settle import error
from micro_agent.decoding.wording import shorten

_ENDED = frozenset({
    "stop", "tool_calls", "tool_call", "function_call", "tool_use", "eos", "eos_token", "end_turn", "stop_sequence",
})  # fmt: skip
"""The words of servers for a reply that the model ended by itself."""
_CUT: dict[str, tuple[Reason, str]] = {
    "length": ("cut_off", "the token limit cut off"),
    "content_filter": ("refused", "the content filter of the server cut off"),
}


def read_calls(reply: ModelReply, offer: Offer) -> ToolCalls | DecodeError:
    """All native calls of ``reply``, which has at least one, or why none of them is run.

    A call of an unknown tool, or with arguments that do not fit, is kept: the loop answers it under its id.
    """
    if offer.names == []:
        return error("unknown_tool", f"A call of {_shown(reply.calls[0])} where no tool is offered.", offer)
    finish = (reply.finish_reason or "").lower()
    if finish and finish not in _ENDED and not _complete(reply.calls[-1].arguments):
        reason, by = _CUT.get(finish, ("malformed", f"the server cut off ({shorten(finish, 40)})"))
        return error(
            reason, f"A call of {_shown(reply.calls[-1])} that {by}.", offer, offer.resolve(reply.calls[-1].name)
        )
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
            whole, closing = _closed(raw, finish)
            args, mended = _arguments(whole, name, offer)
        except Unreadable as why:
            seen = f"A call of {_shown(raw)} whose arguments cannot be read: {why}."
            return error("malformed", seen, offer, name)
        calls.append(ToolCall(name, args, raw.id or None))
        repairs += [repair("tool_name", raw.name, name)] if name != raw.name else []
        repairs += [*closing, *mended]
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


def _closed(raw: RawCall, finish: str) -> tuple[RawCall, list[Repair]]:
    """The call with the brackets that its arguments lack behind a number, which goes on where it was cut off.

    So the server has to say that it was not; behind other values `read_arguments` puts them back.
    """
    text = raw.arguments.rstrip() if isinstance(raw.arguments, str) else ""
    if finish not in _ENDED or not text[-1:].isdigit() or not text.startswith("{"):
        return raw, []
    whole = text + (piece_at(text, 0).missing or "")
    try:
        exact(whole)
    except Unreadable:
        return raw, []
    return replace(raw, arguments=whole), [repair("closing_brackets", text, whole)]


def _complete(arguments: Any) -> bool:
    """Whether the arguments are JSON to the last bracket: what was cut off is not, and it is never repaired."""
    for _ in range(2):  # a string of JSON that holds an object is whole where both are
        if not isinstance(arguments, str):
            break
        try:
            arguments = exact(arguments)
        except Unreadable:
            return False
    return isinstance(arguments, dict)


def _shown(raw: RawCall) -> str:
    return repr(shorten(raw.name, 60))

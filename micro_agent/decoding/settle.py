"""Objects that look like calls become calls, or an error that says why not, or turn out to be data."""

from collections.abc import Sequence
from dataclasses import dataclass

from micro_agent.decoding.arguments import read_arguments
from micro_agent.decoding.decision import DecodeError, Final, Reason, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair import Unreadable
from micro_agent.decoding.shapes import Shape, final_call
from micro_agent.decoding.wording import expected, shorten

MAX_CALLS = 32
"""More calls than this in one text are a model that repeats itself."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a shape is no call; ``data`` when it may as well be none."""

    error: DecodeError
    data: bool


def settle(shapes: Sequence[Shape], offer: Offer) -> ToolCalls | Final | DecodeError | None:
    """The decision that one object or list of call shapes is; ``None`` when it is data that only looks like it.

    Every name must be a tool's and all arguments must fit its schema. One bad call spoils the list, since the others
    may depend on it.
    """
    if len(shapes) > MAX_CALLS:
        return error("ambiguous", f"{len(shapes)} tool calls in one reply, more than {MAX_CALLS}.", offer)
    if len(shapes) == 1 and offer.resolve(shapes[0].name) is None and (answer := final_call(shapes[0])) is not None:
        return Final(answer)
    settled = [_call(shape, offer) for shape in shapes]
    refused = [one for one in settled if isinstance(one, _Refusal)]
    if not refused:
        done = [one for one in settled if isinstance(one, ToolCalls)]
        return ToolCalls([c for one in done for c in one.calls], [r for one in done for r in one.repairs])
    if all(one.data for one in refused) and len(refused) == len(settled):
        return None
    return next((one.error for one in refused if not one.data), refused[0].error)


def error(reason: Reason, seen: str, offer: Offer, name: str | None = None) -> DecodeError:
    """A `DecodeError` that shows the form, with the tool of this name as the example."""
    return DecodeError(reason, seen, expected(reason, offer.names, offer.tool(name)))


def _call(shape: Shape, offer: Offer) -> ToolCalls | _Refusal:
    name = offer.resolve(shape.name)
    if name is None or (offer.tools is None and shape.strength != "explicit"):
        seen = f"A call of {shorten(shape.name, 60)!r}, which is no tool."
        return _Refusal(error("unknown_tool", seen, offer), shape.strength != "explicit")
    data = shape.strength == "loose"
    try:
        args, repairs = read_arguments(shape.args, offer.allowance)
    except Unreadable as why:
        seen = f"A call of {name!r} whose arguments cannot be read: {why}."
        return _Refusal(error("bad_arguments", seen, offer, name), data)
    if (faults := offer.faults(name, args)) is not None:
        seen = f"A call of {name!r} with arguments that do not fit: {shorten(faults, 300)}."
        return _Refusal(error("bad_arguments", seen, offer, name), data)
    return ToolCalls([ToolCall(name, args)], repairs)

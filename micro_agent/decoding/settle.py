"""Objects that look like calls become calls, or an error that says why not, or turn out to be data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.decoding.arguments import arguments_of, valued
from micro_agent.decoding.decision import Decision, DecodeError, Final, Reason, ToolCall, ToolCalls
from micro_agent.decoding.keys import BESIDE, THOUGHTS, plain
from micro_agent.decoding.markup.plain_input import only_text
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.mending import Unreadable, repair
from micro_agent.decoding.shapes import Shape, final_call, told_of
from micro_agent.decoding.wording import expected, shorten

MAX_CALLS = 32
"""More calls than this in one text are a model that repeats itself."""
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a shape is not a call; ``data`` when it may as well be none."""

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
    settled = [_call(told, offer) for shape in shapes for told in _told(shape, offer)]
    refused = [one for one in settled if isinstance(one, _Refusal)]
    if not refused:
        done = [one for one in settled if isinstance(one, ToolCalls)]
        return ToolCalls([c for one in done for c in one.calls], [r for one in done for r in one.repairs])
    if all(one.data for one in refused) and len(refused) == len(settled):
        return None
    return next((one.error for one in refused if not one.data), refused[0].error)


def all_or_none(decision: Decision, offer: Offer) -> Decision:
    """The calls of a text, or an error where the loop would refuse one of several: others may depend on it."""
    if isinstance(decision, ToolCalls) and len(decision.calls) > 1:
        for call in decision.calls:
            if (faults := offer.refused(call.name, call.args)) is not None:
                return _unfitting(call.name, faults, offer)
    return decision


def error(reason: Reason, seen: str, offer: Offer, name: str | None = None) -> DecodeError:
    """A `DecodeError` that shows the form, with the tool of this name as the example."""
    form = expected(reason, offer.names, offer.tool(name), native=offer.native, submit=offer.submit)
    return DecodeError(reason, seen, form)


def _told(shape: Shape, offer: Offer, levels: int = _LEVELS) -> list[Shape]:
    """The calls that one of a function which calls others speaks of; else itself."""
    if offer.tools is None or not levels or offer.resolve(shape.name) is not None:
        return [shape]
    inner = told_of(shape, lambda name: offer.resolve(name) is not None)
    return [one for told in inner for one in _told(told, offer, levels - 1)] or [shape]


def _call(shape: Shape, offer: Offer) -> ToolCalls | _Refusal:
    name = offer.resolve(shape.name)
    if name is None or (offer.tools is None and shape.strength != "explicit"):
        seen = f"A call of {shorten(shape.name, 60)!r}, which is not a tool."
        return _Refusal(error("unknown_tool", seen, offer, offer.meant(shape.name)), shape.strength != "explicit")
    data = shape.strength == "loose"
    if shape.strength == "described" and not _takes_a_schema(name, offer):
        return _described(name, shape.args, offer)
    try:
        args, repairs = arguments_of(name, _meant_by(shape, name, offer), offer)
    except Unreadable as why:
        seen = f"A call of {name!r} whose arguments cannot be read: {why}."
        return _Refusal(error("bad_arguments", seen, offer, name), data)
    if (faults := offer.faults(name, args, extras=shape.strength == "explicit")) is not None:
        return _Refusal(_unfitting(name, faults, offer), data)
    if data and offer.unchecked:
        return _Refusal(error("bad_arguments", f"A call of {name!r} among many other objects.", offer, name), data)
    return ToolCalls([ToolCall(name, args)], repairs)


def _unfitting(name: str, faults: str, offer: Offer) -> DecodeError:
    seen = f"A call of {name!r} with arguments that do not fit: {shorten(faults, 300)}."
    return error("bad_arguments", seen, offer, name)


def _takes_a_schema(name: str, offer: Offer) -> bool:
    """Whether the arguments of this tool are themselves called as the parts of a JSON Schema are."""
    return offer.tools is not None and {"type", "properties"} <= offer.properties(name)


def _described(name: str, schema: dict[str, Any], offer: Offer) -> ToolCalls | _Refusal:
    """The schema of a tool, repeated: a call only where models have put all values into it, ``{"city": "Rome"}``."""
    given = valued(schema["properties"]) or cast("dict[str, Any]", schema["properties"])
    if (
        given
        and given.keys() <= offer.properties(name)
        and not any(isinstance(value, dict) for value in given.values())
        and offer.faults(name, given) is None
    ):
        return ToolCalls([ToolCall(name, given)], [repair("unnested", str(schema), str(given))])
    seen = f"The description of the tool {name!r}, repeated; values for its arguments are wanted."
    return _Refusal(error("malformed", seen, offer, name), offer.tools is None)


def _meant_by(shape: Shape, name: str, offer: Offer) -> Any:
    """The arguments as they stand there; a text as an input is the only argument where the tool has one such."""
    args: Any = shape.args
    if shape.strength in ("named", "loose", "bare") and isinstance(
        args, dict
    ):  # beside the name, with an id of the call
        known, beside = offer.properties(name), cast("dict[str, Any]", args)
        return {key: value for key, value in beside.items() if key in known or plain(key) not in BESIDE | THOUGHTS}
    key = only_text(offer, name) if shape.said and not args.lstrip().startswith(("{", '"{')) else None
    return args if key is None or not args.strip() else {key: args}

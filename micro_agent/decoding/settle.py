"""Objects that look like calls become calls, or an error that says why not, or turn out to be data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.decoding.arguments import read_arguments
from micro_agent.decoding.decision import DecodeError, Final, Reason, Repair, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair import Unreadable, repair
from micro_agent.decoding.shapes import ARGUMENTS, Shape, call_shapes, final_call, plain
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
    return DecodeError(reason, seen, expected(reason, offer.names, offer.tool(name), native=offer.native))


def _call(shape: Shape, offer: Offer) -> ToolCalls | _Refusal:
    name = offer.resolve(shape.name)
    if name is None or (offer.tools is None and shape.strength != "explicit"):
        seen = f"A call of {shorten(shape.name, 60)!r}, which is no tool."
        return _Refusal(error("unknown_tool", seen, offer, offer.meant(shape.name)), shape.strength != "explicit")
    data = shape.strength == "loose"
    try:
        args, repairs = _arguments(name, shape.args, offer)
    except Unreadable as why:
        seen = f"A call of {name!r} whose arguments cannot be read: {why}."
        return _Refusal(error("bad_arguments", seen, offer, name), data)
    if (faults := offer.faults(name, args, extras=shape.strength == "explicit")) is not None:
        seen = f"A call of {name!r} with arguments that do not fit: {shorten(faults, 300)}."
        return _Refusal(error("bad_arguments", seen, offer, name), data)
    if data and offer.unchecked:
        return _Refusal(error("bad_arguments", f"A call of {name!r} among many other objects.", offer, name), data)
    return ToolCalls([ToolCall(name, args)], repairs)


def _arguments(name: str, raw: Any, offer: Offer) -> tuple[dict[str, Any], list[Repair]]:
    """The arguments, taken out of what they are nested in once more where they do not fit as they stand.

    Raises:
        Unreadable: ``raw`` holds no object.
    """
    given = _out_of_list(raw)
    args, repairs = read_arguments(given, offer.allowance)
    if given is not raw:
        repairs = [repair("unnested", str(raw), str(given)), *repairs]
    inner = _nested(name, args, offer)
    if inner is None:
        return args, repairs
    try:
        found, more = read_arguments(inner, offer.allowance)
    except Unreadable:
        return args, repairs
    if offer.faults(name, found) is not None:
        return args, repairs
    unnested = repair("unnested", json.dumps(args, ensure_ascii=False), json.dumps(found, ensure_ascii=False))
    return found, [*repairs, unnested, *more]


def _out_of_list(raw: Any) -> Any:
    """The one object in a list, as if it were passed by place; an empty list is no arguments."""
    if not isinstance(raw, list):
        return raw
    items = cast("list[Any]", raw)
    return items[0] if [type(item) for item in items] == [dict] else items or None


def _nested(name: str, args: dict[str, Any], offer: Offer) -> Any:
    """What stands in ``{"args": …}``, ``{"calculator": …}`` or a whole call where the arguments are wanted."""
    key = next(iter(args), "")
    if len(args) == 1 and _may_wrap(args[key]) and (plain(key) in ARGUMENTS or offer.resolve(key) == name):
        return args[key] if offer.misfits(name, args) else None
    again = call_shapes(args) or [] if len(args) > 1 else []
    same = len(again) == 1 and again[0].strength == "explicit" and offer.resolve(again[0].name) == name
    return again[0].args if same and offer.misfits(name, args) else None


def _may_wrap(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and value.lstrip().startswith(("{", '"{')))

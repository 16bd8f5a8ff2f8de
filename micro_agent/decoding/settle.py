"""Objects that look like calls become calls, or an error that says why not, or turn out to be data."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.decoding.arguments import read_arguments
from micro_agent.decoding.decision import Decision, DecodeError, Final, Reason, Repair, ToolCall, ToolCalls
from micro_agent.decoding.keys import ARGUMENTS, BESIDE, THOUGHTS, plain
from micro_agent.decoding.markup.plain_input import only_text
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.reading.tag_arguments import tagged_arguments
from micro_agent.decoding.repair.mending import Unreadable, as_json, repair
from micro_agent.decoding.shapes import Shape, call_shapes, final_call
from micro_agent.decoding.wording import expected, shorten

_PAIR = {"name", "value"}
_VALUED = {"value", "type", "title", "description", "required"}
_AROUND = frozenset({*ARGUMENTS, "properties"})
MAX_CALLS = 32
"""More calls than this in one text are a model that repeats itself."""


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
    settled = [_call(shape, offer) for shape in shapes]
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
    given = _valued(schema["properties"]) or cast("dict[str, Any]", schema["properties"])
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
    beside = _object(shape.args)
    if shape.strength in ("named", "loose", "bare") and beside:  # they stand beside the name, with an id of the call
        known = offer.properties(name)
        return {key: value for key, value in beside.items() if key in known or plain(key) not in BESIDE | THOUGHTS}
    key = only_text(offer, name) if shape.said and not shape.args.lstrip().startswith(("{", '"{')) else None
    return shape.args if key is None or not shape.args.strip() else {key: shape.args}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def arguments_of(name: str, raw: Any, offer: Offer) -> tuple[dict[str, Any], list[Repair]]:
    """The arguments, taken out of what they are nested in once more where they do not fit as they stand.

    Raises:
        Unreadable: ``raw`` holds no object.
    """
    if isinstance(raw, str) and "</" in raw and (tagged := tagged_arguments(raw, name, offer)) is not None:
        return tagged, [repair("surroundings", raw, as_json(tagged))]
    given = _out_of_list(raw)
    args, repairs = read_arguments(given, offer.allowance)
    if given is not raw:
        repairs = [repair("unnested", str(raw), str(given)), *repairs]
    if offer.fits(name, args):
        return args, repairs
    for inner in _inside(name, args, offer):
        with suppress(Unreadable):
            found, more = read_arguments(inner, offer.allowance)
            if offer.faults(name, found) is None:
                unnested = repair("unnested", as_json(args), as_json(found))
                return found, [*repairs, unnested, *more]
    return args, repairs


def _out_of_list(raw: Any) -> Any:
    """The one object in a list, as if it were passed by place; an empty list is no arguments."""
    if not isinstance(raw, list):
        return raw
    items = cast("list[Any]", raw)
    pairs = [cast("dict[str, Any]", item) for item in items if isinstance(item, dict) and item.keys() == _PAIR]
    if items and len(pairs) == len(items) == len({str(pair["name"]) for pair in pairs}):
        return {str(pair["name"]): pair["value"] for pair in pairs}
    return items[0] if [type(item) for item in items] == [dict] else items or None


def _inside(name: str, args: dict[str, Any], offer: Offer) -> Iterator[Any]:
    """What may be meant where ``args`` do not fit: what they are nested in, what each of them holds as its value."""
    nested = _nested(name, args, offer)
    for given in (nested, _valued(args), _valued(nested)):
        if given is not None and offer.misfits(name, args):
            yield given


def _valued(args: Any) -> dict[str, Any] | None:
    """``{"city": "Rome"}`` for ``{"city": {"type": "string", "value": "Rome"}}``, as a schema with values in it."""
    given = _object(args)
    held = [cast("dict[str, Any]", value) for value in given.values() if isinstance(value, dict)]
    if not given or len(held) < len(given) or not all({"value"} <= value.keys() <= _VALUED for value in held):
        return None
    return {key: value["value"] for key, value in zip(given, held, strict=True)}


def _nested(name: str, args: dict[str, Any], offer: Offer) -> Any:
    """What stands in ``{"args": …}``, ``{"calculator": …}`` or a whole call where the arguments are wanted."""
    key = next(iter(args), "")
    if len(args) == 1 and _may_wrap(args[key]) and _is_wrapper(key, args[key], name, offer):
        return args[key]
    known = offer.properties(name)
    held = [_object(value) for key, value in args.items() if isinstance(value, dict) and key not in known]
    if len(held) == 1 and known.isdisjoint(args) and held[0].keys() <= known:
        return held[0]  # beside words that are no arguments
    again = call_shapes(args) or [] if len(args) > 1 else []
    same = len(again) == 1 and again[0].strength == "explicit" and offer.resolve(again[0].name) == name
    return again[0].args if same else None


def _is_wrapper(key: str, value: Any, name: str, offer: Offer) -> bool:
    """Whether ``key`` only stands around arguments: its name says so, or all that is in it has the arguments' names."""
    if plain(key) in _AROUND or offer.resolve(key) == name:
        return True
    known = offer.properties(name)
    return isinstance(value, dict) and key not in known and cast("dict[str, Any]", value).keys() <= known


def _may_wrap(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, str) and value.lstrip().startswith(("{", '"{')))

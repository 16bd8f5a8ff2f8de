"""The arguments of a call, in whatever form they came, as an object that fits the tool."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.clearing.loops import beginning
from micro_agent.decoding.decision import Repair
from micro_agent.decoding.keys import ARGUMENTS, plain
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.reading.tag_arguments import tagged_arguments
from micro_agent.decoding.repair.closing import closed
from micro_agent.decoding.repair.mending import Allowance, Unreadable, as_json, exact, mend, repair
from micro_agent.decoding.scan.scanner import pieces
from micro_agent.decoding.shapes import call_shapes

_PAIR = {"name", "value"}
_VALUED = {"value", "type", "title", "description", "required"}
_AROUND = frozenset({*ARGUMENTS, "properties"})


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
    for given in (nested, valued(args), valued(nested)):
        if given is not None and offer.misfits(name, args):
            yield given


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def valued(args: Any) -> dict[str, Any] | None:
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


def read_arguments(raw: Any, allowance: Allowance) -> tuple[dict[str, Any], list[Repair]]:
    """The object that ``raw`` is or, as text, holds.

    ``None`` and empty text are not arguments. Text inside text (double encoding) is unwrapped once.

    Returns:
        The arguments and what was mended.

    Raises:
        Unreadable: ``raw`` holds no object.
    """
    value, repairs = _read(raw, allowance) if isinstance(raw, str) else (raw, [])
    if isinstance(value, str):
        inner, more = _read(value, allowance)
        repairs = [repair("double_encoding", cast("str", raw), value), *repairs, *more]
        value = inner
    if value is None:
        return {}, repairs
    if isinstance(value, dict):
        return cast("dict[str, Any]", value), repairs
    raise Unreadable(f"{_kind(value)} where an object is wanted")


def _read(text: str, allowance: Allowance) -> tuple[Any, list[Repair]]:
    if not text.strip():
        return None, []
    with suppress(Unreadable):
        return exact(text), []
    if beginning(text) is not None:
        raise Unreadable("it says the same again and again")
    found = pieces(text)
    if not found or not found[0].text.startswith("{"):
        raise Unreadable("no JSON object in it")
    if not found[0].closed:
        return closed(found[0], allowance)
    if len({piece.text for piece in found}) > 1:
        raise Unreadable("more than one object")
    value, repairs = mend(found[0].text, allowance)
    around = text.strip() != found[0].text
    return value, [repair("surroundings", text, found[0].text), *repairs] if around else repairs


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "a single value"

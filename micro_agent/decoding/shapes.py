"""What JSON values say: the shapes in which models write a call, and those of a final answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from micro_agent.decoding.keys import (
    ARGUMENTS,
    BESIDE,
    FINAL_KEYS,
    FINAL_NAMES,
    LISTS,
    NAMES,
    NOT_TO_DO,
    SAID,
    TELLING,
    THOUGHTS,
    WRAPPERS,
    plain,
)
from micro_agent.decoding.repair.mending import Unreadable, as_json, exact

_MAX_NESTING = 4
_MAX_LISTED = 100
"""Items of a list that are looked at: far more than may be called in one reply."""

Strength = Literal["explicit", "bare", "named", "loose", "described"]
"""How much an object looks like a call: it has a key for the arguments; it has keys that are nearly those; it has a
name and nothing else; it has a key that only a call has, and arguments beside it; it may as well be data that has a
name; it has a JSON Schema for arguments, as the system prompt shows a tool."""

Known = Callable[[str], bool]
"""Whether a tool has this name."""


class Shape(NamedTuple):
    """An object that looks like a call: the name it gives, and its arguments as they stand there, of any type."""

    name: str
    args: Any
    strength: Strength
    said: bool = False
    """Whether the arguments stand under a key for an input, which may be a text for the only argument."""


def call_shapes(value: Any, known: Known | None = None) -> list[Shape] | None:
    """The calls that a JSON value is: one for an object, several for a list of them; ``None`` when it is not a call.

    Args:
        value: Any JSON value.
        known: Tells a tool's name, for ``{"calculator": {"expression": "1+1"}}``; such a form is not a call without it.
    """
    return _Reading(known).shapes(value, _MAX_NESTING)


@dataclass(frozen=True, slots=True)
class _Reading:
    known: Known | None

    def shapes(self, value: Any, nesting: int) -> list[Shape] | None:
        if isinstance(value, list):
            return self._all(cast("list[Any]", value), nesting)
        if not isinstance(value, dict) or nesting == 0:
            return None
        given = cast("dict[str, Any]", value)
        keys = {plain(key): key for key in reversed(given)}  # of two keys that are alike the first counts
        for key in LISTS:
            if key not in keys:
                continue
            listed = _opened(given[keys[key]])
            if isinstance(listed, list):
                return self._all(cast("list[Any]", listed), nesting)
            if isinstance(listed, dict):
                return self.shapes(listed, nesting - 1)
        if (found := _shape(given, keys)) is not None:
            return [self._disputed(found, given, keys) or found]
        return (
            self._wrapped(given, keys, nesting)
            or self._named_by_key(given, keys)
            or self._beside(given, keys)
            or self._sequence(given, keys)
        )

    def _disputed(self, shape: Shape, value: dict[str, Any], keys: dict[str, str]) -> Shape | None:
        """A shape of no tool, where another key names another tool and the arguments stand apart."""
        if self.known is None or shape.strength != "explicit":
            return None
        said = [value[keys[key]] for key in NAMES if key in keys and _is_name(value[keys[key]])]
        named = {plain(name): name for name in said if self.known(name)}
        return Shape(" or ".join(named.values()), shape.args, shape.strength) if len(named) > 1 else None

    def _all(self, values: list[Any], nesting: int) -> list[Shape] | None:
        """The calls of a list when it holds nothing else than calls (and a final answer, which they outrank)."""
        values = [value for value in map(_opened, values[:_MAX_LISTED]) if not _is_said(value)]
        if len(values) == 1 and isinstance(values[0], list) and nesting:
            return self._all(cast("list[Any]", values[0]), nesting - 1)
        if len(values) == 2 and isinstance(values[0], str) and isinstance(values[1], dict) and self.known is not None:
            return [Shape(values[0], values[1], "named")] if self.known(values[0]) else None
        found = [self.shapes(value, nesting - 1) if isinstance(value, dict) else None for value in values]
        if not found or None in found:
            return None
        return [shape for shapes in found if shapes for shape in shapes]

    def _wrapped(self, value: dict[str, Any], keys: dict[str, str], nesting: int) -> list[Shape] | None:
        """``{"tool": {…}}`` and its like; the arguments may stand inside or beside."""
        for key in WRAPPERS:
            if key not in keys or not isinstance(wrapped := _opened(value[keys[key]]), dict | list):
                continue
            inner = self.shapes(wrapped, nesting - 1)
            beside = _first(keys, ARGUMENTS)
            if inner and len(inner) == 1 and inner[0].strength == "bare" and beside:
                return [Shape(inner[0].name, value[beside], "explicit")]
            if inner and key in ("tool", "toolcall", "functioncall"):
                return [_promoted(shape) for shape in inner]
            if inner:
                return inner
        return None

    def _named_by_key(self, value: dict[str, Any], keys: dict[str, str]) -> list[Shape] | None:
        """``{"calculator": {"expression": …}}`` or ``{"calculator": "1+1"}``: nothing but tools and a thought."""
        known = self.known
        if known is None or not value:
            return None
        calls = [key for plainly, key in keys.items() if plainly not in THOUGHTS | BESIDE and key not in FINAL_KEYS]
        said = len(calls) == 1 and isinstance(value[calls[0]], str)
        if not calls or not all((said or isinstance(_opened(value[key]), dict)) and known(key) for key in calls):
            return None
        return [Shape(key, value[key], "loose", said=said) for key in value if key in calls]

    def _beside(self, value: dict[str, Any], keys: dict[str, str]) -> list[Shape] | None:
        """``{"service": "turn_on", "entity_id": …}``, ``{"tool_call": "turn_on", "parameters": {…}}``.

        Whatever the key, its value is the only name of a tool there; the arguments are in an object beside it, or are
        all that is beside it.
        """
        known = self.known
        if known is None:
            return None
        arguments = _first(keys, ARGUMENTS)
        named = [key for key, one in value.items() if key not in ("", arguments) and _is_name(one) and known(one)]
        if len(named) != 1:
            return None
        name = value[named[0]]
        if arguments is not None:
            return [Shape(name, value[arguments], "named")]
        beside = {key: one for key, one in value.items() if key != named[0]}
        return [Shape(name, beside, "loose")] if {plain(key) for key in beside} - BESIDE - THOUGHTS else None

    def _sequence(self, value: dict[str, Any], keys: dict[str, str]) -> list[Shape] | None:
        """``{"steps": [{"click": {…}}, …]}``: calls by name alone in a list, and nothing but a thought beside it."""
        wrapping = [key for key in keys if key not in THOUGHTS | BESIDE]
        listed = _opened(value[keys[wrapping[0]]]) if len(wrapping) == 1 else None
        if not isinstance(listed, list) or NOT_TO_DO.search(wrapping[0]):
            return None
        found: list[Shape] = []
        for item in cast("list[Any]", listed):
            given = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
            shapes = self._named_by_key(given, {plain(key): key for key in given})
            if shapes is None:
                return None
            found += shapes
        return found or None


def _is_said(value: Any) -> bool:
    """Whether an item of a list is a final answer, or what is said beside a call in the form of Anthropic's blocks."""
    block = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return final_answer(value) is not None or (
        block.get("type") in ("text", "thinking")
        and "name" not in block
        and set() < block.keys() & {"text", "thinking"}
    )


def _opened(value: Any) -> Any:
    """``value``, or what it holds where it is JSON as text."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return exact(value)
    except Unreadable:
        return value


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and isinstance(_opened(value), str)


def _first(keys: dict[str, str], wanted: Iterable[str]) -> str | None:
    return next((keys[key] for key in wanted if key in keys), None)


def _promoted(shape: Shape) -> Shape:
    """Data does not stand under a key that only a call has."""
    return Shape(shape.name, shape.args, "named") if shape.strength in ("bare", "loose") else shape


def _shape(value: dict[str, Any], keys: dict[str, str]) -> Shape | None:
    key = next((key for key in NAMES if key in keys and _is_name(value[keys[key]])), None)
    if key is None:
        return None
    name = value[keys[key]]
    rest_keys = {plainly: given for plainly, given in keys.items() if plainly != key}
    if (arguments := _first(rest_keys, ARGUMENTS)) is not None:
        return _called(name, _given(value, rest_keys), said=plain(arguments) in SAID)
    rest = {given: one for given, one in value.items() if given in rest_keys.values() and given not in FINAL_KEYS}
    if key in ("tool", "toolname", "functionname", "selectedtool"):
        return Shape(name, rest, "named")
    return Shape(name, rest, "loose" if {plain(given) for given in rest} - BESIDE - THOUGHTS else "bare")


def _given(value: dict[str, Any], keys: dict[str, str]) -> Any:
    """The arguments; where two keys hold different ones, both, in a list that no tool takes for arguments."""
    held = [value[keys[key]] for key in ARGUMENTS if key in keys]
    filled = [args for args in held if args not in (None, "", {}, [])]
    filled = [args for args in filled if not _is_schema(args)] or filled
    if any(args != filled[0] for args in filled[1:]):
        return filled
    return filled[0] if filled else held[0]


def _is_schema(args: Any) -> bool:
    known = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
    return known.get("type") == "object" and isinstance(known.get("properties"), dict)


def _called(name: str, args: Any, *, said: bool) -> Shape:
    if _is_schema(args):
        return Shape(name, args, "described")
    return Shape(name, args, "explicit", said=said and isinstance(args, str))


def told_of(shape: Shape, known: Known) -> list[Shape]:
    """What ``{"method": "tools/call", "params": {"name": …, "arguments": …}}`` speaks of, in whatever dialect."""
    inner = (call_shapes(_opened(shape.args), known) or []) if plain(shape.name) in TELLING else []
    return inner if all(one.strength in ("explicit", "named") for one in inner) else []


def final_answer(value: Any) -> str | None:
    """The answer in an object that says it is the final one, ``None`` when it does not.

    ``{"answer": …}`` alone may be an answer in JSON to the user, so nothing but a thought may stand beside it.
    """
    if not isinstance(value, dict):
        return None
    known = cast("dict[str, Any]", value)
    if "final" in known and not isinstance(known["final"], bool):
        beside = any(inner not in (None, {}) for key, inner in known.items() if plain(key) not in {*THOUGHTS, "final"})
        if known["final"] is not None or not beside:
            return _answer_text(known["final"])
    said = {key for key, inner in known.items() if inner not in (None, "", [], {})} - THOUGHTS - BESIDE - {"final"}
    for key in ("final_answer", "answer"):
        if known.get(key) is not None and said <= {key}:
            return _answer_text(known[key])
    return None


def final_call(shape: Shape) -> str | None:
    """The answer in a call of a tool named ``final_answer`` or the like, which models make up."""
    if shape.name.strip().casefold() not in FINAL_NAMES or shape.strength != "explicit":
        return None
    return _answer_text(shape.args)


def _answer_text(value: Any) -> str:
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        for key in ("answer", "final_answer", "final", "text", "content", "response"):
            if key in known:
                return _answer_text(known[key])
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        again = final_answer(_opened(value))
        return value.strip() if again is None else again
    return as_json(value)

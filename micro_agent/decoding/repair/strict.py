"""JSON to the letter, what a decode may spend on reading anything else, and how a repair is told."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.decoding.decision import MAX_DEPTH, Repair
from micro_agent.decoding.wording import shorten
from micro_agent.text.numbers import number

_SHOWN = 200
# Python 3.13 points to the last comma; before, what should follow it was missed.
_SAID_BEFORE = {
    "Illegal trailing comma before end of object": "Expecting property name enclosed in double quotes",
    "Illegal trailing comma before end of array": "Expecting value",
}


class Unreadable(ValueError):
    """Text that is not JSON; ``str()`` says why, for a model."""


class GivenTwice(Unreadable):
    """An object has a key twice, with two values: no reading of it is right."""


@dataclass(slots=True)
class Allowance:
    """What one decode may still spend on the slow readers, in microseconds as measured on one slow core."""

    left: int = 16_000

    def spend(self, cost: int) -> bool:
        """Take ``cost`` off, if that much is left."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


def exact(text: str, *, strict: bool = True) -> Any:
    """``text`` as JSON: finite numbers only, at most 64 levels deep. ``strict=False`` allows raw control characters.

    Raises:
        Unreadable: It is none.
        GivenTwice: A key has two values.
    """
    try:
        value = (_STRICT if strict else _LOOSE).decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(_reason(error)) from None
    except Unreadable:
        raise
    except ValueError:  # Python reads no integer of more than sys.get_int_max_str_digits() digits
        raise Unreadable("a number with too many digits") from None
    except RecursionError:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _reason(error: json.JSONDecodeError) -> str:
    """What is wrong and where, alike on every Python: a model is told it, and a replay compares it."""
    said = _SAID_BEFORE.get(error.msg, error.msg)
    after = len(error.doc) - len(error.doc[error.pos + 1 :].lstrip(" \t\r\n"))
    return f"{said[:1].lower()}{said[1:]} at character {error.pos if said == error.msg else after}"


def _finite(digits: str) -> float:
    value = number(digits)
    if math.isinf(value):
        raise Unreadable(f"{shorten(digits, 20)} is not a finite number")
    return value


def _constant(word: str) -> Any:
    raise Unreadable(f"{word} is not JSON")


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs.

    Raises:
        GivenTwice: A key has two values.
    """
    known = dict(pairs)
    if len(known) < len(pairs):
        for key, value in pairs:
            if known[key] != value or type(known[key]) is not type(value):
                raise GivenTwice(f"{shorten(key, 40)!r} is given twice, with two values")
    return known


_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_constant, object_pairs_hook=once)
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_LOOSE = json.JSONDecoder(parse_float=_finite, parse_constant=_constant, object_pairs_hook=once, strict=False)


def _deeper(value: Any, limit: int) -> bool:
    level = _containers([value])
    for _ in range(limit):
        level = [inner for part in level for inner in _containers(part.values() if isinstance(part, dict) else part)]
    return bool(level)


def _containers(values: Iterable[Any]) -> list[dict[str, Any] | list[Any]]:
    return cast("list[Any]", [value for value in values if isinstance(value, (dict, list))])


def as_json(value: Any) -> str:
    """A JSON value as text, on one line, with all letters as they are."""
    return _ENCODER.encode(value)


def repair(kind: str, before: str, after: str) -> Repair:
    """A `Repair` with both texts shortened to 200 characters."""
    return Repair(kind, shorten(before, _SHOWN), shorten(after, _SHOWN))

"""JSON Schema's keywords as jsonschema checks them, within a bound on the time of one check.

Some schemas double the work with each level (``anyOf`` of twice the same), and some patterns take exponential time:
nothing may freeze the process that checks a model's arguments.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import re
import sys
from contextvars import ContextVar
from functools import cache, lru_cache
from time import thread_time
from types import FunctionType, SimpleNamespace
from typing import Any

from micro_agent.text.matching import readable, search

LIMIT_S = 0.5
"""Seconds of processor time that one check may take; what can be mended is checked twice."""
_EVERY_FEW, _FRAMES_LEFT = 8, 200
_EVERY = 64  # to ask for the time costs as much as a small keyword


class TookTooLong(Exception):
    """A check took more than `LIMIT_S`."""


class Bounded:
    """``with Bounded():`` all that is checked inside has `LIMIT_S` together; inside another one, what that has left."""

    __slots__ = ("_steps", "_token", "_until")

    def __init__(self) -> None:
        self._steps = 0
        self._until: float | None = None

    def __enter__(self) -> None:
        self._token = _bound.set(_bound.get() or self)

    def __exit__(self, *_: object) -> None:
        _bound.reset(self._token)

    def step(self) -> None:
        """Take note of a part of the schema that is looked at. Raises `TookTooLong`, or RecursionError in a circle."""
        self._steps += 1
        if not self._steps % _EVERY_FEW and _is_deep():
            raise RecursionError("its references go in a circle")
        if not self._steps % _EVERY:
            self.left()

    def left(self) -> float:
        """Seconds that are left. Raises `TookTooLong`."""
        now = thread_time()
        if self._until is None:
            self._until = now + LIMIT_S
        if now >= self._until:
            raise TookTooLong
        return self._until - now


def _is_deep() -> bool:
    """Whether the stack is nearly full: where it is in the end, jsonschema's maps (in Rust) panic, past ``except``."""
    try:
        sys._getframe(max(0, sys.getrecursionlimit() - _FRAMES_LEFT))  # pyright: ignore[reportPrivateUsage]
    except ValueError:
        return False
    return True


_bound: ContextVar[Bounded | None] = ContextVar("bound", default=None)
_DOLLAR = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<end>\$)", re.DOTALL)


def found(pattern: str, text: str) -> bool:
    """Whether a schema's pattern is found in a text. Raises `TookTooLong`.

    ``$`` is the very end, as in ECMA-262 and in Rust (which pydantic's patterns are written for), and not also the
    place before a newline that ends the text.
    """
    bound = _bound.get() or Bounded()
    seen = search(_at_the_very_end(pattern), text, limit_s=bound.left())
    if seen is None:
        raise TookTooLong
    return seen


@lru_cache(maxsize=512)
def _at_the_very_end(pattern: str) -> str:
    return _DOLLAR.sub(lambda item: r"\Z" if item["end"] else item[0], pattern)


def _unique(items: list[Any]) -> bool:
    """Whether no two items are equal; jsonschema compares each with each where they cannot be sorted."""
    return len({json.dumps(_canonical(item), sort_keys=True) for item in items}) == len(items)


def _canonical(value: Any) -> Any:
    """``value`` with whole numbers in one form: 1.0 is 1, and no number is a boolean."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return [_canonical(item) for item in value] if isinstance(value, list) else value


def _evolved(validator: Any, **changes: Any) -> Any:
    """The validator of another part: of this class whatever draft the part names, since only this class is bounded.

    Each part that is looked at comes by here, however it was reached.
    """
    (_bound.get() or Bounded()).step()
    return type(validator)(
        changes.get("schema", validator.schema), _resolver=changes.get("_resolver", validator._resolver)
    )


@cache
def bounded_validator() -> Any:
    """The class of jsonschema's validators for draft 2020-12, with every keyword bounded."""
    from jsonschema import Draft202012Validator, _keywords, _utils
    from jsonschema.validators import extend

    # jsonschema's own functions, in a namespace of their own where `re` and `uniq` are the bounded ones: what it
    # searches deep inside (for unevaluatedProperties) cannot be replaced by way of `extend`.
    names: dict[str, Any] = {**vars(_utils), **vars(_keywords)}
    for name, part in list(names.items()):
        if isinstance(part, FunctionType):
            names[name] = FunctionType(part.__code__, names, name, part.__defaults__, part.__closure__)
    names |= {"re": SimpleNamespace(search=found), "uniq": _unique}
    keywords = {keyword: names[part.__name__] for keyword, part in Draft202012Validator.VALIDATORS.items()}
    validator = extend(Draft202012Validator, keywords)
    validator.evolve = _evolved
    return validator


@cache
def formats() -> Any:
    """What is asked of a schema's own texts: its patterns must be ones that can be searched."""
    from jsonschema import Draft202012Validator, FormatChecker

    checker = FormatChecker(())
    checker.checkers = {**Draft202012Validator.FORMAT_CHECKER.checkers, "regex": (_is_pattern, ())}
    return checker


def _is_pattern(value: object) -> bool:
    return not isinstance(value, str) or readable(value)

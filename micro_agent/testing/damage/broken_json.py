"""JSON that is none: commas, braces, keys, quotes, comments and newlines as they must not be."""

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from micro_agent.decoding.decision import ModelReply, RawCall
from micro_agent.testing.damage.said import Said, as_json
from micro_agent.testing.damage.spelling import Spelling

WAYS: dict[str, Callable[[Any], str]] = {
    "trailing commas": Spelling(trailing_commas=True).write,
    "a brace missing": lambda value: as_json(value)[:-1],
    "a brace too many": lambda value: as_json(value) + as_json(value)[-1],
    "bare keys": Spelling(bare_keys=True).write,
    "single quotes": Spelling("'", "'").write,
    "smart quotes": Spelling("“", "”").write,
    "comments": Spelling(comments=True).write,
    "raw newlines": Spelling(raw_newlines=True).write,
}


def damage(said: Said, rng: Random) -> ModelReply | None:
    """The object, or the arguments of a native call, written in one of the ways that change it."""
    if said.native and said.calls and rng.random() < 0.5:
        way = _way([call.arguments for call in said.calls], rng)
        return said.called(lambda call: _broken(call, way)) if way else None
    try:
        value = json.loads(said.text)
    except ValueError:  # prose
        return None
    way = _way([value], rng)
    return said.written(way(value)) if way else None


def _way(values: list[Any], rng: Random) -> Callable[[Any], str] | None:
    """A way that breaks them all; none for what has nothing in it to break."""
    if not all(map(_breakable, values)):
        return None
    return rng.choice([way for way in WAYS.values() if all(way(value) != as_json(value) for value in values)])


def _breakable(value: Any) -> bool:
    return isinstance(value, dict | list) and value not in ({}, [])


def _broken(call: RawCall, way: Callable[[Any], str]) -> RawCall:
    return replace(call, arguments=way(call.arguments))

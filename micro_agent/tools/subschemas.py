"""Where a JSON Schema (draft 2020-12) has other schemas inside it, and where only data: an ``enum``, a default."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
SINGLE = ("items", "contains", "then", "else", "propertyNames", "unevaluatedItems", "additionalItems")
OPEN_ENDED = ("additionalProperties", "unevaluatedProperties")
"""Keywords whose value may be ``true`` or ``false`` on every server."""
NEGATED = ("not", "if")
"""Keywords that let less through where the schema inside lets more."""


def below(key: str, value: Any, copied: Callable[[Any], Any]) -> Any:
    """The value of a keyword with the schemas in it copied; what holds no schema as it is, and so `NEGATED`."""
    if key in MAPS and isinstance(value, Mapping):
        return {name: copied(inner) for name, inner in cast("Mapping[str, Any]", value).items()}
    if key in LISTS and isinstance(value, list):
        return [copied(inner) for inner in cast("list[Any]", value)]
    if key in SINGLE or (key in OPEN_ENDED and not isinstance(value, bool)):
        return copied(value)
    return value


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """``schema`` and all schemas inside it, but for those that are ``true`` or ``false``."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            known = cast("dict[str, Any]", part)
            yield known
            for key, value in known.items():
                below(key, value, waiting.append)
                waiting += [value] if key in NEGATED else []

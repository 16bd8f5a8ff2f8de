"""The JSON types that a tool's schema allows for one of its arguments."""

from typing import Any, cast

from micro_agent.text.numbers import WrittenFloat
from micro_agent.tools.schema import Schema

JSON_TYPES: dict[type, str] = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number",
    WrittenFloat: "number", type(None): "null",
}  # fmt: skip
_IMPLIED = {"properties": "object", "items": "array", "prefixItems": "array"}
_MAX_NESTING = 8


def types(schema: Schema, part: object, nesting: int = _MAX_NESTING) -> frozenset[str]:
    """The JSON types that a part of a schema allows, over its alternatives and references; none when it is silent."""
    resolved = schema.resolved(part)
    if not isinstance(resolved, dict) or nesting == 0:
        return frozenset()
    known = cast("dict[str, Any]", resolved)
    if "type" in known:
        named = known["type"]
        return frozenset([named] if isinstance(named, str) else named)
    if "enum" in known or "const" in known:
        return frozenset(JSON_TYPES[type(option)] for option in known.get("enum", [known.get("const")]))
    branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in known.get(key, ())]
    implied = {kind for key, kind in _IMPLIED.items() if key in known}
    return frozenset(implied).union(*(types(schema, branch, nesting - 1) for branch in branches))

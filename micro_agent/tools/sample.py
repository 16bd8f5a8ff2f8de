"""Arguments that a tool would take, made of its schema, to show what a call looks like."""

from math import inf
from typing import Any, cast

from micro_agent.tools.faults import find_faults
from micro_agent.tools.tool import Tool

_FORMATS = {
    "date": "2024-05-17", "date-time": "2024-05-17T09:30:00Z", "time": "09:30:00Z", "email": "someone@example.com",
    "uri": "https://example.com", "uuid": "00000000-0000-4000-8000-000000000000", "ipv4": "192.0.2.1",
}  # fmt: skip
_MAX_DEPTH, _MAX_SIZE = 4, 100


def sample(tool: Tool) -> dict[str, Any] | None:
    """The arguments that ``tool`` cannot do without; ``None`` where none were found that fit its schema."""
    args = _object(tool.schema.inlined, 0)
    return None if find_faults(tool.schema, args) else args


def _object(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    return {key: _value(properties.get(key, {}), depth + 1) for key in schema.get("required", ())}


def _value(part: Any, depth: int) -> Any:
    """A value for one argument; one that does not fit is found out in the end."""
    if not isinstance(part, dict) or depth > _MAX_DEPTH:
        return "example"
    known = cast("dict[str, Any]", part)
    given = [known["const"]] if "const" in known else known.get("enum") or known.get("examples")
    if given or "default" in known:
        return given[0] if given else known["default"]
    if branches := known.get("anyOf") or known.get("oneOf") or known.get("allOf"):
        return _value(branches[0], depth + 1)
    kind: Any = known.get("type")
    match str(cast("list[Any]", kind)[0] if isinstance(kind, list) else kind):
        case "object":
            return _object(known, depth)
        case "array":
            return [_value(known.get("items", {}), depth + 1)] * min(max(1, known.get("minItems", 1)), _MAX_SIZE)
        case "integer" | "number":
            return _number(known)
        case "boolean":
            return True
        case "null":
            return None
        case _:
            return _text(known)


def _number(known: dict[str, Any]) -> float:
    least = known.get("minimum", known.get("exclusiveMinimum", -inf) + 1)
    most = known.get("maximum", known.get("exclusiveMaximum", inf) - 1)
    return max(least, min(known.get("multipleOf", 2), most))


def _text(known: dict[str, Any]) -> str:
    text = _FORMATS.get(known.get("format", ""), "example")
    return text.ljust(min(known.get("minLength", 0), _MAX_SIZE), "e")[: known.get("maxLength")]

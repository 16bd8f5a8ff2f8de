"""A ``3.0`` where a tool wants an integer becomes a ``3``.

To JSON Schema both are the same integer, so the decoder leaves it alone, and micro-agent's own tools take it. Clients
do not agree: Python's ``json`` makes a float of it, which neither a slice nor ``range`` takes, and typed parsers (those
of Go and Rust, pydantic's strict mode) refuse it. The value stays the same, so it is done wherever the schema says
``integer``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from micro_agent.decoding import Repair, ToolCall, ToolCalls, ToolSpec
from micro_agent.models.bodies import as_object
from micro_agent.proxy.wires.events import as_text, listed
from micro_agent.tools.inlined import inlined

_EXACT = 2**53
"""From here on a float may not be the number that was written."""
_BRANCHES = ("anyOf", "oneOf", "allOf")


def with_whole_numbers(decision: ToolCalls, tools: Iterable[ToolSpec]) -> ToolCalls:
    """The decision with such numbers in its arguments as integers, and a repair for each call that had one."""
    if not any(_has_one(call.args) for call in decision.calls):
        return decision
    schemas = {tool.name: inlined(dict(tool.parameters)) for tool in tools}
    calls: list[ToolCall] = []
    repairs: list[Repair] = []
    for call in decision.calls:
        before, args = as_text(call.args), _mended(schemas.get(call.name), call.args)
        if (after := as_text(args)) != before:
            repairs.append(Repair("whole_number", before, after))
        calls.append(replace(call, args=args))
    return replace(decision, calls=calls, repairs=[*decision.repairs, *repairs])


def _has_one(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_one, cast("dict[str, Any]", value).values()))
    return any(map(_has_one, cast("list[Any]", value))) if isinstance(value, list) else _is_one(value)


def _is_one(value: Any) -> bool:
    return isinstance(value, float) and value.is_integer() and abs(value) < _EXACT


def _mended(schema: Any, value: Any) -> Any:
    """``value`` with what this part of the schema wants as integers."""
    part = as_object(schema)
    if _is_one(value) and part.get("type") in ("integer", ["integer", "null"], ["null", "integer"]):
        return int(value)
    for branch in (branch for word in _BRANCHES for branch in listed(part.get(word))):
        value = _mended(branch, value)
    if isinstance(value, dict):
        return _object(part, cast("dict[str, Any]", value))
    if isinstance(value, list):
        first, rest = listed(part.get("prefixItems")), part.get("items")
        items = enumerate(cast("list[Any]", value))
        return [_mended(first[at] if at < len(first) else rest, item) for at, item in items]
    return value


def _object(part: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    known, others = as_object(part.get("properties")), part.get("additionalProperties")
    return {name: _mended(known.get(name, others), one) for name, one in value.items()}

"""A schema with its definitions in the place of the references to them, as models and servers read it best.

An Enum, a dataclass or a pydantic model is a ``$ref`` in the schema of a function. Small models do not look it up, some
servers cannot, and a hint has no room for definitions. Validation keeps to the schema as it was given.
"""

from collections.abc import Callable, Iterable
from graphlib import TopologicalSorter
from itertools import islice
from typing import Any, cast
from urllib.parse import unquote

from micro_agent.text.encoding import as_json
from micro_agent.tools.subschemas import NEGATED, below, schemas_in

MAX_GROWTH = 4000
"""Characters that a schema may grow by: what would add more, because it is used many times, stays a reference."""
_MAX_HEIGHT = 16
_MAX_REFERENCES = 200
_DEFINITIONS = ("$defs", "definitions")
_NOTED = frozenset({
    "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", *_DEFINITIONS,
})  # fmt: skip
"""Keywords that refuse nothing: beside a ``$ref`` they are said of this use of the definition, and win over its own."""
_NAMED = ("$anchor", "$dynamicAnchor", "$dynamicRef")


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` with its references written out; itself where there are none that could be.

    A definition that contains itself stays a reference, with its definition in ``$defs``; so does one that is used so
    often that the schema would grow by more than `MAX_GROWTH` characters.
    """
    uses = [part["$ref"] for part in schemas_in(schema) if isinstance(part.get("$ref"), str)]
    targets = {ref: target_of(schema, ref) for ref in uses}
    if not uses or len(targets) > _MAX_REFERENCES or _is_named(schema):
        return schema
    bodies = _bodies({ref: target for ref, target in targets.items() if isinstance(target, dict)}, uses)
    found = _with_needed(_written(schema, bodies))
    return found if all(target_of(found, ref) is not None for ref in _references(found)) else schema


def moved(schema: Any, place: str) -> Any:
    """``schema`` for another place in a larger one, ``place`` being the JSON Pointer (``#/…``) to it."""
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, Any]", schema)
    found = _each(known, lambda part: moved(part, place))
    if isinstance(ref := found.get("$ref"), str) and ref.startswith("#"):
        found["$ref"] = place + ref[1:]
    return found


def _each(schema: dict[str, Any], changed: Callable[[Any], Any]) -> dict[str, Any]:
    """``schema`` with all schemas right below it changed."""
    return {key: changed(value) if key in NEGATED else below(key, value, changed) for key, value in schema.items()}


def _bodies(targets: dict[str, dict[str, Any]], uses: list[str]) -> dict[str, dict[str, Any]]:
    """What to write in the place of each reference, but for those that stay."""
    needs = {ref: list(dict.fromkeys(filter(targets.get, _references(target)))) for ref, target in targets.items()}
    order = {ref: needs[ref] for ref in targets if not _reaches(ref, needs)}
    bodies: dict[str, dict[str, Any]] = {}
    heights: dict[str, int] = {}
    left = MAX_GROWTH
    for ref in TopologicalSorter(order).static_order():
        if ref not in order:
            continue
        height = 1 + max((heights.get(need, 0) for need in needs[ref]), default=0)
        body = _written(targets[ref], bodies)
        growth = (uses.count(ref) - 1) * len(as_json(body))
        if height <= _MAX_HEIGHT and growth <= left:
            bodies[ref], heights[ref] = body, height
            left -= growth
    return bodies


def _reaches(ref: str, needs: dict[str, list[str]]) -> bool:
    """Whether a definition contains itself."""
    waiting, seen = list(needs[ref]), set[str]()
    while waiting:
        need = waiting.pop()
        if need not in seen:
            seen.add(need)
            waiting += needs[need]
    return ref in seen


def _written(schema: Any, bodies: dict[str, dict[str, Any]]) -> Any:
    """One schema with those inside it."""
    if not isinstance(schema, dict):
        return schema
    found = _each(cast("dict[str, Any]", schema), lambda part: _written(part, bodies))
    body = bodies.get(found["$ref"]) if isinstance(found.get("$ref"), str) else None
    if body is None:
        return found
    del found["$ref"]
    if all(key in _NOTED or (key == "type" and body.get("type") == value) for key, value in found.items()):
        return {**body, **found}
    return {**found, "allOf": [*found.get("allOf", ()), body]}


def _with_needed(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` without the definitions that nothing refers to any more."""
    held: dict[str, Any] = {key: schema[key] for key in _DEFINITIONS if isinstance(schema.get(key), dict)}
    needed = {key: value for key, value in schema.items() if key not in held}
    waiting, seen = list(_references(needed)), set[str]()
    while waiting:
        ref = waiting.pop()
        if ref not in seen:
            seen.add(ref)
            waiting += _references(target_of(schema, ref))
    prefixes = {tuple(_steps(ref)[:2]) for ref in seen}
    for key, value in held.items():
        held[key] = {name: part for name, part in value.items() if (key, name) in prefixes}
    return {key: held.get(key, value) for key, value in schema.items() if held.get(key, True)}


def _references(schema: Any) -> Iterable[str]:
    return [part["$ref"] for part in schemas_in(schema) if isinstance(part.get("$ref"), str)]


def _is_named(schema: dict[str, Any]) -> bool:
    """Whether parts of it have addresses or names of their own, which pointers say nothing about."""
    inner = (part for part in schemas_in(schema) if part is not schema)
    return any(key in schema for key in _NAMED) or any(key in part for part in inner for key in ("$id", *_NAMED))


def target_of(schema: Any, ref: str) -> Any:
    """What a reference leads to: a JSON Pointer (RFC 6901) into ``schema``; ``None`` where it is none."""
    if ref != "#" and not ref.startswith("#/"):
        return None
    part = schema
    for step in _steps(ref):
        if isinstance(part, dict):
            part = cast("dict[str, Any]", part).get(step)
        elif isinstance(part, list) and step.isdecimal():
            part = next(islice(cast("list[Any]", part), int(step), None), None)
        else:
            return None
    return part


def _steps(ref: str) -> list[str]:
    return [unquote(step).replace("~1", "/").replace("~0", "~") for step in ref.split("/")[1:]]

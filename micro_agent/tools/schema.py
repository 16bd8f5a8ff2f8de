"""A tool's JSON Schema, checked and compiled once.

Draft 2020-12 (https://json-schema.org/draft/2020-12). jsonschema is imported when the first tool is made, not when this
package is imported. References are looked up in the schema itself; nothing is fetched.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.inlined import inlined
from micro_agent.tools.keywords import bounded_validator, formats

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

_ELSEWHERE = ("allOf", "anyOf", "oneOf")
_ALSO = ("if", "then", "else")
_SAYS = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_MAX_REFERENCES = 32
_CHECKED = 256
_PLAIN_PART = {"type", "title", "description", "default", "examples"}
_PLAIN_ROOT = {"type", "title", "description", "properties", "required", "additionalProperties", "$schema"}
_SCALARS: dict[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float),
}  # fmt: skip
_PLAIN_NUMBER, _PLAIN_ITEMS = 2**1000, 64
"""No plain number is greater, infinite or none at all; no plain list is longer."""


class Schema:
    """The compiled schema of one tool's arguments.

    Attributes:
        root: The schema as it was given (and ``"type": "object"``, where it has no type); it is never changed.
        inlined: The same with its references written out where they can be: what models and servers are shown.
        names: The argument names that the schema knows, in order.
        properties: Those that it names itself, and not in a part of it (``allOf`` and the like).
        allowed: The names where it says nothing about others; ``None`` where it does (``additionalProperties``,
            ``patternProperties``, ``unevaluatedProperties``).
    """

    __slots__ = ("_plain", "_validator", "allowed", "inlined", "names", "properties", "root")

    def __init__(self, root: dict[str, Any], validator: "Draft202012Validator") -> None:
        self.root = root
        self.inlined = inlined(root)
        self._validator = validator
        self.properties = frozenset(root.get("properties", ()))
        self._plain = _plain_parts(root)
        parts = self._parts()
        says = any(key in part for part in parts for key in _SAYS)
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.get("properties", ())))
        self.allowed = None if says else self.names

    def plainly_fits(self, args: dict[str, Any]) -> bool:
        """Whether ``args`` are texts, numbers, booleans and lists of them that fit at a glance; else `errors` says."""
        plain = self._plain
        if plain is None or not all(map(args.__contains__, self.root.get("required", ()))):
            return False
        return all(key in plain and plain[key].fits(value) for key, value in args.items())

    def errors(self, value: object) -> "Iterator[ValidationError]":
        """The ways in which ``value`` breaks the schema, found one by one."""
        return iter(self._validator.iter_errors(cast("Any", value)))

    def fits(self, value: object, part: object) -> bool:
        """Whether ``value`` is valid for ``part``, a subschema of this schema."""
        return self._validator.evolve(schema=part).is_valid(cast("Any", value))

    def resolved(self, part: object) -> object:
        """``part``, or what its ``$ref`` leads to in the end (other keywords beside the ``$ref`` are left out)."""
        resolver: Any = self._validator._resolver  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
        for _ in range(_MAX_REFERENCES):
            if not isinstance(part, dict) or "$ref" not in part:
                break
            part = resolver.lookup(part["$ref"]).contents
        return part

    def _parts(self) -> list[dict[str, Any]]:
        """The root and the subschemas that speak of the same object."""
        found: dict[int, dict[str, Any]] = {}
        waiting: list[object] = [self.root]
        while waiting:
            part = self.resolved(waiting.pop(0))
            if isinstance(part, dict) and id(cast("object", part)) not in found:
                known = cast("dict[str, Any]", part)
                found[id(known)] = known
                waiting += [branch for key in _ELSEWHERE for branch in known.get(key, ())]
                waiting += [known[key] for key in _ALSO if key in known]
                waiting += known.get("dependentSchemas", {}).values()
        return list(found.values())


@dataclass(frozen=True, slots=True)
class _Plain:
    """A part of a schema that asks for the type of a value, and for one of some texts, and for nothing else."""

    types: tuple[type, ...]
    texts: frozenset[str] | None = None
    items: "_Plain | None" = None

    def fits(self, value: object) -> bool:
        kind = type(value)
        if kind not in self.types:
            return False
        if kind is str:
            return self.texts is None or value in self.texts
        if kind is list:
            listed = cast("list[object]", value)
            return self.items is not None and len(listed) <= _PLAIN_ITEMS and all(map(self.items.fits, listed))
        return kind is bool or -_PLAIN_NUMBER <= cast("float", value) <= _PLAIN_NUMBER


def _plain_parts(root: dict[str, Any]) -> dict[str, _Plain] | None:
    """What the arguments are asked for that are asked for little; ``None`` where the object is asked more."""
    parts = root.get("properties")
    if not isinstance(parts, dict) or not root.keys() <= _PLAIN_ROOT or root.get("type") != "object":
        return None
    found = {name: _plain_part(part) for name, part in cast("dict[str, Any]", parts).items()}
    return {name: part for name, part in found.items() if part is not None}


def _plain_part(part: object) -> _Plain | None:
    known = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
    kind, more = known.get("type"), known.keys() - _PLAIN_PART
    if kind == "array" and more <= {"items"}:
        items = _plain_part(known["items"]) if more else None
        return _Plain((list,), items=items) if items is not None and list not in items.types else None
    if not isinstance(kind, str) or kind not in _SCALARS or (more and (kind, more) != ("string", {"enum"})):
        return None
    texts = cast("list[object]", known["enum"]) if more else None
    if texts is not None and not all(isinstance(text, str) for text in texts):
        return None
    return _Plain(_SCALARS[kind], None if texts is None else frozenset(cast("list[str]", texts)))


def compile_schema(tool: str, parameters: object) -> Schema:
    """The compiled form of a tool's ``parameters``.

    Args:
        tool: The tool's name, for the error.
        parameters: JSON Schema of the arguments, an object schema; one without a type (MCP has such) is one, too.

    Raises:
        ToolDefinitionError: It is not JSON, not an object schema, not legal, or refers to what is not in it.
    """
    root, written = _object_schema(tool, parameters)
    from jsonschema import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        _check(written)
    except SchemaError as error:
        where = error.json_path.replace("$", "parameters", 1)
        raise ToolDefinitionError(f"tool {tool!r}: {where} is not legal JSON Schema: {_short(error.message)}") from None
    except RecursionError:
        raise ToolDefinitionError(f"tool {tool!r}: parameters are nested too deeply; put parts under $defs") from None
    except Unresolvable as error:
        message = f"tool {tool!r}: $ref {error.ref!r} leads nowhere in its parameters; put the definition under $defs"
        raise ToolDefinitionError(message) from None
    return Schema(root, bounded_validator()(root, registry=Registry()))


def _object_schema(tool: str, parameters: object) -> tuple[dict[str, Any], str]:
    """The schema of an object and the same as JSON."""
    hint = "write {'type': 'object', 'properties': {…}}"
    if not isinstance(parameters, dict):
        kind = type(parameters).__name__
        raise ToolDefinitionError(f"tool {tool!r}: parameters must be a JSON Schema object, got {kind}; {hint}")
    root = cast("dict[str, Any]", parameters)
    if "type" not in root and not _are_arguments(root):
        root = {"type": "object", **({} if root else {"properties": {}}), **root}
    if root.get("type") != "object":
        got = root.get("type")
        raise ToolDefinitionError(f"tool {tool!r}: parameters must have type 'object', got {got!r}; {hint}")
    try:
        return root, json.dumps(root, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"tool {tool!r}: parameters cannot be written as JSON: {error}") from None


def _are_arguments(root: dict[str, Any]) -> bool:
    """Whether this is a map of arguments (``{"city": {…}}``), by a slip: as a schema it would name none."""
    from jsonschema import Draft202012Validator

    known = root.keys() & Draft202012Validator.VALIDATORS.keys()
    return not known and any(isinstance(part, dict) for part in root.values())


@lru_cache(maxsize=_CHECKED)
def _check(written: str) -> None:
    """Check a schema by that of schemas, once: the tools of an agent are often made anew for each request.

    Every ``$ref`` is looked up, so that a wrong one is found now and not in the middle of a run.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    root = json.loads(written)
    Draft202012Validator.check_schema(root, format_checker=formats())
    resource = DRAFT202012.create_resource(root)
    resolver = Registry().resolver_with_root(resource)
    waiting = [(resource, resolver)]
    while waiting:
        resource, resolver = waiting.pop()
        contents = resource.contents
        if isinstance(contents, dict) and "$ref" in contents:
            resolver.lookup(contents["$ref"])
        waiting += [(part, resolver.in_subresource(part)) for part in resource.subresources()]


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "…"

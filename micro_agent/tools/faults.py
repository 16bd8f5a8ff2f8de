"""What is wrong with arguments, in words for a small model."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from micro_agent.text.numbers import WrittenFloat
from micro_agent.tools.keywords import LIMIT_S, Bounded, TookTooLong, found
from micro_agent.tools.schema import Schema

if TYPE_CHECKING:
    from jsonschema import ValidationError

_MAX_MESSAGE = 390
_MAX_LIST = 200
_MAX_FAULTS = 50
_MAX_DEPTH = 64
_MAX_BITS = 8192  # Python writes no integer of more than 4300 digits
_TYPES: dict[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    WrittenFloat: "number",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where (``points[2].x``, empty for the whole), and a sentence that names it.

    ``extra``: an argument, or a property inside one, that the schema does not have.
    """

    path: str
    message: str
    extra: bool = False


UNCHECKED = Fault("", f"the arguments cannot be checked within {LIMIT_S:g} s: they or their schema are too involved")
"""Checking took too long. They are not run, since nobody knows whether they fit."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Arguments that do not fit, with everything that is wrong with them."""

    faults: list[Fault]

    @property
    def message(self) -> str:
        """All faults in one line of at most 390 characters; when they do not all fit it says so."""
        shown: list[str] = []
        for fault in self.faults:
            if shown and len("; ".join([*shown, fault.message])) > _MAX_MESSAGE - 20:
                return "; ".join([*shown, "and more"])
            shown.append(fault.message)
        return "; ".join(shown)


def find_faults(schema: Schema, args: object) -> list[Fault]:
    """The faults of ``args`` against the schema and against the names it knows, at most 50; empty when they fit.

    Never raises, whatever JSON value ``args`` is.
    """
    if isinstance(args, dict) and schema.plainly_fits(cast("dict[str, Any]", args)):
        return []
    impossible = _not_json(args)
    if impossible is not None:
        return [impossible]
    if not isinstance(args, dict):
        return [Fault("", f"the arguments must be a JSON object, got {describe(args)}")]
    try:
        with Bounded():
            faults = (fault for error in schema.errors(args) for fault in _explain(error))
            seen = list(islice(faults, _MAX_FAULTS))
    except TookTooLong:
        return [UNCHECKED]
    except Exception as error:  # noqa: BLE001 jsonschema fails on multipleOf with a huge number, on $refs in a circle, …
        return [Fault("", f"the arguments cannot be checked against the schema ({type(error).__name__})")]
    if schema.allowed is not None:
        seen += islice(_unknown(cast("dict[str, Any]", args), schema.allowed, ""), _MAX_FAULTS)
    return list(dict.fromkeys(seen))[:_MAX_FAULTS]


def describe(value: object) -> str:
    """A JSON value with its type, such as ``string 'x'``."""
    if value is None:
        return "null"
    if value == "":
        return "an empty string"
    shown = repr(value) if isinstance(value, str) else _json(value)
    return f"{_TYPES.get(type(value), 'value')} {_cut(shown, 40)}"


def path_text(path: Iterable[str | int]) -> str:
    """``points[2].x``: the path as a model would write it."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _not_json(args: object) -> Fault | None:
    """The first thing that validation could choke on: too deep, not finite, too many digits."""
    waiting: list[tuple[object, int, str]] = [(args, 0, "")]
    while waiting:
        value, depth, name = waiting.pop()
        where = f"argument '{_cut(name, 60)}'" if name else "the arguments"
        if depth > _MAX_DEPTH:
            return Fault(name, f"{where}: nested deeper than {_MAX_DEPTH} levels")
        if isinstance(value, float) and not math.isfinite(value):
            return Fault(name, f"{where} must be a finite number, got {value}")
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            return Fault(name, f"{where}: a number of more than 2000 digits is too long")
        if isinstance(value, dict):
            inner = cast("dict[str, object]", value)
            waiting += [(item, depth + 1, name or key) for key, item in inner.items()]
        elif isinstance(value, list):
            waiting += [(item, depth + 1, name) for item in cast("list[object]", value)]
    return None


def _explain(error: "ValidationError") -> Iterator[Fault]:
    """One error of jsonschema as faults, each with the name of the argument."""
    path = path_text(error.absolute_path)
    rule, wanted, value = error.validator, cast("Any", error.validator_value), cast("Any", error.instance)
    name = f"argument '{_cut(path, 60)}'" if path else "the arguments"
    if rule == "required":
        inside = f"{path}." if path else ""
        yield from (
            Fault(f"{inside}{key}", f"missing required argument '{_cut(inside + key, 80)}'")
            for key in wanted
            if key not in value
        )
    elif rule == "additionalProperties" and wanted is False:
        known = cast("Mapping[str, Any]", error.schema)
        yield from _unknown(value, list(known.get("properties", {})), path, known.get("patternProperties", {}))
    elif rule == "type":
        types = [wanted] if isinstance(wanted, str) else wanted
        yield Fault(path, f"{name} must be {' or '.join(types)}, got {describe(value)}")
    elif rule in ("enum", "const"):
        listed = _listed([wanted] if rule == "const" else wanted)
        yield Fault(path, f"{name} must be one of {listed}; got {describe(value)}")
    elif rule in ("anyOf", "oneOf") and error.context:
        yield from _explain_branches(error, path, name)
    else:
        yield Fault(path, f"{name}: {_tail(error.message, value)}")


def _explain_branches(error: "ValidationError", path: str, name: str) -> Iterator[Fault]:
    """Of several alternatives the one that was meant: the one whose type fits; else all types that would do."""
    context = error.context or []
    wrong_type = [e for e in context if e.validator == "type" and not e.relative_path]
    if len(wrong_type) == len(context):
        types = [cast("Any", e.validator_value) for e in wrong_type]
        flat = [t for kind in types for t in ([kind] if isinstance(kind, str) else kind)]
        yield Fault(path, f"{name} must be {' or '.join(dict.fromkeys(flat))}, got {describe(error.instance)}")
        return
    mismatched = {_branch(e) for e in wrong_type}
    branches = [_branch(e) for e in context if _branch(e) not in mismatched]
    sizes = {branch: branches.count(branch) for branch in branches}
    closest = min(sizes, key=lambda branch: sizes[branch])
    for inner in context:
        if _branch(inner) == closest:
            yield from _explain(inner)


def _branch(error: "ValidationError") -> str | int | None:
    """Which alternative an error belongs to; ``None`` for the schema ``false``, which has no keywords."""
    return error.schema_path[0] if error.schema_path else None


def _unknown(
    args: Mapping[str, Any], allowed: Sequence[str], path: str, patterns: Mapping[str, Any] | None = None
) -> Iterator[Fault]:
    inside = f"{path}." if path else ""
    listed = f"allowed: {_names(allowed)}" if allowed else "no arguments are allowed"
    names = frozenset(allowed)
    for key in args:
        if key not in names and not any(found(pattern, key) for pattern in patterns or ()):
            yield Fault(inside + key, f"unknown argument '{_cut(inside + key, 80)}'; {listed}", extra=True)


def _names(names: Sequence[str]) -> str:
    return _cut(", ".join(names), _MAX_LIST)


def _listed(values: Sequence[Any]) -> str:
    return _cut(", ".join(repr(v) if isinstance(v, str) else _json(v) for v in values), _MAX_LIST)


def _tail(message: str, value: object) -> str:
    """A message of jsonschema begins with the value, which may be long: its end says what is wrong."""
    start = repr(value)
    return describe(value) + message[len(start) :][:150] if message.startswith(start) else _cut(message, 150)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"

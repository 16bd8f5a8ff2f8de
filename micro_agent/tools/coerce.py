"""Arguments that miss the schema in a way that leaves one reading only, brought into that form.

Nothing here guesses: where two readings are valid, the value stays as it is and the arguments are refused. The kinds
of slip are those of ``WRAPPERS`` and of the functions below; a value that is valid is never touched.
"""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from micro_agent.text.numbers import as_written
from micro_agent.tools.faults import path_text
from micro_agent.tools.schema import Schema

WRAPPERS = frozenset({"args", "arguments", "parameters", "params", "input", "kwargs"})
"""Keys under which models put the arguments once more."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,100}(\.0{1,20})?")
_NUMBER = re.compile(r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})([eE][+-]?[0-9]{1,3})?")
_SEPARATORS = re.compile(r"[,;|\n]")
_MAX_PYTHON = 4_000
"""Characters of a text that is read as Python's."""
_MAX_DEPTH = 32
_MAX_CHECKS = 2000

Path = tuple[str | int, ...]
Coercion = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Mended:
    value: Any
    coercions: tuple[Coercion, ...] = ()


@dataclass(slots=True)
class _Work:
    """The schema, and how many more values may be checked against its parts."""

    schema: Schema
    left: int = _MAX_CHECKS

    def fits(self, value: object, part: object) -> bool:
        self.left -= 1
        if self.left < 0:
            raise ValueError("too much to mend")
        return self.schema.fits(value, part)


def coerce(schema: Schema, args: object) -> tuple[Any, list[Coercion]]:
    """``args`` with every unambiguous slip mended.

    Args:
        schema: The compiled schema of the tool.
        args: What the model gave, any JSON value.

    Returns:
        The new arguments (the given value is not changed), which the caller must validate, and what was done to each:
        ``{"path", "from", "to", "kind"}``.

    Raises:
        ValueError: There is more to mend than a slip would explain; it would take long, too.
    """
    work = _Work(schema)
    mended = _mend(work, work.schema.root, args, ())
    inner = _unwrapped(work, mended.value)
    if inner is None:
        return mended.value, list(mended.coercions)
    unnested = _record((), mended.value, inner, "unnested")
    again = _mend(work, work.schema.root, inner, ())
    return again.value, [*mended.coercions, unnested, *again.coercions]


def _unwrapped(work: _Work, args: object) -> dict[str, Any] | None:
    """The inner object of ``{"args": {…}}`` where the schema has no property of that name."""
    if not isinstance(args, dict) or len(cast("dict[str, Any]", args)) != 1:
        return None
    [(key, inner)] = cast("dict[str, Any]", args).items()
    if key not in WRAPPERS or key in work.schema.root.get("properties", {}):
        return None
    if isinstance(inner, str):
        inner = _parsed(inner)[1]
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else None


def _mend(work: _Work, part: object, value: Any, path: Path) -> _Mended:
    """``value`` brought into the form that ``part`` of the schema wants, or as it is."""
    if len(path) > _MAX_DEPTH or work.fits(value, part):
        return _Mended(value)
    found = _branches(work, part, value, path)
    part = work.schema.resolved(part)
    if found is not None or not isinstance(part, dict):
        return found or _Mended(value)
    known = cast("dict[str, Any]", part)
    for kind, candidate in _candidates(known, value):
        whole = kind == "wrapped_in_list" and isinstance(value, str)  # two slips in one place are a guess
        inner = _Mended(candidate) if whole else _inside(work, known, candidate, path)
        if work.fits(inner.value, known):
            return _Mended(inner.value, (_record(path, value, candidate, kind), *inner.coercions))
    kind, parsed = _parsed(value) if isinstance(value, str) and not path else ("", None)
    if isinstance(parsed, dict):
        inner = _inside(work, known, parsed, path)  # the caller may still find the arguments one level down
        return _Mended(inner.value, (_record(path, value, cast("Any", parsed), kind), *inner.coercions))
    return _inside(work, known, value, path)


def _branches(work: _Work, part: object, value: Any, path: Path) -> _Mended | None:
    """The one form that makes ``value`` valid for a schema with alternatives; ``None`` when there is not just one."""
    resolved = work.schema.resolved(part)
    if not isinstance(resolved, dict):
        return None
    known = cast("dict[str, Any]", resolved)
    branches = [*known.get("anyOf", ()), *known.get("oneOf", ()), *known.get("allOf", ())]
    forms: list[_Mended] = []
    for branch in branches:
        mended = _mend(work, branch, value, path)
        if mended.coercions and work.fits(mended.value, known) and mended.value not in [f.value for f in forms]:
            forms.append(mended)
    return forms[0] if len(forms) == 1 else None


def _inside(work: _Work, part: dict[str, Any], value: Any, path: Path) -> _Mended:
    """``value`` with its properties or items mended."""
    if isinstance(value, dict):
        return _object(work, part, cast("dict[str, Any]", value), path)
    if isinstance(value, list):
        return _array(work, part, cast("list[Any]", value), path)
    return _Mended(value)


def _object(work: _Work, part: dict[str, Any], value: dict[str, Any], path: Path) -> _Mended:
    found: dict[str, Any] = {}
    done: list[Coercion] = []
    required = part.get("required", ())
    for key, item in value.items():
        wanted = part.get("properties", {}).get(key, part.get("additionalProperties", True))
        if item is None and key in part.get("properties", {}) and key not in required and not work.fits(None, wanted):
            done.append(_record((*path, key), None, None, "null_dropped"))
            continue
        mended = _mend(work, wanted, item, (*path, key))
        found[key] = mended.value
        done += mended.coercions
    return _Mended(found, tuple(done))


def _array(work: _Work, part: dict[str, Any], value: list[Any], path: Path) -> _Mended:
    first = part.get("prefixItems", ())
    rest = part.get("items", True)
    items = [
        _mend(work, first[index] if index < len(first) else rest, item, (*path, index))
        for index, item in enumerate(value)
    ]
    return _Mended([item.value for item in items], tuple(c for item in items for c in item.coercions))


def _candidates(part: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """The other forms of ``value`` that the schema's own keywords ask for, most literal first."""
    types = _types(part)
    if isinstance(value, str):
        yield from _from_text(value, types)
    elif isinstance(value, int | float) and not isinstance(value, bool) and types == {"string"}:
        yield "number_to_string", as_written(value)
    elif types == {"boolean"} and type(value) is int and value in (0, 1):
        yield "number_to_boolean", bool(value)
    spellings = [part["const"]] if "const" in part else part.get("enum", ())
    same = [option for option in spellings if _spelling(option) == _spelling(value)]
    if len(same) == 1:
        yield "enum_spelling", same[0]
    if "array" in types and _is_lone_item(value):
        yield "wrapped_in_list", [value]


def _types(part: dict[str, Any]) -> set[str]:
    wanted = part.get("type", ())
    types = {wanted} if isinstance(wanted, str) else set(cast("list[str]", wanted))
    implied = {"properties": "object", "items": "array", "prefixItems": "array"}
    return types or {kind for key, kind in implied.items() if key in part}


def _from_text(value: str, types: set[str]) -> Iterator[tuple[str, Any]]:
    text = value.strip()
    kind, parsed = _parsed(text) if types & {"object", "array"} else ("", None)
    if isinstance(parsed, dict | list):
        yield kind, parsed
    if "integer" in types and _INTEGER.fullmatch(text):
        yield "number_string", int(text.partition(".")[0])
    if "number" in types and _NUMBER.fullmatch(text):
        yield "number_string", float(text) if set(text) & set(".eE") else int(text)
    if "boolean" in types and text.lower() in ("true", "false"):
        yield "boolean_string", text.lower() == "true"
    if "null" in types and text.lower() in ("null", "none"):
        yield "null_string", None


def _parsed(text: str) -> tuple[str, Any]:
    """An object or array of JSON, else of Python, ``['Jan']``, where no backslash makes them differ; and its kind."""
    if not text.lstrip().startswith(("{", "[")):
        return "", None
    try:
        return "json_string", json.loads(text)
    except (ValueError, RecursionError):
        pass
    with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if "\\" not in text and len(text) <= _MAX_PYTHON:
            return "python_string", json.loads(json.dumps(ast.literal_eval(text), allow_nan=False))
    return "", None


def _spelling(value: Any) -> object:
    """What two spellings of one option have in common: its text without blanks and case (``"2"`` and 2 as well)."""
    if isinstance(value, str):
        return "".join(value.split()).casefold()
    return json.dumps(value) if isinstance(value, int | float) or value is None else repr(value)


def _is_lone_item(value: Any) -> bool:
    """Whether ``value`` can be meant as the only item of a list.

    A text can be, and an object, but not a text that looks like several, nor a number: where a list of numbers is
    wanted (coordinates, measurements), a single one more often means that the others were left out.
    """
    if isinstance(value, str):
        return bool(value.strip()) and not value.lstrip().startswith(("[", "{")) and not _SEPARATORS.search(value)
    return isinstance(value, dict)


def _record(path: Path, before: Any, after: Any, kind: str) -> Coercion:
    return {"path": path_text(path), "from": before, "to": after, "kind": kind}

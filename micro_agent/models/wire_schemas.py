"""Schemas as a server can take them: the copy that goes on the wire where one cannot take a tool's own.

A copy allows what the tool's own schema allows; it may allow more. Validation and digests keep to the tool's own.
What is changed and why: ``docs/design/wire-schemas.md``.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from micro_agent.tools.subschemas import SINGLE, below, schemas_in

Form = Literal["verbatim", "classes", "patterns", "plain"]
r"""How far a copy is from the tool's own schema; each form changes what the ones before it do, too.

``verbatim``: not at all. ``classes``: ``\d``, ``\w`` and ``\s`` are written out. ``patterns``: a ``pattern`` that lets
through what JSON has to escape stands in the description. ``plain``: no boolean schemas, none but simple references.
"""
FORMS: tuple[Form, ...] = get_args(Form)

_WRITTEN_OUT = {
    # ECMA-262, 22.2.2.9; `\s` without tabs and line ends, which a string of JSON escapes.
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": " \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_ESCAPE = r"\\[dws^$.*+?()\[\]{}|/-]"
_RANGE = r"[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[^\x00-\x7f]-[^\x00-\x7f]"
_UNESCAPED = re.compile(
    # Escapes of what is not a letter, classes without a caret, groups and all else that JSON does not escape.
    rf'(?:{_ESCAPE}|\[(?!\^)(?:{_ESCAPE}|(?:{_RANGE})|[^\\\]"\x00-\x1f-]|-(?=\]))+\]|\(\?:|\((?!\?)|[^\\\["(.\x00-\x1f])*'
)
"""A pattern for text without quotes, backslashes and control characters."""
_TOKEN = re.compile(r"\\(?P<escaped>.)|(?P<open>\[)|(?P<close>\])|.", re.DOTALL)
_SIMPLE_REFERENCE = re.compile(r"#(?:/[\w$.-]+)+")
_ANY: dict[str, Any] = {"type": "object"}


def wired(schema: dict[str, Any], form: Form) -> dict[str, Any]:
    """``schema`` in that form: itself where nothing is to be changed in it."""
    if form == "verbatim":
        return schema
    found = _copy(schema, FORMS.index(form))
    return schema if found == schema else found


def held(schema: dict[str, Any], form: Form) -> dict[str, Any]:
    """``schema`` in the form to which a server holds replies; any object where it may be one with references."""
    return _ANY if form == "plain" and has_references(schema) else wired(schema, form)


def has_references(schema: dict[str, Any]) -> bool:
    """Whether a ``$ref`` is left in it."""
    return any("$ref" in part for part in schemas_in(schema))


def _copy(schema: Any, level: int) -> Any:
    """One schema with those inside it, but not in ``not`` and ``if``: what allows more there allows less outside."""
    if isinstance(schema, bool):
        return ({} if schema else {"not": {}}) if level >= FORMS.index("plain") else schema
    if not isinstance(schema, Mapping):
        return schema
    given = cast(Mapping[str, Any], schema)
    plain = level >= FORMS.index("plain")
    left_out = [key for key in SINGLE if isinstance(given.get(key), bool)] if plain else ()
    copy: dict[str, Any] = {
        key: below(key, value, lambda one: _copy(one, level)) for key, value in given.items() if key not in left_out
    }
    if isinstance(pattern := copy.get("pattern"), str):
        _pattern(copy, pattern, level)
    reference = copy.get("$ref")
    if plain and isinstance(reference, str) and not _SIMPLE_REFERENCE.fullmatch(reference):
        del copy["$ref"]
    return copy


def _pattern(copy: dict[str, Any], pattern: str, level: int) -> None:
    """Write the classes of a pattern out, or tell it in the description where it cannot be held to."""
    if _UNESCAPED.fullmatch(pattern):
        copy["pattern"] = written_out(pattern)
    elif level >= FORMS.index("patterns"):
        del copy["pattern"]
        told = copy.get("description")
        copy["description"] = f"{told} (pattern: {pattern})" if isinstance(told, str) else f"pattern: {pattern}"


def written_out(pattern: str) -> str:
    r"""``pattern`` with ``\d``, ``\w`` and ``\s`` as the characters that they stand for."""
    parts: list[str] = []
    inside = False
    for token in _TOKEN.finditer(pattern):
        inside = (inside or bool(token["open"])) and not token["close"]
        known = _WRITTEN_OUT.get(token["escaped"] or "")
        parts.append(token[0] if known is None else known if inside else f"[{known}]")
    return "".join(parts)

"""A tool in the words of JSON mode: a line such as ``read(path: str, start: int = 1)`` and a sentence per argument.

That is shorter than JSON Schema and says the same. Where a schema says more than a line can, the schema is shown.
"""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from micro_agent.text.encoding import as_json
from micro_agent.tools.ranges import ranges
from micro_agent.tools.tool import Tool

_MAX_OPTIONS = 8
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_UNSAID = frozenset({"$schema", "$id", "$comment", "title"})
"""Keywords of a whole schema that tell a model nothing."""
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


class _Untold(Exception):
    """The schema says what a line cannot say."""


@lru_cache(maxsize=256)
def described(tool: Tool) -> str:
    """What the system prompt of JSON mode says of a tool: the shorter of its signature and its schema."""
    head, schema = f"- {tool.name}", tool.schema.inlined
    whole = f"{head}: {tool.description}\n  args: {as_json(schema)}"
    try:
        fields, sentences = _fields({key: value for key, value in schema.items() if key not in _UNSAID})
    except _Untold:
        return whole
    lines = [f"{head}({', '.join(fields)}): {tool.description}", *sentences]
    told = "\n  ".join(lines)
    return told if len(told) < len(whole) else whole


def _fields(schema: dict[str, Any], *, inline: bool = False) -> tuple[list[str], list[str]]:
    """The members of an object, and a sentence for each that has more to say; ``inline`` has it in the member."""
    left = {key: value for key, value in schema.items() if key not in ("type", "properties", "required")}
    properties, required = schema.get("properties", {}), schema.get("required", [])
    more = left.pop("additionalProperties", False)
    if left or not set(required) <= properties.keys():
        raise _Untold
    fields: list[str] = []
    sentences: list[str] = []
    for key, part in properties.items():
        name = key if _PLAIN_NAME.fullmatch(key) else json.dumps(key, ensure_ascii=False)
        kind, text, default = _member(key, part, needed=key in required)
        mark = "" if key in required or default else "?"
        fields.append(f"{name}{mark}: {kind}{default}" + (f" ({text})" if text and inline else ""))
        sentences += [f"{name}: {text}"] if text and not inline else []
    if more is not False:
        others = "" if more is True else f": {_inline(more)}"
        fields.append(f"...{others}")
    return fields, sentences


def _member(key: str, part: Any, *, needed: bool) -> tuple[str, str, str]:
    """The type of an argument, what is to be said of it, and its default."""
    if not isinstance(part, dict):
        return _inline(part), "", ""
    known = dict(cast("dict[str, Any]", part))
    if _letters(known.get("title")) == _letters(key) != "":
        del known["title"]
    default = as_json(known.pop("default")) if "default" in known else ""
    kind, text = _told(known, [f"default {default}"] if default and needed else [])
    return kind, text, f" = {default}" if default and not needed else ""


def _inline(part: Any) -> str:
    """A type with what is to be said of it behind."""
    kind, text = _told(part)
    return f"{kind} ({text})" if text else kind


def _told(part: Any, more: Sequence[str] = ()) -> tuple[str, str]:
    """The type that a schema stands for, and what is to be said of it in words, ``more`` last."""
    if part is True:
        return "any", ""
    if not isinstance(part, dict):
        raise _Untold
    left = dict(cast("dict[str, Any]", part))
    texts = [left.pop(key) for key in ("title", "description") if key in left]
    kind, notes = _kind(left), [*_one_of(left), *ranges(left), *more]
    if left or not all(isinstance(text, str) and text for text in texts):
        raise _Untold
    said, noted = ": ".join(texts).replace("\n", "\n    "), "; ".join(notes)
    return kind, f"{said} ({noted})" if said and noted else said or noted


def _kind(left: dict[str, Any]) -> str:
    """The type, with the keywords that make it taken out of ``left``."""
    kind = left.pop("type", None)
    if "enum" in left or "const" in left:
        options: list[Any] = left["enum"] if "enum" in left else [left.pop("const")]
        if kind is not None and not all(_is(kind, option) for option in options):
            raise _Untold
        if kind is not None and len(options) > _MAX_OPTIONS:
            return _simple(kind)
        left.pop("enum", None)
        return " | ".join(map(as_json, options))
    if isinstance(kind, list):
        return " | ".join(_simple(one) for one in cast("list[str]", kind))
    if kind == "array":
        return f"list[{_inline(left.pop('items'))}]" if "items" in left else "list"
    if kind == "object":
        return _object(left)
    if kind is not None:
        return _simple(kind)
    return " | ".join(map(_inline, left.pop("anyOf"))) if "anyOf" in left else "any"


def _one_of(left: dict[str, Any]) -> list[str]:
    """The values that there are, where they are too many for the line."""
    options = left.pop("enum", None)
    return [] if options is None else [f"one of {', '.join(map(as_json, options))}"]


def _object(left: dict[str, Any]) -> str:
    inner = {key: left.pop(key) for key in ("properties", "required", "additionalProperties") if key in left}
    if not inner.get("properties") and not inner.get("required"):
        more = inner.get("additionalProperties", True)
        return "dict" if more is True else "{}" if more is False else f"dict[str, {_inline(more)}]"
    return "{" + ", ".join(_fields(inner, inline=True)[0]) + "}"


def _simple(kind: str) -> str:
    if kind not in _SIMPLE:
        raise _Untold
    return _SIMPLE[kind]


def _is(kind: Any, option: Any) -> bool:
    known = _KINDS.get(kind, ()) if isinstance(kind, str) else ()
    return isinstance(option, known) and (kind == "boolean" or not isinstance(option, bool))


def _letters(text: Any) -> Any:
    """A name without blanks, dashes, underscores and case: the title that pydantic makes of it has the same."""
    return re.sub(r"[\s_-]", "", text).casefold() if isinstance(text, str) else text

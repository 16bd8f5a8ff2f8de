"""A value that markup gives as text, read as the type that the tool's schema wants."""

import re
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact, mend
from micro_agent.decoding.schema_types import JSON_TYPES

_TEXT = frozenset({"string"})
_CDATA = re.compile(r"\s*+<!\[CDATA\[(?P<text>.*?)\]\]>\s*+", re.DOTALL)
_ITEM = re.compile(r"\s*+<(?P<key>[A-Za-z_][\w.-]{0,127})>(?P<text>[^<]*+)</(?P=key)>\s*+")
_NESTED = re.compile(r"[{:]|,\s*+[,\]]|\[\s*+\]")
_NULLS = ("null", "none", "nil")
_INTEGER = re.compile(r"[+-]?[0-9]{1,100}")


def typed(text: str, wanted: frozenset[str], allowance: Allowance) -> Any:
    """What ``text`` is: one leading and one trailing newline belong to the markup around it.

    Where only text is wanted it stays as it is. Of several types the narrowest that fits counts and text is the last,
    as in the parsers of vLLM and Ollama. Where nothing is said, numbers, JSON words, objects and lists are read.
    What is none of the wanted types stays text: the schema will refuse it, or coercion will find what it means.
    ``<![CDATA[…]]>`` quotes a text; elements are the items of a list or the members of an object where one is wanted.
    """
    quoted = _CDATA.fullmatch(text) if "<![CDATA[" in text else None
    whole = _trimmed(text) if quoted is None else quoted["text"]
    bare = whole.strip()
    if wanted == _TEXT:
        return whole
    if not wanted:
        return _untyped(bare, whole)
    if bare.lower() in _NULLS and "null" in wanted:
        return None
    if "integer" in wanted and _INTEGER.fullmatch(bare):
        return int(bare)
    if "boolean" in wanted and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    value = _read(bare, allowance, wanted) if wanted & {"number", "object", "array"} else whole
    kind = JSON_TYPES[cast("type", type(value))]
    return value if kind in wanted - _TEXT or (kind == "integer" and "number" in wanted) else whole


def _trimmed(text: str) -> str:
    text = text.removeprefix("\r\n") if text.startswith("\r\n") else text.removeprefix("\n")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def _elements(text: str) -> list[tuple[str, str]]:
    """The names and texts of the elements that ``text`` consists of; none when it holds anything else."""
    parts: list[tuple[str, str]] = []
    at = 0
    while (found := _ITEM.match(text, at)) is not None:
        parts.append((found["key"], found["text"]))
        at = found.end()
    return parts if at == len(text) else []


def _untyped(bare: str, whole: str) -> Any:
    with suppress(Unreadable):
        value = exact(bare)
        return whole if isinstance(value, str) else value
    return {"True": True, "False": False, "None": None}.get(bare, whole)


def _read(bare: str, allowance: Allowance, wanted: frozenset[str]) -> Any:
    if bare.startswith("<") and (parts := _elements(bare)):
        if "array" in wanted and len({key for key, _ in parts}) == 1:
            return [text for _, text in parts]
        return dict(parts) if "object" in wanted and len(dict(parts)) == len(parts) else bare
    if not bare.startswith(("{", "[")):
        with suppress(Unreadable):
            return exact(bare)
        return bare
    with suppress(Unreadable):
        return mend(bare, allowance, guess=False)[0]
    return as_yaml(bare) if bare.startswith("[") and not _NESTED.search(bare) else bare


def as_yaml(text: str) -> Any:
    """A list, an object or a text over lines as YAML has it, every value in it as text; ``text`` if it is not YAML."""
    import yaml

    try:
        return yaml.load(text, yaml.BaseLoader)  # this loader makes texts, lists and mappings only
    except yaml.YAMLError:
        return text

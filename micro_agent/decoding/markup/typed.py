"""A value that markup gives as text, read as the type that the tool's schema wants."""

import re
from contextlib import suppress
from html import unescape
from typing import Any

from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact, mend
from micro_agent.decoding.schema_types import JSON_TYPES

_TEXT = frozenset({"string"})
_NOT_TEXT = frozenset(JSON_TYPES.values()) - _TEXT
_CDATA = re.compile(r"\s*+<!\[CDATA\[(?P<text>.*?)\]\]>\s*+", re.DOTALL)
_ITEM = re.compile(r"\s*+<(?P<key>[A-Za-z_][\w.-]{0,127})>(?P<text>[^<]*+)</(?P=key)>\s*+")
_LIST = re.compile(r"\[(?P<items>[^]\[{}:\"'&*]++)\]")
_ENTITY = re.compile(r"&(?:(?P<known>lt|gt|quot|apos|amp);)?")
_WORDS = {"True": True, "False": False, "None": None}


def typed(text: str, wanted: frozenset[str], allowance: Allowance) -> Any:
    """What ``text`` is: line breaks and indentation of the markup around it are left out.

    Where text is wanted it stays as it is, unless it can be read as another type that is wanted too; so the parsers of
    vLLM and Ollama do it. Where nothing is said, numbers, JSON words, objects and lists are read.
    What is none of the wanted types stays text: the schema will refuse it, or coercion will find what it means.
    ``<![CDATA[…]]>`` quotes a text; elements are the items of a list or the members of an object. A text without a
    bracket of XML in which each ``&`` begins one of XML's own entities is escaped as XML has it.
    """
    quoted = _CDATA.fullmatch(text) if "<![CDATA[" in text else None
    whole = quoted["text"] if quoted else _unescaped(_trimmed(text))
    if wanted == _TEXT:
        return whole
    value = _read(whole.strip(), allowance, sure=not wanted)
    kind = JSON_TYPES[type(value)]
    fits = kind in ((wanted or _NOT_TEXT) - _TEXT) or (kind == "integer" and "number" in wanted)
    return value if fits else whole


def _unescaped(text: str) -> str:
    if "&" not in text or "<" in text or ">" in text:
        return text
    return unescape(text) if all(found["known"] for found in _ENTITY.finditer(text)) else text


def _trimmed(text: str) -> str:
    """``text`` without what belongs to the markup: its first and last line break, the indentation of the tags."""
    text = text.removeprefix("\r").removeprefix("\n")
    body, _, last = text.rpartition("\n")
    if body and last and not last.strip(" \t"):
        lines = body.split("\n")
        inside = all(line.startswith(last) or not line.strip() for line in lines)
        return "\n".join(line.removeprefix(last) for line in lines) if inside else body
    return text.removesuffix("\n").removesuffix("\r")


def _read(bare: str, allowance: Allowance, *, sure: bool) -> Any:
    """``bare`` as JSON or one of Python's words; else, where that need not be sure, as what is nearly JSON."""
    if bare in _WORDS:
        return _WORDS[bare]
    with suppress(Unreadable):
        return exact(bare)
    if not sure and bare.startswith("<"):
        return _elements(bare)
    if sure or not bare.startswith(("{", "[")):
        return bare
    with suppress(Unreadable):
        return mend(bare, allowance, guess=False)[0]
    words = _LIST.fullmatch(bare)
    return [word.strip() for word in words["items"].split(",")] if words else bare


def _elements(text: str) -> Any:
    """The texts of the elements that ``text`` consists of: a list where they have one name, else an object."""
    parts: list[tuple[str, str]] = []
    at = 0
    while (found := _ITEM.match(text, at)) is not None:
        parts.append((found["key"], found["text"]))
        at = found.end()
    members = dict(parts)
    if at < len(text) or len(members) not in (1, len(parts)):
        return text
    return members if len(members) == len(parts) else [said for _, said in parts]


def as_yaml(text: str) -> Any:
    """A list, an object or a text over lines as YAML has it, every value in it as text; ``text`` if it is not YAML.

    Nothing may be repeated by its name: a few lines could become a value that no memory holds.
    """
    import yaml

    try:
        named = "*" in text and any(isinstance(one, yaml.AliasToken) for one in yaml.scan(text, yaml.BaseLoader))
        return text if named else yaml.load(text, yaml.BaseLoader)  # this loader makes texts, lists and mappings only
    except yaml.YAMLError:
        return text

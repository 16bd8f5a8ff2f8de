"""The name that a model gave, and the tool that it means."""

import difflib
import re
from collections.abc import Collection, Iterable

# <|message|>, <｜tool▁call▁begin｜>, harmony's "commentary to=functions.f"
_TOKEN = re.compile(r"<[|｜][^<>]*>?|\bto=")
# What follows these two tokens is the name of a channel and that of a format.
_TAIL = re.compile(r"<\|(?:channel\|>\s*(?:analysis|commentary|final)|constrain\|>\s*\w+)\b")
_LABEL = re.compile(r"^(?:(?:tool|function)[ _]?name|name|tool|function|action)\s*[:=]\s*(?=\S)", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:(?:functions?|default_api|tools?|namespaces?|api)[.:/]+\s*)+(?=\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?::\d*|\(\s*\))+$")  # functions.f:0, f: and f()
_BETWEEN = re.compile(r"[\s._-]+")
_AROUND = " \t\r\n\"'`*“”‘’"
_MAX_CHARS = 500
_MAX_SHOWN = 60
_MAX_COMPARED = 200


def resolve(names: Iterable[str], name: str) -> str | None:
    """The tool that ``name`` means.

    An exact name is itself. Otherwise quotes are set aside, then case, ``-``, ``.`` and ``_``, then prefixes such as
    ``functions.`` and suffixes such as ``()``, then special tokens glued on (``add<|channel|>commentary``). The first
    of these steps after which a tool fits decides: it is taken when it is the only one. Nothing goes by likeness.

    Args:
        names: The names of the tools there are.
        name: What the model wrote, any text.

    Returns:
        One of ``names``, or ``None`` when none or several fit.
    """
    known = list(names)
    if name in known:
        return name
    if len(name) > _MAX_CHARS:
        return None
    bare = name.strip(_AROUND)
    for spellings in ([bare], [_undressed(bare)], _pieces(bare)):
        fitting = _fitting(known, spellings)
        if fitting:
            return fitting.pop() if len(fitting) == 1 else None
    return None


def closest(names: Collection[str], name: str) -> list[str]:
    """Up to three names that look like ``name``, closest first: for an error to show, never to be called."""
    spelled = {known.casefold(): known for known in sorted(names)[:_MAX_COMPARED]}
    return [spelled[near] for near in difflib.get_close_matches(name[:_MAX_SHOWN].casefold(), spelled, cutoff=0.5)]


def _undressed(spelling: str) -> str:
    """``spelling`` without a label before it, a namespace and what looks like a call after it."""
    for pattern in (_LABEL, _PREFIX, _SUFFIX):
        spelling = pattern.sub("", spelling).strip(_AROUND)
    return spelling


def _pieces(name: str) -> list[str]:
    """The words around special tokens; none when there is no such token."""
    parts = _TOKEN.split(_TAIL.sub(" <||> ", name))
    return [_undressed(word) for part in parts for word in part.split()] if len(parts) > 1 else []


def _fitting(known: Collection[str], spellings: list[str]) -> set[str]:
    """The names that one of the spellings is, or else those that it is but for case and what stands between words."""
    exact = {name for name in known if name in spellings}
    keys = {_key(spelling) for spelling in spellings} - {""}
    return exact or {name for name in known if _key(name) in keys}


def _key(spelling: str) -> str:
    return _BETWEEN.sub("", spelling).casefold()

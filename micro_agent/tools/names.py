"""The name that a model gave, and the tool that it means."""

import re
from collections.abc import Collection, Iterable

_TOKEN = re.compile(
    r"<[|｜][^<>]*>?|\bto="
)  # <|channel|>, <｜tool▁call▁begin｜>, harmony's "commentary to=functions.f"
_PREFIX = re.compile(r"^(functions?|default_api|tools?)[.:]\s*")
_SUFFIX = re.compile(r"(:\d+|\(\))$")  # functions.f:0 and f()
_BETWEEN = re.compile(r"[\s._-]+")
_MAX_CHARS = 500


def resolve(names: Iterable[str], name: str) -> str | None:
    """The tool that ``name`` means.

    An exact name is itself. Otherwise case, ``-``, ``.`` and ``_``, prefixes such as ``functions.`` and
    ``default_api.``, and special tokens glued on (``add<|channel|>commentary``) are set aside, and the tool is taken
    when exactly one fits.

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
    whole = _fitting(known, [name])
    fitting = whole or _fitting(known, _pieces(name))
    return fitting.pop() if len(fitting) == 1 else None


def _pieces(name: str) -> list[str]:
    """The words around special tokens; none when there is no such token."""
    parts = _TOKEN.split(name)
    return [word for part in parts for word in part.split()] if len(parts) > 1 else []


def _fitting(known: Collection[str], spellings: list[str]) -> set[str]:
    bare = {_bare(spelling) for spelling in spellings}
    exact = {name for name in known if name in bare}
    keys = {_key(spelling) for spelling in bare} - {""}
    return exact or {name for name in known if _key(name) in keys}


def _bare(spelling: str) -> str:
    return _SUFFIX.sub("", _PREFIX.sub("", spelling.strip(" \t\r\n\"'`*")))


def _key(spelling: str) -> str:
    return _BETWEEN.sub("", spelling).casefold()

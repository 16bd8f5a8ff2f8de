"""JSON that lacks commas, or has brackets too many or too few inside it; another reader like those in `quotes`."""

import re

from micro_agent.decoding.repair.loose import STRING, tightened
from micro_agent.decoding.repair.strict import Allowance, Unreadable

_VALUE = re.compile(
    rf"(?>{STRING})(?P<key>(?=\s*+\"[^\"\\]{{1,80}}\"\s*+:))?|(?:[}}\]]|\b(?:true|false|null)\b|\d(?![\d.eE]))"
    r"(?P<next>(?=\s*+\"[^\"\\]{1,80}\"\s*+:|(?<=\})\s*+\{))?",
    re.DOTALL,
)
_BRACKET = re.compile(rf"(?>{STRING})|[{{}}\[\]]", re.DOTALL)
_PARTNER = {"}": "{", "]": "["}
_CLOSER = {"{": "}", "[": "]"}


def punctuation(text: str, allowance: Allowance) -> str:
    """Commas put in before the next key or object, brackets that close nothing left out, missing ones put in.

    A bracket that closes an outer one closes those inside it as well, as `scanner` reads it.
    """
    if not allowance.spend(len(text) // 4 + 2 * sum(map(text.count, '{}[]"'))):
        raise Unreadable("too many brackets")
    return _balanced(_VALUE.sub(_with_comma, tightened(text)[0]))


def _with_comma(value: re.Match[str]) -> str:
    if value[0].rstrip('"').endswith((", ", ",")):
        return value[0]  # it may have lost its last quote
    return f"{value[0]}," if value["key"] is not None or value["next"] is not None else value[0]


def _balanced(text: str) -> str:
    open_in: list[str] = []
    return _BRACKET.sub(lambda found: _fitting(found[0], open_in), text)


def _fitting(mark: str, open_in: list[str]) -> str:
    """``mark``, with the brackets before it that it closes; a blank for one that closes nothing: it ends a number."""
    if mark in _CLOSER:
        open_in.append(mark)
    if mark not in _PARTNER:
        return mark
    if _PARTNER[mark] not in open_in:
        return " "
    before = ""
    while open_in[-1] != _PARTNER[mark]:
        before += _CLOSER[open_in.pop()]
    open_in.pop()
    return before + mark

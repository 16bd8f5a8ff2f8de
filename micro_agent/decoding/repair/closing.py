"""Closing brackets that the very end of an object or a list lacks."""

import re
from contextlib import suppress
from itertools import islice
from typing import Any

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.repair.mending import Allowance, Unreadable, mend, repair
from micro_agent.decoding.scan.scanner import Piece, piece_at

_WHOLE_VALUE = re.compile(r"""(?:["'”’}\]]|\b(?:true|false|null|True|False|None))\Z""")
# What cannot go on inside the object: it stands on a line of its own and begins with a word. Where brackets follow, no
# key begins with a capital letter or has a word behind it.
_THEN_PROSE = re.compile(
    r"""[}\]][ \t]*+(?:```[ \t]*+)?\n\s*+(?=[A-Z][\w ]{1,40}[:({\[]|\w+ \w|[^\s"'{}\[\],:][^{}\[\]]*+\Z)"""
)
_FENCE_END = re.compile(r"[\"'}\]]\s*\n[ \t]*```[ \t]*(?=\n|\Z)")
_MAX_TRIES = 8
_GOES_ON = re.compile(r"[\"']\s*+[}\]]\s*+\n")
"""In a text of an object that is not complete: it may have ended there."""
_OPEN_TEXT = re.compile(r"[\"'][\w.:/-]++[\s}\]]*+\Z")
"""A text that nothing but brackets end: the model may have been cut off inside it."""
_ENDING = re.compile(r"(?>(?:\s++|```|</s>|<[|｜]\w{1,30}[|｜]>)+)\Z")
_MAX_ENDING = 200
_MAX_WORD = 5


def closed(piece: Piece, allowance: Allowance) -> tuple[Any, list[Repair]]:
    """A piece that lacks its closing brackets at the very end, with them.

    Only after a value that is whole: a text that was closed, an object, a list or a word. A number may go on, a comma
    promises more. Nothing is guessed about the rest.

    Raises:
        Unreadable: Something else than brackets is missing.
    """
    text = _without_ending(piece.text)
    missing = piece.missing
    if missing is None and (found := _requoted(piece.text, allowance)) is not None:
        return found
    if missing is None or not _WHOLE_VALUE.search(text, max(0, len(text) - _MAX_WORD)):
        text, missing = _before_prose(text)
    if missing is None:
        raise Unreadable(f"it ends before it is complete, at character {len(piece.text)}")
    value, repairs = mend(text + missing, allowance)
    cut_key = text.endswith('"') and any(one.kind == "inner_quotes" for one in repairs)  # it was a key, not text
    if cut_key or (repairs and any(_GOES_ON.search(part) or _holds(part, missing, text) for part in texts(value))):
        raise Unreadable("one of its texts goes on behind it")
    return value, [repair("closing_brackets", text, text + missing), *repairs]


def _holds(part: str, missing: str, text: str) -> bool:
    """Whether a bracket that was put in has become part of a text."""
    return part[-1:] == missing[-1:] and part not in text


def _requoted(text: str, allowance: Allowance) -> tuple[Any, list[Repair]] | None:
    """An object that is whole and whose brackets a quote too few or too many hides."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    if not end or any(sign in text[end:] for sign in "\"'{[") or _OPEN_TEXT.search(text, max(0, end - 200), end):
        return None
    with suppress(Unreadable):
        return mend(text[:end], allowance, closing=False)
    return None


def _without_ending(text: str) -> str:
    """``text`` without blanks, a fence and special tokens at its end."""
    last = max(0, len(text) - _MAX_ENDING)
    return text[:last] + _ENDING.sub("", text[last:])


def _before_prose(text: str) -> tuple[str, str | None]:
    """``text`` up to the bracket that a fence or prose on a line of its own follows, and what closes it."""
    for last in (*islice(_FENCE_END.finditer(text), 1), *islice(_THEN_PROSE.finditer(text), _MAX_TRIES)):
        whole = text[: last.start() + 1]
        if missing := piece_at(whole, 0).missing:
            return whole, missing
    return text, None

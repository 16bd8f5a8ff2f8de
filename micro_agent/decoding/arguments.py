"""The arguments of a call, in whatever form they came, as an object."""

import re
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.clearing.loops import is_loop
from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact, mend, repair
from micro_agent.decoding.scan.scanner import Piece, piece_at, pieces

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


def read_arguments(raw: Any, allowance: Allowance) -> tuple[dict[str, Any], list[Repair]]:
    """The object that ``raw`` is or, as text, holds.

    ``None`` and empty text are not arguments. Text inside text (double encoding) is unwrapped once.

    Returns:
        The arguments and what was mended.

    Raises:
        Unreadable: ``raw`` holds no object.
    """
    value, repairs = _read(raw, allowance) if isinstance(raw, str) else (raw, [])
    if isinstance(value, str):
        inner, more = _read(value, allowance)
        repairs = [repair("double_encoding", cast("str", raw), value), *repairs, *more]
        value = inner
    if value is None:
        return {}, repairs
    if isinstance(value, dict):
        return cast("dict[str, Any]", value), repairs
    raise Unreadable(f"{_kind(value)} where an object is wanted")


def _read(text: str, allowance: Allowance) -> tuple[Any, list[Repair]]:
    if not text.strip():
        return None, []
    with suppress(Unreadable):
        return exact(text), []
    if is_loop(text):
        raise Unreadable("it says the same again and again")
    found = pieces(text)
    if not found or not found[0].text.startswith("{"):
        raise Unreadable("no JSON object in it")
    if not found[0].closed:
        return closed(found[0], allowance)
    if len({piece.text for piece in found}) > 1:
        raise Unreadable("more than one object")
    value, repairs = mend(found[0].text, allowance)
    around = text.strip() != found[0].text
    return value, [repair("surroundings", text, found[0].text), *repairs] if around else repairs


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
    if cut_key or (repairs and any(_GOES_ON.search(part) for part in texts(value))):
        raise Unreadable("one of its texts goes on behind it")
    return value, [repair("closing_brackets", text, text + missing), *repairs]


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


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "a single value"

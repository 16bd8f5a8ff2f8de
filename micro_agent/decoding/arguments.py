"""The arguments of a call, in whatever form they came, as an object."""

import re
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair import Allowance, Unreadable, exact, mend, repair
from micro_agent.decoding.scanner import Piece, piece_at, pieces

_WHOLE_VALUE = re.compile(r"""(?:["'”’}\]]|\b(?:true|false|null|True|False|None))\Z""")
# What cannot go on inside the object: it stands on a line of its own and begins with a word.
_PROSE = re.compile(r"""[ \t]*+(?:```[ \t]*+)?\n\s*+[^\s"'{}\[\],:][^{}\[\]]*+""")

_ENDING = re.compile(r"(?:\s|```|</s>|<[|｜]\w{1,30}[|｜]>)+\Z")
_MAX_ENDING = 200


def read_arguments(raw: Any, allowance: Allowance) -> tuple[dict[str, Any], list[Repair]]:
    """The object that ``raw`` is or, as text, holds.

    ``None`` and empty text are no arguments. Text inside text (double encoding) is unwrapped once.

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
    if missing is None or not _WHOLE_VALUE.search(text):
        text, missing = _before_prose(text)
    if missing is None:
        raise Unreadable(f"it ends before it is complete, at character {len(piece.text)}")
    value, repairs = mend(text + missing, allowance)
    return value, [repair("closing_brackets", text, text + missing), *repairs]


def closed_by_markup(text: str) -> tuple[str, list[Repair]]:
    """An object as text with the brackets that it lacks, where markup behind it says that it is complete."""
    missing = piece_at(text, 0).missing
    if not missing:
        return text, []
    whole = text.rstrip() + missing
    return whole, [repair("closing_brackets", text, whole)]


def _without_ending(text: str) -> str:
    """``text`` without blanks, a fence and special tokens at its end."""
    last = max(0, len(text) - _MAX_ENDING)
    return text[:last] + _ENDING.sub("", text[last:])


def _before_prose(text: str) -> tuple[str, str | None]:
    """``text`` up to its last bracket, when prose follows that on a line of its own, and what closes it."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    if not end or not _PROSE.fullmatch(text, end):
        return text, None
    return text[:end], pieces(text[:end])[0].missing


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "a single value"

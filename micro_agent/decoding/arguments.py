"""The arguments of a call, in whatever form they came, as an object."""

import re
from contextlib import suppress
from typing import Any, cast

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair import Allowance, Unreadable, exact, mend, repair
from micro_agent.decoding.scanner import Piece, pieces

_WHOLE_VALUE = re.compile(r"""(?:["'}\]]|\b(?:true|false|null|True|False|None))\Z""")


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
    text = piece.text.rstrip().removesuffix("```").rstrip()
    if piece.missing is None or not _WHOLE_VALUE.search(text):
        raise Unreadable(f"it ends before it is complete, at character {len(piece.text)}")
    value, repairs = mend(text + piece.missing, allowance, guess=False)
    return value, [repair("closing_brackets", text, text + piece.missing), *repairs]


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "a text" if isinstance(value, str) else "a single value"

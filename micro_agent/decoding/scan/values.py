"""A JSON value at a place in a text, whatever follows it."""

import json
from typing import Any

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.closing import closed
from micro_agent.decoding.repair.mending import Unreadable, exact, mend, repair, unescaped
from micro_agent.decoding.scan.scanner import Piece, first_piece

_DECODER = json.JSONDecoder()


class Unfinished(Exception):
    """The text ends before the value does."""


def value_at(page: Page, start: int, stop: int | None) -> tuple[Any, int, list[Repair]]:
    """The value at ``start``, where it ends, and what was mended; what a JSON string holds is read in its place.

    What is not strict JSON reaches up to ``stop`` (a mark, which says that nothing but brackets can be missing) or to
    the end of the text (where brackets are added only if the schema of a tool can agree).

    Raises:
        Unreadable: It makes no sense.
        Unfinished: The text ends inside it.
    """
    try:
        end: int = _DECODER.raw_decode(page.text, start)[1]
        value = exact(page.text[start:end])
    except (ValueError, RecursionError):
        text = page.text[start:stop].rstrip()
        value, repairs, length = _mended(text, page, whole=stop is not None)
        return value, start + length, repairs
    if isinstance(value, str):
        inner, repairs = mend(value, page.offer.allowance)
        return inner, end, [repair("double_encoding", page.text[start:end], value), *repairs]
    return value, end, []


def _mended(text: str, page: Page, *, whole: bool) -> tuple[Any, list[Repair], int]:
    """The value that ``text`` begins with, what was mended, and its length; nothing is mended in what was cut off."""
    if page.cut_off:
        raise Unfinished
    if (inner := unescaped(text)) is not None:
        value, repairs = mend(inner, page.offer.allowance)
        return value, [repair("double_encoding", text, inner), *repairs], len(text)
    piece = first_piece(text)
    if piece is None:
        raise Unreadable("it is not JSON")
    if not piece.closed:
        return (*_closed(piece, page, whole=whole), len(text))
    try:
        return (*mend(piece.text, page.offer.allowance), piece.end)
    except Unreadable:
        end = max(text.rfind("}"), text.rfind("]")) + 1
        return (*mend(text[:end], page.offer.allowance), end)


def _closed(piece: Piece, page: Page, *, whole: bool) -> tuple[Any, list[Repair]]:
    """What lacks brackets at its end; before a marker it may be that quotes inside a text hide them."""
    try:
        value, repairs = closed(piece, page.offer.allowance)
    except Unreadable:
        text = piece.text.rstrip().removesuffix("```").rstrip()
        if whole and piece.missing and text[-1:].isdigit():
            return mend(text + piece.missing, page.offer.allowance)
        if not whole or not text.endswith(("}", "]")):
            raise Unfinished from None
        return mend(text, page.offer.allowance)
    if page.offer.tools is None and not whole:
        raise Unreadable("its closing brackets are missing")
    return value, repairs

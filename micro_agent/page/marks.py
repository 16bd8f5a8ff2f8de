"""A raw reply with its repairs marked in it: what was taken away and what was put in, where that can be said."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
_CUT = "…"
"""Stands for the middle of a long text in a repair on record."""

Mark = Literal["removed", "added", "repaired"]


class Piece(NamedTuple):
    """A piece of a reply. What was ``added`` is not in the reply; what is ``repaired`` was changed somewhere in it."""

    text: str
    mark: Mark | None = None


def marked(text: str, repairs: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """The pieces of a text, in order; a repair whose text stands nowhere in it marks nothing.

    Args:
        text: What the model wrote.
        repairs: As `LMCall.repairs` has them. One that goes on with what the one before it left is a part of it.
    """
    pieces, at = list[Piece](), 0
    for before, after in _chains(repairs):
        found = _pattern(before).search(text, at) if before else None
        if found is None:
            continue
        pieces.append(Piece(text[at : found.start()]))
        pieces += _changed(before, after) if _CUT not in before + after else [Piece(found[0], "repaired")]
        at = found.end()
    return [piece for piece in (*pieces, Piece(text[at:])) if piece.text]


def _chains(repairs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """What stood there first and what was read at last, of repairs that go on one with another."""
    first, last = None, None
    for repair in repairs:
        before, after = str(repair.get("before") or ""), str(repair.get("after") or "")
        if first is not None and last is not None and before != last:
            yield first, last
            first = None
        first, last = before if first is None else first, after
    if first is not None and last is not None:
        yield first, last


def _pattern(before: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, before.split(_CUT))), re.DOTALL)


def _changed(before: str, after: str) -> Iterator[Piece]:
    """Word by word; if nearly all of it is another, one after the other."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            yield Piece("".join(old[a:b]))
            continue
        if a < b:
            yield Piece("".join(old[a:b]), "removed")
        if c < d:
            yield Piece("".join(new[c:d]), "added")

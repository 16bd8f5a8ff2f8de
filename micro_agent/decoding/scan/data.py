"""What stands inside data is text: a marker or a tag in an argument of a call means nothing."""

import re
from bisect import bisect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact, mend
from micro_agent.decoding.scan.scanner import Piece, pieces

_MAX_MENDS = 40
_MAX_READS = 400
_MAX_LENGTH = 500_000
"""So many pieces are mended where that is needed, so many are read at all, and so many characters of them."""
_QUOTES = (re.compile(r'"(?<!\\")'), re.compile(r"'(?<!\\')"))
_BEFORE_TEXT, _AFTER_TEXT = frozenset("=:([,{"), frozenset(",)}]")
_REACH = 20
"""Blanks between a text and these signs."""
_Found = TypeVar("_Found", re.Match[str], Mark)


@dataclass(slots=True)
class Data:
    """Where data is in a text: readable objects and lists, and quoted arguments. It is looked for when first asked."""

    text: str
    allowance: Allowance
    _pieces: list[Piece] | None = field(default=None, repr=False)
    _quotes: list[list[int]] | None = field(default=None, repr=False)
    _readable: dict[int, bool] = field(default_factory=dict[int, bool], repr=False)
    _length: int = 0

    def of(self, text: str) -> "Data":
        """The same of another text; itself when it is the same text, with all that was found in it already."""
        return self if text == self.text else Data(text, self.allowance)

    @property
    def pieces(self) -> list[Piece]:
        """The outermost objects and lists (see `scanner.pieces`)."""
        if self._pieces is None:
            self._pieces = pieces(self.text)
        return self._pieces

    def outside(self, found: Sequence[_Found]) -> list[_Found]:
        """Those of ``found``, which are in order, that are not in data."""
        if not found:
            return []
        if self._quotes is None:
            self._quotes = [[quote.start() for quote in pattern.finditer(self.text)] for pattern in _QUOTES]
        around, quotes = deque(self.pieces), self._quotes
        torn = next((piece.start for piece in self.pieces if piece.missing is None), len(self.text))
        return [
            one
            for one in found
            if not self._held(at := one.start if isinstance(one.start, int) else one.start(), around)
            and not any(self._quoted(places, at, torn=torn < at) for places in quotes)
        ]

    def _held(self, at: int, around: deque[Piece]) -> bool:
        """Whether ``at`` is inside one of the pieces ``around`` it that can be read; those before it are dropped."""
        while around and around[0].start < at:
            if around[0].end > at and self._is_readable(around[0]):
                return True
            around.popleft()
        return False

    def _is_readable(self, piece: Piece) -> bool:
        """Whether a piece can be read, at most with its missing brackets; not when too many were read already."""
        if piece.start not in self._readable:
            self._length += len(piece.text)
            within = len(self._readable) < _MAX_READS and self._length <= _MAX_LENGTH
            self._readable[piece.start] = within and self._reads(piece)
        return self._readable[piece.start]

    def _reads(self, piece: Piece) -> bool:
        try:
            if piece.closed and len(self._readable) < _MAX_MENDS:
                mend(piece.text, self.allowance, guess=False)
            else:
                exact(piece.text + (piece.missing or ""))
        except Unreadable:
            return False
        return True

    def _quoted(self, quotes: list[int], at: int, *, torn: bool) -> bool:
        """Whether ``at`` is between quotes that stand behind ``=``, ``:`` or a bracket, and before a comma or one.

        When an object is torn off, the last text in it has no second quote.
        """
        following = bisect(quotes, at)
        if following == 0 or (following == len(quotes) and not torn):
            return False
        opening = quotes[following - 1]
        before = self.text[max(0, opening - _REACH - 1) : opening].rstrip()
        if before[-1:] not in _BEFORE_TEXT:
            return False
        last = quotes[following] + 1 if following < len(quotes) else None
        return last is None or self.text[last : last + _REACH + 1].lstrip()[:1] in _AFTER_TEXT

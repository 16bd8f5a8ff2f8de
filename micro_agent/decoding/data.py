"""What stands inside data is text: a marker or a tag in an argument of a call means nothing."""

import re
from bisect import bisect
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from micro_agent.decoding.repair import Allowance, Unreadable, exact, mend
from micro_agent.decoding.scanner import Piece, pieces

_MAX_MENDS = 40
_MAX_READS = 400
"""So many pieces are mended where that is needed, and so many are read at all."""
_QUOTES = (re.compile(r'(?<!\\)"'), re.compile(r"(?<!\\)'"))
_BEFORE_TEXT = re.compile(r"[=:(\[,{]\s{0,20}\Z")
_AFTER_TEXT = re.compile(r"\s{0,20}[,)}\]]")


@dataclass(slots=True)
class Data:
    """Where data is in a text: readable objects and lists, and quoted arguments. It is looked for when first asked."""

    text: str
    allowance: Allowance
    _pieces: list[Piece] | None = field(default=None, repr=False)
    _quotes: list[list[int]] | None = field(default=None, repr=False)

    def outside(self, found: Sequence[re.Match[str]]) -> list[re.Match[str]]:
        """Those of ``found``, which are in order, that are not in data."""
        if not found:
            return []
        if self._pieces is None or self._quotes is None:
            self._pieces = pieces(self.text)
            self._quotes = [[quote.start() for quote in pattern.finditer(self.text)] for pattern in _QUOTES]
        objects, quotes = _Objects(deque(self._pieces), self.allowance), self._quotes
        torn = next((piece.start for piece in self._pieces if piece.missing is None), len(self.text))
        return [
            one
            for one in found
            if not objects.hold(one.start())
            and not any(self._quoted(places, one.start(), torn=torn < one.start()) for places in quotes)
        ]

    def _quoted(self, quotes: list[int], at: int, *, torn: bool) -> bool:
        """Whether ``at`` is between quotes that stand behind ``=``, ``:`` or a bracket, and before a comma or one.

        When an object is torn off, the last text in it has no second quote.
        """
        following = bisect(quotes, at)
        if following == 0 or (following == len(quotes) and not torn):
            return False
        opening = quotes[following - 1]
        ends = following == len(quotes) or _AFTER_TEXT.match(self.text, quotes[following] + 1)
        return bool(ends and _BEFORE_TEXT.search(self.text, max(0, opening - 21), opening))


@dataclass(slots=True)
class _Objects:
    """The pieces of a text, asked for places that never go back."""

    around: deque[Piece]
    allowance: Allowance
    reads: int = 0
    judged: Piece | None = None
    readable: bool = False

    def hold(self, at: int) -> bool:
        """Whether ``at`` is inside one that can be read, at most with its missing brackets."""
        while self.around and self.around[0].start < at:
            piece = self.around[0]
            if piece is not self.judged and piece.end > at:
                self.judged, self.readable = piece, self._reads(piece)
            if piece.end > at and self.readable:
                return True
            self.around.popleft()
        return False

    def _reads(self, piece: Piece) -> bool:
        self.reads += 1
        if self.reads > _MAX_READS:
            return False
        try:
            if piece.closed and self.reads <= _MAX_MENDS:
                mend(piece.text, self.allowance, guess=False)
            else:
                exact(piece.text + (piece.missing or ""))
        except Unreadable:
            return False
        return True

"""The text of a reply with its structure: marks, fences, inline code, data. All of it is found once."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property

from micro_agent.decoding.lexer import Mark, marks_of
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.rows import STOPS, TURNS
from micro_agent.decoding.scan.data import Data

_FENCE = re.compile(r"^[ \t]*+(?P<ticks>```+)[ \t]*+(?P<word>[\w+-]*)[^\n`]*+(?:\n|\Z)|```", re.MULTILINE)
_TURN = re.compile(
    r"<\|im_start\|>\s*(?:user|tool|system)|<\|start\|>\s*(?:functions|user)|^Observation(?:[ ]\d{1,2})?:"
    r"|<\|from\|>\s{0,9}(?!assistant\b)\w",
    re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,4000})\1(?!`)")
_QUOTE = re.compile(r"[ \t]{0,8}>(?=[ \t])")


_MAX_END = 4_000
"""Characters at the end of a text in which its last word is looked for."""
_BLANKS = re.compile(r"\s*+")


def skip_blanks(text: str, at: int) -> int:
    """Where the text goes on behind the blanks at ``at``."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence: where it begins, its word ends, its inside begins and ends, its last ticks end; and its word."""

    start: int
    head: int
    inside: int
    stop: int
    end: int
    word: str


def _fence(opened: re.Match[str], stop: int, end: int) -> Fence:
    head = opened.end("word") if opened["ticks"] else opened.end()
    return Fence(opened.start(), head, opened.end(), stop, end, (opened["word"] or "").lower())


@dataclass(frozen=True)
class Page:
    """The text of a reply without its thinking, whether the token limit cut it off, and the tools."""

    text: str
    cut_off: bool
    offer: Offer

    @cached_property
    def data(self) -> Data:
        """Where in the text something is data, so that a marker in it means nothing."""
        return Data(self.text, self.offer.allowance)

    @cached_property
    def every_mark(self) -> list[Mark]:
        """All marks, also those in data and in inline code."""
        return marks_of(self.text)

    @cached_property
    def marks(self) -> list[Mark]:
        """The marks that mean something: not inside readable data, not in inline code in the midst of words."""
        found = self.data.outside(self.every_mark)
        return [mark for mark in found if not self.in_code(mark.start)]

    @cached_property
    def starts(self) -> list[int]:
        """Where each of `marks` begins."""
        return [mark.start for mark in self.marks]

    def after(self, at: int) -> int:
        """The index of the first of `marks` that begins at ``at`` or later."""
        return bisect_left(self.starts, at)

    def mark_at(self, at: int) -> Mark | None:
        """The mark that begins at ``at``."""
        index = self.after(at)
        return self.marks[index] if index < len(self.marks) and self.marks[index].start == at else None

    def next_mark(self, at: int) -> Mark | None:
        """The first mark at ``at`` or later."""
        index = self.after(at)
        return self.marks[index] if index < len(self.marks) else None

    def inside(self, mark: Mark) -> int:
        """Where what stands inside ``mark`` begins, and inside all that open right behind it."""
        return self._insides[mark.start]

    @cached_property
    def _insides(self) -> dict[int, int]:
        found: dict[int, int] = {}
        for mark in reversed(self.marks):
            at = mark.end
            while at < len(self.text) and self.text[at].isspace():
                at += 1
            following = self.mark_at(at)
            opens = following is not None and not following.closing and not following.rest.strip()
            found[mark.start] = found[at] if opens and following and following.name in STOPS else at
        return found

    @cached_property
    def inline(self) -> list[tuple[int, int]]:
        """Where inline code stands in lines that say more than it."""
        if "`" not in self.text:
            return []
        return [found.span() for found in _INLINE.finditer(self.text)]

    def in_code(self, at: int) -> bool:
        """Whether ``at`` is in inline code of a text that says more than what is in it."""
        index = bisect_right(self.inline, (at, len(self.text))) - 1
        if index < 0 or self.inline[index][1] <= at:
            return False
        start, end = self.inline[index]
        return self._words[0] < start or self._words[1] > end

    @cached_property
    def _words(self) -> tuple[int, int]:
        """Where the first word of the text begins and its last one ends."""
        first, last = re.search(r"\w", self.text), re.search(r"\w\W*\Z", self.text[-_MAX_END:])
        end = max(0, len(self.text) - _MAX_END) + (last.start() + 1 if last else 0)
        return (first.start() if first else len(self.text)), end

    @cached_property
    def fences(self) -> list[Fence]:
        """The code fences that are closed, and one that is open at the end."""
        found: list[Fence] = []
        opened: re.Match[str] | None = None
        for ticks in _FENCE.finditer(self.text) if "```" in self.text else ():
            if opened is None:
                opened = ticks
            else:
                found.append(_fence(opened, ticks.start(), ticks.end("ticks") if ticks["ticks"] else ticks.end()))
                opened = None
        if opened is not None:
            size = len(self.text)
            found.append(_fence(opened, size, size))
        return found

    def fence_at(self, at: int) -> Fence | None:
        """The fence around ``at``."""
        return next((fence for fence in self.fences if fence.inside <= at <= fence.stop), None)

    @cached_property
    def turns(self) -> list[int]:
        """Where the model goes on with the result that it imagines, or with the next turn of the user."""
        marks = [mark.start for mark in self.marks if mark.name in TURNS]
        return sorted([*marks, *(turn.start() for turn in _TURN.finditer(self.text))])

    def turn_after(self, at: int) -> int:
        """Where the first such turn begins behind ``at``; the end of the text where there is none."""
        index = bisect_left(self.turns, at)
        return self.turns[index] if index < len(self.turns) else len(self.text)

    def is_quoted(self, at: int) -> bool:
        """Whether ``at`` stands in a line of a block quotation."""
        line = self.text.rfind("\n", 0, at) + 1
        return _QUOTE.match(self.text, line) is not None

"""The text of a reply with its structure: marks, fences, inline code, data. All of it is found once."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice
from operator import attrgetter
from typing import NamedTuple

from micro_agent.decoding.keys import plain
from micro_agent.decoding.lexer import Mark, marks_of
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.rows import ROLES, STOPS, TURNS
from micro_agent.decoding.scan.data import Data

_FENCE = re.compile(r"^[ \t]*+(?P<ticks>```+)[ \t]*+(?P<word>[\w+-]*)[^\n`]*+(?:\n|\Z)|```", re.MULTILINE)
_TURN = re.compile(
    r"<\|im_start\|>\s*(?:user|tool|system)|<\|start\|>\s*(?:functions|user)|^Observation(?:[ ]\d{1,2})?:"
    r"|<\|from\|>\s{0,9}(?!assistant\b)\w",
    re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)(`{1,2})(?!`)([^`\n]{1,4000})\1(?!`)")
_MAX_TICKS = 2_000
"""Beginnings and ends of fences that are looked at."""
_MAX_INDENT, _MAX_END = 10, 4_000
"""Characters that begin a line and may mark a quotation; at the end of a text those in which its last word is."""
_HEADERS = frozenset({"channel", "constrain", "start", "im_start", "start_header_id", "start_of_turn"})
_HEADER = re.compile(rf"\s{{0,9}}(?:{'|'.join(ROLES)})\b")
WORD = re.compile(r"\w")
"""What says something, if it is more than signs."""
_BLANKS = re.compile(r"\s*+")
_WORDS = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")
"""What stands between the words of a tool's name."""
_JOINTS = frozenset(" \t\n_.\\-")
_MAX_NAMES, _MAX_MENTIONS, _MAX_PLACES, _MIN_PLACES = 200, 100, 6_000, 50
"""So many names are looked for, each until it is found so often, and all of them at so many places, each at some."""


def skip_blanks(text: str, at: int) -> int:
    """Where the text goes on behind the blanks at ``at``."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


class Mention(NamedTuple):
    """The name of a tool in a text, in any case and with any signs between its words."""

    tool: str
    start: int
    end: int


def mentions(lowered: str, names: Sequence[str]) -> list[Mention]:
    """Where the tools of these names are named in small letters, in order; of those at one place the longest."""
    found: list[Mention] = []
    for name in names[:_MAX_NAMES]:
        first, *more = _words(name)
        at, places, most = lowered.find(first), max(_MAX_PLACES // len(names), _MIN_PLACES), len(found) + _MAX_MENTIONS
        while at >= 0 and places > 0 and len(found) < most:
            end = _spelled(lowered, at, first, more)
            if end:
                found.append(Mention(name, at, end))
            at, places = lowered.find(first, at + 1), places - 1
    apart: list[Mention] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


@lru_cache(maxsize=1024)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORDS.split(name) if word) or (name,)


def _spelled(text: str, at: int, first: str, more: Sequence[str]) -> int:
    """Where the name ends whose words begin at ``at``; 0 where it is part of another word or another name."""
    end = at + len(first)
    if at and _goes_on(text[at - 1], ".-"):
        return 0
    for word in more:
        joint = end
        while end < joint + 2 and text[end : end + 1] in _JOINTS:
            end += 1
        if not text.startswith(word, end):
            return 0
        end += len(word)
    return 0 if _goes_on(text[end : end + 1], "-") else end


def _goes_on(letter: str, signs: str) -> bool:
    return letter != "" and ((letter.isascii() and letter.isalnum()) or letter == "_" or letter in signs)


class Fence(NamedTuple):
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


_start, _inside = attrgetter("start"), attrgetter("inside")


@dataclass(eq=False)
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
    def plain_names(self) -> frozenset[str]:
        """The names of the tools as `keys.plain` has them."""
        return frozenset(map(plain, self.offer.names or ()))

    @cached_property
    def own_words(self) -> frozenset[str]:
        """The names of the tools and of their arguments, in any case."""
        names = self.offer.names or ()
        return frozenset(word.casefold() for name in names for word in (name, *self.offer.properties(name)))

    @cached_property
    def lowered(self) -> str:
        """The text in small letters, each at its place."""
        lowered = self.text.lower()
        return lowered if len(lowered) == len(self.text) else "".join(letter.lower()[:1] for letter in self.text)

    @cached_property
    def mentions(self) -> list[Mention]:
        """Where the tools are named."""
        return mentions(self.lowered, self.offer.names or ())

    def mentioned(self, start: int, end: int) -> list[Mention]:
        """The `mentions` that begin between these places."""
        first = bisect_left(self.mentions, start, key=_start)
        return self.mentions[first : bisect_left(self.mentions, end, key=_start)]

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
    def inside_markup(self) -> frozenset[int]:
        """Where what stands inside the markup of a call begins."""
        opens = (mark for mark in self.marks if mark.plain and mark.name in STOPS)
        return frozenset(map(self.inside, opens))

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
        first, last = WORD.search(self.text), re.search(r"\w\W*\Z", self.text[-_MAX_END:])
        end = max(0, len(self.text) - _MAX_END) + (last.start() + 1 if last else 0)
        return (first.start() if first else len(self.text)), end

    @cached_property
    def fences(self) -> list[Fence]:
        """The code fences that are closed, and one that is open at the end."""
        found: list[Fence] = []
        opened: re.Match[str] | None = None
        for ticks in islice(_FENCE.finditer(self.text), _MAX_TICKS) if "```" in self.text else ():
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
        last = bisect_right(self.fences, at, key=_inside) - 1
        return self.fences[last] if last >= 0 and at <= self.fences[last].stop else None

    def paragraph(self, start: int, end: int) -> tuple[int, int]:
        """Where the lines around these places begin and end, up to blank ones."""
        before, behind = bisect_left(self._gaps, start - 1), bisect_left(self._gaps, end)
        begin = self._gaps[before - 1] + 2 if before else 0
        return begin, self._gaps[behind] if behind < len(self._gaps) else len(self.text)

    @cached_property
    def _gaps(self) -> list[int]:
        return [at for at in self._breaks if self.text.startswith("\n", at + 1)]

    def line_end(self, at: int) -> int:
        """Where the line ends that ``at`` is in."""
        index = bisect_left(self._breaks, at)
        return self._breaks[index] if index < len(self._breaks) else len(self.text)

    @cached_property
    def _breaks(self) -> list[int]:
        return list(accumulate(map(len, self.text.split("\n")[:-1]), lambda at, size: at + size + 1))

    @cached_property
    def markup(self) -> list[tuple[int, int]]:
        """Where marks stand, with what belongs to a header, and the lines of fences."""
        found: list[tuple[int, int]] = []
        for mark in self.every_mark:
            header = _HEADER.match(self.text, mark.end) if mark.name in _HEADERS else None
            found.append((mark.start, header.end() if header else mark.end))
        for fence in self.fences:
            found += [(fence.start, fence.head), (fence.stop, fence.end)]
        return sorted(found)

    def says_more(self, start: int, end: int) -> bool:
        """Whether a word stands outside these places that is not `markup`."""
        return self._said[0] < start or self._said[1] > end

    @cached_property
    def _said(self) -> tuple[int, int]:
        """Where the first word that is not `markup` begins, and where the last one ends."""
        size = len(self.text)
        free: list[tuple[int, int]] = []
        at = 0
        for start, end in [*self.markup, (size, size)]:
            if start > at:
                free.append((at, start))
            at = max(at, end)
        first = next((found.start() for one in free if (found := WORD.search(self.text, *one))), size)
        places = (at for start, end in reversed(free) for at in range(end - 1, max(start, first) - 1, -1))
        last = next((at for at in places if self.text[at].isalnum() or self.text[at] == "_"), -1)
        return first, last + 1

    @cached_property
    def turns(self) -> list[int]:
        """Where the model goes on with the result that it imagines, or with the next turn of the user."""
        marks = [mark.start for mark in self.marks if mark.name in TURNS]
        written = "<|" in self.text or "Observation" in self.text
        return sorted([*marks, *(turn.start() for turn in _TURN.finditer(self.text))]) if written else marks

    def turn_after(self, at: int) -> int:
        """Where the first such turn begins behind ``at``; the end of the text where there is none."""
        index = bisect_left(self.turns, at)
        return self.turns[index] if index < len(self.turns) else len(self.text)

    def is_quoted(self, at: int) -> bool:
        """Whether ``at`` stands in a line of a block quotation."""
        line = self.text.rfind("\n", 0, at) + 1
        return self.text[line : line + _MAX_INDENT].lstrip(" \t")[:2] in ("> ", ">\t")

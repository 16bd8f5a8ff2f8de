"""Where a text stands in a file, as it was given or but for blanks, and what the file says once it is replaced."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from micro_agent.coding.indentation import carried, indent_of

MOST_PLACES = 1_000
"""More are not looked for: each may be found within the one before it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text, and what takes its place.

    Attributes:
        start: Where the part begins.
        end: Where it ends.
        new: What takes its place.
        lines: The first and the last line, from 1, of what was given as the replacement, once it is there.
        repaired: In what the text that was given differs from the part.
    """

    start: int
    end: int
    new: str
    lines: tuple[int, int]
    repaired: tuple[str, ...] = ()


class Several(Exception):
    """A text stands at more than one place."""

    def __init__(self, lines: list[int]) -> None:
        super().__init__(lines)
        self.lines = lines
        """The line of each, from 1; the first `MOST_PLACES`."""


def find_edit(text: str, target: str, replacement: str) -> Edit | None:
    """The replacement of a target at the one place where it stands.

    As it is; else but for line endings; else, in whole lines, but for blanks behind them; else also but for their
    indentation, which is carried over. Line endings are those of the place.

    Returns:
        ``None`` where there is no such place.

    Raises:
        Several: There are several of the first of these kinds of which there is any.
    """
    plain = _Plain(text)
    target, replacement = target.replace("\r\n", "\n"), replacement.replace("\r\n", "\n")
    place = _place_as_given(plain, target)
    if place is None:
        return _in_lines(plain, target, replacement)
    if "\n" in replacement and _cuts_indentation(plain.text, place[0], target):
        with suppress(Several):
            if edit := _in_lines(plain, target, replacement):
                return edit
    return _edit_of_place(plain, *place, target, replacement)


def _cuts_indentation(text: str, start: int, target: str) -> bool:
    """Whether a target that begins with blanks stands behind others, so that its lines are indented less than there."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return target[:1] in (" ", "\t") and before != "" and not before.strip()


class _Plain:
    """A text in which each line ends with a newline alone."""

    def __init__(self, text: str) -> None:
        self.whole = text
        self.text = text.replace("\r\n", "\n")
        self._returns = [found.start() - at for at, found in enumerate(re.finditer("\r\n", text))]

    def offset(self, at: int) -> int:
        """The place in the whole text."""
        return at + bisect_left(self._returns, at)

    def part(self, start: int, end: int) -> str:
        """What stands there in the whole text."""
        return self.whole[self.offset(start) : self.offset(end)]

    def ended(self, start: int, end: int, new: str) -> str:
        """A text with the line endings of the part that it replaces, or of the line that the part is in."""
        there: list[str] = re.findall("\r?\n", self.part(start, end))
        if not there:
            after = self.text.find("\n", end)
            near = after if after >= 0 else self.text.rfind("\n", 0, start)
            there = [self.part(near, near + 1)] if near >= 0 else ["\n"]
        first, *others = new.split("\n")
        return first + "".join(there[min(at, len(there) - 1)] + line for at, line in enumerate(others))


def _place_as_given(plain: _Plain, target: str) -> tuple[int, bool] | None:
    """Where a target stands but for line endings, and whether also those are the same."""
    found = _all(plain.text, target)
    exact = [at for at in found if plain.part(at, at + len(target)) == target]
    places = exact or found
    if not places:
        return None
    if len(places) > 1:
        raise Several(_lines_at(plain.text, places))
    return places[0], bool(exact)


def _edit_of_place(plain: _Plain, start: int, exact: bool, target: str, replacement: str) -> Edit:
    """The edit of a place. What both begin and end with is left as it is."""
    end = start + len(target)
    same = common(target, replacement)
    behind = common(target[same:][::-1], replacement[same:][::-1])
    new = plain.ended(start + same, end - behind, replacement[same : len(replacement) - behind])
    first = plain.text.count("\n", 0, start) + 1
    last = first + replacement.removesuffix("\n").count("\n")
    repaired = () if exact else ("line endings",)
    return Edit(plain.offset(start + same), plain.offset(end - behind), new, (first, last), repaired)


def _all(text: str, sought: str) -> list[int]:
    """Where a text stands in another, also where one place begins within another; at most `MOST_PLACES`."""
    found: list[int] = []
    at = text.find(sought)
    while at >= 0 and len(found) < MOST_PLACES:
        found.append(at)
        at = text.find(sought, at + 1)
    return found


def _lines_at(text: str, places: list[int]) -> list[int]:
    """The numbers of the lines in which places are, from 1."""
    found: list[int] = []
    line, before = 1, 0
    for at in places:
        line += text.count("\n", before, at)
        before = at
        found.append(line)
    return found


def _in_lines(plain: _Plain, target: str, replacement: str) -> Edit | None:
    """The edit of whole lines."""
    sought, new = target.split("\n"), replacement.split("\n")
    if len(sought) > 1 and not sought[-1].strip():
        sought.pop()
        if not new[-1].strip():
            new.pop()
    lines = plain.text.removesuffix("\n").split("\n")
    for stripped in (str.rstrip, str.strip):
        keys = [stripped(line) for line in sought]
        places = _starts([stripped(line) for line in lines], keys) if any(keys) else []
        if len(places) > 1:
            raise Several([at + 1 for at in places])
        if places:
            return _edit_of_lines(plain, lines, places[0], sought, new)
    return None


def _starts(lines: list[str], sought: list[str]) -> list[int]:
    """The indexes of the lines with which others begin."""
    text = "\n".join(["", *lines, ""])
    return [line - 1 for line in _lines_at(text, _all(text, "\n".join(["", *sought, ""])))]


def _edit_of_lines(plain: _Plain, lines: list[str], at: int, sought: list[str], new: list[str]) -> Edit | None:
    """The edit of the lines from an index on. Those that are to stay are left as they are."""
    there = lines[at : at + len(sought)]
    same = common(sought, new)
    behind = common(sought[same:][::-1], new[same:][::-1])
    indented = carried(there, sought, new[same : len(new) - behind])
    if indented is None:
        return None
    start, end, text = _replaced(plain, lines, at + same, at + len(sought) - behind, indented)
    span = at + 1, at + max(1, len(new))
    return Edit(start, end, text, span, _differing(there, sought))


def edit_lines(text: str, first: int, after: int, new: Sequence[str]) -> Edit:
    """The replacement of the lines from one index up to another, which may be none, by others, which may be none.

    Lines that are to stay are left as they are. Line endings are those of the place.
    """
    plain = _Plain(text)
    lines = plain.text.removesuffix("\n").split("\n") if text else []
    there = lines[first:after]
    same = common(there, new)
    behind = common(there[same:][::-1], new[same:][::-1])
    changed = new[same : len(new) - behind]
    start, end, put = _replaced(plain, lines, first + same, after - behind, changed)
    return Edit(start, end, put, (first + 1, first + max(1, len(new))))


def _replaced(plain: _Plain, lines: Sequence[str], first: int, after: int, new: Sequence[str]) -> tuple[int, int, str]:
    """From where to where the lines from one index up to another stand, and what takes their place."""
    start = sum(len(line) + 1 for line in lines[:first])
    end = start + sum(len(line) + 1 for line in lines[first:after])
    text = "".join(f"{line}\n" for line in new)
    if end > len(plain.text):  # the last line has no end
        start, end, text = _without_end(start, len(plain.text), text)
    return plain.offset(start), plain.offset(end), plain.ended(start, end, text)


def _without_end(start: int, end: int, text: str) -> tuple[int, int, str]:
    """The same where the text ends without a newline: it goes on to do so."""
    if start > end:  # behind the last line
        return end, end, "\n" + text.removesuffix("\n") if text else text
    return start, end, text.removesuffix("\n")


def common(some: Sequence[str], others: Sequence[str]) -> int:
    """How many items both begin with."""
    pairs = zip(some, others, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def _differing(there: list[str], given: list[str]) -> tuple[str, ...]:
    """In what lines differ that are the same but for blanks around them."""
    found: set[str] = set()
    for one, other in zip(there, given, strict=True):
        if one.strip() and indent_of(one) != indent_of(other):
            found.add("indentation")
        if (one.lstrip() if one.strip() else one) != (other.lstrip() if other.strip() else other):
            found.add("trailing blanks")
    return tuple(sorted(found)) or ("line endings",)

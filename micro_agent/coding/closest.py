"""Which lines of a file are most like a text that is not in it."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+")
_MOST_PLACES, _LEAST_SIGNS = 5, 3
_MOST_SIGNS, _CANDIDATES = 300, 20
_MOST_LINES = 300_000
_LEAST_LIKE = 0.55


def closest(lines: Sequence[str], text: str) -> tuple[int, int] | None:
    """The first and the last line, from 1, of the region that is most like a text; ``None`` where nothing is.

    Lines that both have, but for blanks around them, say where the text would begin; without any, the line that has
    most words in common with the longest line of the text. Only the first lines of a very long file are looked at.
    """
    lines = lines[:_MOST_LINES]
    sought = [line.strip() for line in text.strip("\r\n").split("\n")]
    begin = _by_lines(lines, sought)
    if begin is None:
        begin = _by_words(lines, sought)
    if begin is None:
        return None
    first = max(begin, 0)
    return first + 1, max(first + 1, min(begin + len(sought), len(lines)))


def _by_lines(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    """Where the text would begin, by the lines that both have: long ones tell more."""
    where: dict[str, list[int]] = defaultdict(list)
    for at, line in enumerate(sought):
        if len(line) >= _LEAST_SIGNS and len(where[line]) < _MOST_PLACES:
            where[line].append(at)
    votes: Counter[int] = Counter()
    for at, line in enumerate(lines):
        for offset in where.get(line.strip(), ()):
            votes[at - offset] += min(len(line.strip()), _MOST_SIGNS)
    return max(votes, key=lambda begin: (votes[begin], -begin)) if votes else None


def _by_words(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    """The same by the words of the longest line, then by its letters."""
    at = max(range(len(sought)), key=lambda at: len(sought[at]))
    longest = sought[at][:_MOST_SIGNS]
    words = set(_WORD.findall(longest.lower()))
    shares = Counter[int]()
    for number, line in enumerate(lines):
        if common := words & set(_WORD.findall(line[:_MOST_SIGNS].lower())):
            shares[number] = sum(map(len, common))
    likes = {number: _like(longest, lines[number]) for number, _ in shares.most_common(_CANDIDATES)}
    best = max(likes, key=lambda number: likes[number], default=None)
    return None if best is None or likes[best] < _LEAST_LIKE else best - at


def _like(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other.strip()[:_MOST_SIGNS], autojunk=False).ratio()

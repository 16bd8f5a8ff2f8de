"""A model that got stuck: a long reply that says the same again and again."""

import zlib
from collections.abc import Iterator
from itertools import islice
from os.path import commonprefix
from typing import Final

MAX_READ: Final = 8_000
"""So many characters of such a reply are read: the rest of it says nothing new."""

_LONG = 30_000
_RATIO = 50
"""How many times smaller only a loop becomes: prose and code become 3 to 10 times smaller."""
_ENDS = "\n>}])"
_TAILS = (12, 40, 120)
_MAX_ENDS = 6


def once(text: str) -> Iterator[str]:
    """A reply that a token limit ended in the middle of repeating itself, up to where the repetition first ends.

    Where the first time begins is not certain when what stands before it ends alike, so it may end a little later as
    well: the likely ends, the first one first.
    """
    period = next(filter(None, (_period(text, size) for size in _TAILS)), None)
    if period is None or sum(period) > MAX_READ:
        return
    start, length = period
    yield text[: start + length]
    ends = (end for end in range(start + length + 1, start + 2 * length) if text[end - 1] in _ENDS)
    yield from (text[:end] for end in islice(ends, _MAX_ENDS))


def _period(text: str, size: int) -> tuple[int, int] | None:
    """Where what is said twice and begun again at the end of ``text`` begins, and how long it is once.

    It is as long as the way back to where the last ``size`` characters stand as well.
    """
    length = len(text) - size - text.rfind(text[-size:], 0, -1)
    if not 0 < length <= len(text) // 2:
        return None
    backwards = text[::-1]
    shared = len(commonprefix([backwards, backwards[length:]]))  # noqa: RUF071 it is characters that are compared
    return (len(text) - shared - length, length) if shared >= length + size else None


def beginning(text: str) -> str | None:
    """What is read of a long text of which nearly all repeats; ``None`` for any other.

    Its first `MAX_READ` characters, up to the last that may end a call or a line.
    """
    if len(text) < _LONG:
        return None
    written = text.encode("utf-8", "surrogatepass")
    if len(zlib.compress(written, 1)) * _RATIO >= len(written):
        return None
    head = text[:MAX_READ]
    return head[: max(head.rfind(sign) for sign in _ENDS) + 1] or head

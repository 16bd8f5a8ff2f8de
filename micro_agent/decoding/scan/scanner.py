"""Balanced objects and lists in text, found in one pass that knows strings and gives up in time.

A bracket that never closes costs a pass to the end of the text, so the number of those, their length and the number of
brackets and strings looked at are bounded: 100 KB of brackets take a few milliseconds.
"""

import re
from typing import NamedTuple

from micro_agent.decoding.decision import MAX_DEPTH

_MAX_STEPS = 6_000
_PIECE_STEPS = 6
_MAX_UNCLOSED = 24
_MAX_PASSED = 400_000
"""Characters after brackets that never close."""

_OPENER = re.compile(r"[{\[]")
# A single quote opens a string only where a Python literal can have one, and only if something closes it. The first
# character is one set and what it means is asked after it, since `re` skips text fast only to such a beginning.
_TOKEN = re.compile(
    r"""[{}\[\]"'](?:(?<=[{}\[\]])|(?<=")[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?P<closed>")?"""
    r"""|(?<=[{\[(,:\s]')[^'\\]*+(?>(?:\\.[^'\\]*+)*)'(?=\s*+[,:}\])]))""",
    re.DOTALL,
)
# Most of what stands in prose: found without a step for each bracket.
_FLAT = re.compile(
    r"""(?:\{(?>(?:[^][{}"']++|\{[^][{}"']*+\}|\[[^][{}"']*+\])*)\}|\[(?>(?:[^][{}"']++|\{[^][{}"']*+\}|\[[^][{}"']*+\])*)\])"""
)
_STRUCTURE = re.compile(r"""\{\s*(?:(?://|\#)[^\n]*\n\s*)?(?:["'“‘„]|\w+["']?\s*[:=])|\[\s*[{\["'“‘]""")
_PARTNER = {"}": "{", "]": "[", "{": "}", "[": "]"}


class Piece(NamedTuple):
    """A stretch of text from an opening bracket to the one that closes it, or to the end when none does."""

    text: str
    start: int
    missing: str | None = ""
    """The brackets that would close it at the end; ``None`` when it ends inside a string or is nested too deep."""

    @property
    def closed(self) -> bool:
        """Whether its own closing bracket is there."""
        return self.missing == ""

    @property
    def end(self) -> int:
        """Where the text goes on after it."""
        return self.start + len(self.text)


def pieces(text: str) -> list[Piece]:
    """The outermost objects and lists in ``text``, in order.

    One that never closes is listed when it begins like JSON; what stands inside it may then be listed as well. After
    some thousand brackets and strings the rest is not looked at.
    """
    found: list[Piece] = []
    at, steps, unclosed, passed = 0, 0, 0, 0
    while unclosed < _MAX_UNCLOSED and passed < _MAX_PASSED and steps < _MAX_STEPS:
        if (opener := _OPENER.search(text, at)) is None:
            break
        piece, used = _follow(text, opener.start(), _MAX_STEPS - steps)
        steps += used + _PIECE_STEPS
        at = piece.end if piece.closed else piece.start + 1
        if not piece.closed:
            unclosed, passed = unclosed + 1, passed + len(piece.text)
        if piece.closed or _STRUCTURE.match(text, piece.start):
            found.append(piece)
    return found


def first_piece(text: str) -> Piece | None:
    """What `pieces` lists first where ``text`` begins with it."""
    piece = piece_at(text, 0) if text.startswith(("{", "[")) else None
    return piece if piece is None or piece.closed or _STRUCTURE.match(text) else None


def piece_at(text: str, start: int) -> Piece:
    """The piece that opens with the bracket at ``start``."""
    return _follow(text, start, _MAX_STEPS)[0]


def _follow(text: str, start: int, budget: int) -> tuple[Piece, int]:
    """The piece that opens at ``start``, and how many brackets and strings were looked at for it."""
    if flat := _FLAT.match(text, start):
        return Piece(flat[0], start), 2
    stack: list[str] = []
    steps = 0
    for token in _TOKEN.finditer(text, start):
        steps += 1
        mark = text[token.start()]
        if mark == '"':
            if token["closed"] is None:
                return Piece(text[start:], start, None), steps
        elif mark in "{[":
            stack.append(mark)
        elif mark != "'":
            _close(stack, _PARTNER[mark])
        if not stack:
            return Piece(text[start : token.end()], start), steps
        if len(stack) > MAX_DEPTH or steps >= budget:
            return Piece(text[start:], start, None), steps
    return Piece(text[start:], start, "".join(_PARTNER[mark] for mark in reversed(stack))), steps


def _close(stack: list[str], opener: str) -> None:
    """Take ``opener`` off the stack with all that was left open inside it; a closer without an opener is nothing."""
    if opener in stack:
        while stack.pop() != opener:
            pass

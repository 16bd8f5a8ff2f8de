"""What of a reply in the making is answer text for sure, piece by piece: each piece is looked at once.

A call, a thought or a decision that is not an answer is held back. What is let through is a beginning of the answer in
the whole reply, however the reply is cut into pieces.
"""

from itertools import accumulate
from json import JSONDecodeError, loads
from re import DOTALL
from re import compile as pattern
from typing import Protocol

from micro_agent.run import Mode

_NOT_PROSE = pattern(r"[{\[<]|```|Action:")
_HALF_MARK = pattern(r"(?:``?|A|Ac|Act|Acti|Actio|Action)$")

_TOKENS = ("{", '"final"', ":", "{", '"answer"', ":", '"')
_HEAD = "".join(_TOKENS)
_GAPS = frozenset(accumulate(map(len, ("", *_TOKENS[:-1]))))
"""Where in the head of a decision blanks may stand."""
_HIGH = "[dD][89abAB]"
_WHOLE = pattern(
    # Text, or an escape; of a surrogate pair the first half waits for what follows it.
    rf'[^"\\]+|\\(?:[^u]|u(?!{_HIGH}).{{4}}|u{_HIGH}..(?=[^\\]|\\[^u]|\\u.{{4}}))',
    DOTALL,
)


class Reader(Protocol):
    """Reads one reply."""

    def take(self, piece: str) -> str:
        """The answer text that is certain with this piece and was not before; mostly all of the piece."""
        ...


class Prose:
    """Reads a reply that is its answer, up to where it begins to look like something else."""

    def __init__(self) -> None:
        self._over = False
        self._held = ""

    def take(self, piece: str) -> str:
        """What comes before the first mark. What may be the beginning of one waits for the next piece."""
        if self._over:
            return ""
        text = self._held + piece
        mark = _NOT_PROSE.search(text)
        self._over = mark is not None
        cut = mark or _HALF_MARK.search(text)
        end = cut.start() if cut else len(text)
        self._held = text[end:]
        return text[:end]


class Decision:
    """Reads a reply that is JSON, ``{"final": {"answer": "…"}}`` or not."""

    def __init__(self) -> None:
        self._over = False
        self._held = ""
        self._passed = 0
        """So much of the head has been seen."""

    def take(self, piece: str) -> str:
        """What the characters and whole escapes of the answer stand for."""
        if self._over:
            return ""
        if self._passed < len(_HEAD):
            piece = self._past_head(piece)
        text, end = self._held + piece, 0
        while part := _WHOLE.match(text, end):
            end = part.end()
        self._over, self._held = self._over or text.startswith('"', end), text[end:]
        try:
            return str(loads(f'"{text[:end]}"', strict=False))
        except JSONDecodeError:
            self._over = True
            return ""

    def _past_head(self, piece: str) -> str:
        for place, char in enumerate(piece, 1):
            if char == _HEAD[self._passed]:
                self._passed += 1
                if self._passed == len(_HEAD):
                    return piece[place:]
            elif not (char.isspace() and self._passed in _GAPS):
                self._over = True
                break
        return ""


def reader(mode: Mode) -> Reader:
    """What reads a reply in this mode."""
    return Decision() if mode == "json" else Prose()

"""The tokenizer of the tiny model: pieces of words joined in the order of the vocabulary, as llama.cpp's "llama" does.

A blank is part of the word behind it, written as ``▁``, and digits stay single. What no token covers is spelled in
bytes.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf

UNKNOWN, BEGIN, START, END, CALL, CALLED = range(6)
"""The marks: the first tokens of every vocabulary. Text never becomes one of them."""
MARKS = ("<unk>", "<s>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The tokens of single bytes, which follow the marks."""
BLANK = "▁"
_WORD = re.compile(rf"{BLANK}?[A-Za-z_]+|{BLANK}?[^\sA-Za-z0-9_{BLANK}]+|.", re.DOTALL)
"""What tokens never reach across."""

Part = int | str
"""A token, or text that is yet to be split into some."""


def words(text: str) -> list[str]:
    """A text in the pieces that are split into tokens one by one, with ``▁`` for blanks."""
    return _WORD.findall(text.replace(" ", BLANK))


class Tokenizer:
    """Between text and tokens. A token's number is its rank: of two joins the lower is made first."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self._ids = {token: number for number, token in enumerate(vocabulary) if number >= len(MARKS)}
        self._bytes = [_bytes_of(number, token) for number, token in enumerate(vocabulary)]
        self._known = lru_cache(maxsize=50_000)(self._split)

    def encode(self, parts: Iterable[Part]) -> list[int]:
        """The tokens of parts."""
        found: list[int] = []
        for part in parts:
            found += [part] if isinstance(part, int) else self._text(part)
        return found

    def decode(self, tokens: Iterable[int]) -> bytes:
        """The text of tokens in UTF-8; it may end in the midst of a character. Marks are written out."""
        return b"".join(self._bytes[token] for token in tokens)

    def _text(self, text: str) -> list[int]:
        return [token for word in words(text) for token in self._known(word)]

    def _split(self, word: str) -> list[int]:
        pieces = list(word)
        while len(pieces) > 1:
            ranks = [self._ids.get(left + right, inf) for left, right in pairwise(pieces)]
            at = min(range(len(ranks)), key=ranks.__getitem__)
            if ranks[at] == inf:
                break
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        found: list[int] = []
        for piece in pieces:
            spelled = [len(MARKS) + byte for byte in piece.encode("utf-8", "surrogatepass")]
            found += [self._ids[piece]] if piece in self._ids else spelled
        return found


def _bytes_of(number: int, token: str) -> bytes:
    spelled = range(len(MARKS), len(MARKS) + len(BYTES))
    return bytes([number - spelled.start]) if number in spelled else token.replace(BLANK, " ").encode()

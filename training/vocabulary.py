"""The vocabulary: which pieces of words are tokens, learned from the conversations by joining the most frequent pairs.

The blank before a word joins it last, so that a name has the same tokens behind a blank and behind a quote, which is
what makes it possible to copy.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from micro_agent.models.tiny.tokenizer import BLANK, BYTES, MARKS, words

JOINS = 600
"""So many pieces are joined of two, those of syllables among them."""
BLANKED = 300
"""So many of the pieces also have a blank before them."""
LEAST = 30
"""So often a word must be there to count."""


def learned(texts: Iterable[str], syllables: Sequence[str]) -> list[str]:
    """Marks, bytes, joined pieces by rank, then single characters. Syllables of two letters are joined first."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(words(text))
    bare: Counter[str] = Counter()
    for word, count in counts.items():
        bare[word.removeprefix(BLANK)] += count
    split = {word: list(word) for word, count in bare.items() if len(word) > 1 and count >= LEAST}
    joined = [form for syllable in syllables for form in (syllable, syllable.capitalize())]
    for left, right in joined:
        for pieces in split.values():
            _join(pieces, left, right)
    while len(joined) < JOINS:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, pieces in split.items():
            for pair in pairwise(pieces):
                pairs[pair] += bare[word]
        if not pairs:
            break
        (left, right), _ = max(pairs.items(), key=lambda found: (found[1], found[0]))
        joined.append(left + right)
        for pieces in split.values():
            _join(pieces, left, right)
    characters = ["\n", BLANK, *map(chr, range(33, 127))]
    single = {*joined, *characters}
    blanked = Counter({word: counts[BLANK + word] for word in single if counts[BLANK + word]})
    ordered = sorted(blanked, key=lambda word: (-blanked[word], word))[:BLANKED]
    return [*MARKS, *BYTES, *joined, *(BLANK + word for word in ordered), *characters]


def _join(pieces: list[str], left: str, right: str) -> None:
    at = 0
    while at < len(pieces) - 1:
        if pieces[at] == left and pieces[at + 1] == right:
            pieces[at : at + 2] = [left + right]
        at += 1

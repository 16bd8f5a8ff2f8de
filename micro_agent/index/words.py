"""The words of a task, as the index takes them apart too: letters and digits, an underscore parts words."""

import re

_WORD = re.compile(r"[^\W_]{1,64}")
_MOST = 64


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, each once, the first ones."""
    return list(dict.fromkeys(_WORD.findall(text.lower())))[:_MOST]


def alike(one: set[str], other: set[str]) -> float:
    """What share of the words of two texts both have: 1 is all of them."""
    return len(one & other) / max(len(one | other), 1)

"""Patterns of words in any case."""

import re

_WORD = re.compile(r"(\\b)?(\w)(.*)")


def any_case(*words: str) -> str:
    r"""A pattern for one of ``words``, each a pattern that begins with a letter or with ``\b`` and a letter.

    It begins with a set of characters, to which `re` skips fast; of ``(?i:…)`` it tries every word at every place.
    """
    parts = [found.groups(default="") for word in words if (found := _WORD.fullmatch(word))]
    firsts = "".join(sorted({case for _, first, _ in parts for case in (first.lower(), first.upper())}))
    return f"[{firsts}](?i:{'|'.join(f'(?<={bound}{first}){rest}' for bound, first, rest in parts)})"

"""Patterns of words in any case."""

import re

_WORD = re.compile(r"^(\\b)?(\w)(.*)$", re.MULTILINE)


def any_case(*words: str) -> str:
    r"""A pattern for one of ``words``, each a pattern that begins with a letter or with ``\b`` and a letter.

    It begins with a set of characters, to which `re` skips fast; of ``(?i:…)`` it tries every word at every place.
    """
    rests: dict[str, list[str]] = {}
    for bound, first, rest in _WORD.findall("\n".join(words)):
        rests.setdefault(f"{bound}{first}", []).append(rest)
    firsts = "".join(sorted({case for before in rests for case in (before[-1].lower(), before[-1].upper())}))
    groups = [f"(?<={before})(?:{'|'.join(group)})" for before, group in rests.items()]
    return f"[{firsts}](?i:{'|'.join(groups)})"

"""The wording of ``required_tools.yaml`` as regular expressions, compiled once, and the misspellings to mend.

A block is a list of regular expressions, one alternative a line; ``{name}`` in one stands for the block of that name. A
table is a list of entries, each a ``head``, the ``tails`` that may follow it, and ``at``: what it can begin with.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, cast

import yaml


@cache
def wording() -> dict[str, Any]:
    """The file as it stands, read once."""
    text = files("micro_agent.rules").joinpath("required_tools.yaml").read_text(encoding="utf-8")
    # libyaml is used where it is: the first question of a process waits for this.
    return cast("dict[str, Any]", yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@cache
def pattern(block: str) -> re.Pattern[str]:
    """The block as one compiled pattern."""
    return re.compile(_expanded(block))


@cache
def named(name: str) -> re.Pattern[str]:
    """The block of that name as one compiled pattern."""
    return pattern(_block(name))


def found(name: str, text: str) -> bool:
    """Whether the block of that name matches anywhere in the text."""
    return named(name).search(text) is not None


@lru_cache(maxsize=16)
def hit(table: str, text: str) -> bool:
    """Whether an entry of the table matches where it can begin.

    Trying a pattern only at the words that it begins with, not at every letter, makes it about ten times as fast.
    """
    places = _places(text)
    return any(_hits(text, table, number, keys, places) for number, keys in enumerate(_keys(table)))


def _hits(text: str, table: str, number: int, keys: list[str], places: dict[str, list[int]]) -> bool:
    if not keys:
        return _entry(table, number).search(text) is not None
    starts = [at for key in keys for at in places.get(key, ())]
    return bool(starts) and any(_entry(table, number).match(text, at) for at in starts)


@cache
def _keys(table: str) -> list[list[str]]:
    """For each entry the keys (see `_places`) of the words that it begins with; no keys means anywhere."""
    return [[] if entry["at"] == "any" else str(entry["at"]).split() for entry in wording()[table]]


@cache
def _entry(table: str, number: int) -> re.Pattern[str]:
    """An entry, compiled when a text first has a word that it begins with: most texts need few of them."""
    entry = wording()[table][number]
    return re.compile(_expanded(entry["head"]) + _expanded(entry["tails"]))


@lru_cache(maxsize=4)
def _places(text: str) -> dict[str, list[int]]:
    """Where words and numbers begin, by the first four letters of the word, ``0`` for a number, ``^`` for the text."""
    places: dict[str, list[int]] = {"^": [0]}
    for word in re.finditer(r"[a-zA-Z]+|\d[\d,]*", text):
        key = "0" if word[0][0].isdigit() else word[0][:4]
        places.setdefault(key, []).append(word.start())
    return places


def _block(name: str) -> str:
    return wording()["define"].get(name) or wording()[name]


@cache
def _expanded(block: str) -> str:
    """The block as one alternation, with the blocks that it names put in."""
    alternatives = "|".join(block.splitlines())
    return f"(?:{re.sub(r'{([a-z_]+)}', lambda name: _expanded(_block(name[1])), alternatives)})"


@cache
def mended() -> dict[str, str]:
    """Short forms, and misspellings by one letter of the words that matter, each with the word that is meant."""
    vocabulary: list[str] = wording()["vocabulary"].split()
    known = {*vocabulary, *wording()["not_misspelt"].split()}
    slips = {wrong: word for word in vocabulary for wrong in _misspelt(word) if wrong not in known}
    return slips | wording()["short_forms"]


def _misspelt(word: str) -> Iterator[str]:
    """Letters swapped; in longer words also one left out, doubled or exchanged."""
    for at in range(len(word)):
        before, letter, after = word[:at], word[at], word[at + 1 :]
        if after:
            yield before + after[0] + letter + after[1:]
        if len(word) > 4:
            yield before + after
            yield before + letter + letter + after
        if len(word) > 6:
            yield from (before + other + after for other in "abcdefghijklmnopqrstuvwxyz")

"""The words of one language by what they do in a question, read from a data file such as ``required_tools.en.yaml``."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import yaml

from micro_agent.errors import ConfigurationError

_SHORTEST_PREFIX, _LONGEST_PREFIX = 3, 12


@dataclass(frozen=True, eq=False)
class Words:
    """One language."""

    phrases: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]]
    """The phrases that begin with a word, the longest first, each with its classes. A word may end in ``*``."""
    units: dict[str, str]
    """Of each unit what it measures, such as ``length``."""
    short: dict[str, str]
    """What a short form stands for."""
    meant: dict[str, list[str]]
    """The words that a misspelling may stand for, by what is left of them without one letter."""

    def at(self, texts: list[str], start: int) -> tuple[int, frozenset[str]]:
        """How many words the longest known phrase from ``start`` has, and its classes; 1 and none if there is none."""
        word = texts[start]
        keys = (word, *(f"{word[:end]}*" for end in range(_SHORTEST_PREFIX, min(len(word), _LONGEST_PREFIX) + 1)))
        found, length = frozenset[str](), 1
        for key in keys:
            for phrase, classes in self.phrases.get(key, ()):
                if len(phrase) >= length and phrase[1:] == tuple(texts[start + 1 : start + len(phrase)]):
                    found = classes if len(phrase) > length else found | classes
                    length = len(phrase)
        return length, found

    def mended(self, word: str) -> str:
        """The word meant by a short form or by a misspelling of one letter, else the word itself."""
        if word in self.short or word in self.phrases or len(word) < 4:
            return self.short.get(word, word)
        return next((meant for left in _left(word) for meant in self.meant.get(left, ()) if _close(word, meant)), word)


def _left(word: str) -> Iterator[str]:
    """The word, and what is left of it without one letter."""
    yield word
    for at in range(len(word)):
        yield word[:at] + word[at + 1 :]


def _close(word: str, meant: str) -> bool:
    """Whether the one is the other with a letter too many, too few or, in a long word, exchanged, or two swapped."""
    if len(word) == len(meant):
        return sorted(word) == sorted(meant) or (len(word) > 6 and sum(map(str.__ne__, word, meant)) == 1)
    return len(meant) > 4


@cache
def words(path: str | Path | None = None) -> Words:
    """The words of the file, or of English; read once.

    Raises:
        ConfigurationError: It cannot be read, or is not made of lists of words under the names of the English file.
    """
    try:
        return _language(_data(path))
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{path} is not a file of words for the required-tools rule: {reason}") from error


def _data(path: str | Path | None) -> dict[str, Any]:
    source = files("micro_agent.rules").joinpath("required_tools.en.yaml") if path is None else Path(path)
    # libyaml is used where it is: the first question of a process waits for this.
    data = yaml.load(source.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    unknown: set[str] = set() if path is None else set(data) - set(_data(None))
    if unknown:
        raise ValueError(f"no class is named {sorted(unknown)[0]}")
    return cast("dict[str, Any]", data)


def _language(data: dict[str, Any]) -> Words:
    units = {unit: measure for measure, listed in data.pop("units", {}).items() for unit in _listed(listed)}
    short = {str(form): str(full) for form, full in data.pop("short", {}).items()}
    meant: dict[str, list[str]] = {}
    for word in _listed(data.pop("misspelt", "")):
        for left in _left(word):
            meant.setdefault(left, []).append(word)
    classes: dict[tuple[str, ...], set[str]] = {}
    for name, listed in [*data.items(), ("unit", ",".join(units))]:
        for phrase in _listed(listed):
            classes.setdefault(tuple(phrase.split()), set()).add(name)
    phrases: dict[str, list[tuple[tuple[str, ...], frozenset[str]]]] = {}
    for phrase, names in sorted(classes.items(), key=lambda item: -len(item[0])):
        phrases.setdefault(phrase[0], []).append((phrase, frozenset(names)))
    return Words(phrases, units, short, meant)


def _listed(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]

"""A simple command as it is read loosely, and what its words become: values for variables, lists for braces."""

import re
from dataclasses import dataclass

UNKNOWN = "\ue000"
"""Stands in a word for what a substitution, or a variable that is not known, gives."""
VARIABLE, VARIABLE_END = "\ue001", "\ue002"
OPEN, COMMA, CLOSE = "\ue003", "\ue004", "\ue005"
_VARIABLES = re.compile(f"{VARIABLE}([^{VARIABLE_END}]*){VARIABLE_END}")
_BRACES = re.compile(f"([^{OPEN}{CLOSE}]*){OPEN}([^{OPEN}{CLOSE}]*){CLOSE}([^{OPEN}{CLOSE}]*)")
_BARE = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}"})
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(.*)", re.DOTALL)
RESERVED = frozenset(["!", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc", "{", "}"])
KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": "~"}


@dataclass(slots=True)
class Command:
    """One simple command.

    Attributes:
        words: Its words without quotes.
        redirections: Operator and target of each.
        fed: Whether it reads from a pipe.
        start: Where the name of its program begins in the text.
        expands: Whether bash would put something else in the place of a word: what a pattern or a tilde stands for.
    """

    words: list[str]
    redirections: list[tuple[str, str]]
    fed: bool
    start: int
    expands: bool = False


def decoded(text: str) -> str:
    """A text with the escapes decoded that ``$'…'``, ``printf`` and ``echo -e`` know."""
    return _ESCAPE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if found[group]:
            return chr(min(int(found[group], base), 0x10FFFF))
    return _CONTROL.get(found[5], found[5])


def values_of(found: list[Command]) -> dict[str, str]:
    """What variables are set to, each the first time."""
    values: dict[str, str] = {}
    for word in [word for command in found for word in command.words if "=" in word]:
        assigned = ASSIGNMENT.match(word)
        if assigned and assigned[1] not in values:
            values[assigned[1]] = _known(assigned[2], values)[:1_000]
    return values


def _known(word: str, values: dict[str, str]) -> str:
    return _VARIABLES.sub(lambda name: values.get(name[1], UNKNOWN), word)


def resolve(found: list[Command], values: dict[str, str]) -> None:
    """Put the values of variables in their place, and take away what stands before a program's name."""
    known: dict[str, list[str]] = {}
    for command in found:
        words, command.words = command.words, []
        for word in words:
            if word not in known:
                known[word] = _words(word, values)
            command.words += known[word]
        if command.redirections:
            command.redirections = [(sign, " ".join(_words(word, values))) for sign, word in command.redirections]
        _strip(command)


def _words(word: str, values: dict[str, str]) -> list[str]:
    if word.isascii():
        return [word]
    if VARIABLE in word:
        alone = _VARIABLES.fullmatch(word)
        word = _known(word, values)
        if alone and " " in word:
            return word.split()
    braces = _BRACES.fullmatch(word) if OPEN in word else None
    if braces and COMMA in braces[2]:
        return [f"{braces[1]}{part}{braces[3]}".translate(_BARE) for part in braces[2].split(COMMA)]
    return [word.translate(_BARE)]


def _strip(command: Command) -> None:
    at, words = 0, command.words
    while at < len(words) and (words[at] in RESERVED or ("=" in words[at] and ASSIGNMENT.fullmatch(words[at]))):
        at += 1
    del words[:at]

"""Where the words of a command lead that is read loosely: paths, subcommands, places of credentials."""

import fnmatch
import posixpath
import re
from typing import Literal

from micro_agent.coding.commands.words import UNKNOWN, Command
from micro_agent.coding.paths import closed_by_pattern, named

_HARMLESS = re.compile(r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd/\d+)|-|&?\d*-?")
_PARTS = re.compile(r"[:=@,]")
_SUSPECT = re.compile(r"[.*?\[\ue000]|id_|secret|credential|proc|etc/")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")
_PATTERNED = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/proc/self/environ")
_GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_READING = frozenset({"<", "<<<", "<<", "<<-"})

Place = Literal["outside", "git", "credentials", "whole", "unknown"]


def place_of(word: str, root: str | None, folder: str) -> Place | None:
    """Where a path leads that is written to or removed; ``None`` for an ordinary place of the repository.

    Args:
        word: The path.
        root: The repository.
        folder: Where a ``cd`` led to, if that is not in the repository.
    """
    word = word.removeprefix("file://")
    if not word or _HARMLESS.fullmatch(word):
        return None
    if word[0] == UNKNOWN:
        return "unknown"
    if word[0] == "~":
        return "outside"
    place = named(word, root)
    if place == "inside" and folder and not word.startswith("/"):
        return "git" if named(folder, root) == "git" else "outside"
    if place == "inside":
        return "whole" if posixpath.normpath(word) in (".", "*", ".*", "..", "**", "{*,.*}") else None
    return place


def may_hold_credentials(word: str, places: re.Pattern[str], root: str | None, folder: str) -> bool:
    """Whether a word, or a part of it, means credentials, by itself or by a pattern."""
    if not folder and not _SUSPECT.search(word):
        return False
    parts = {word, *_PARTS.split(word)}
    if UNKNOWN in word:
        parts |= {word.replace(UNKNOWN, ""), word.replace(UNKNOWN, "*")}
    for part in parts:
        path = posixpath.normpath(posixpath.join(folder, part.removeprefix("file://")))
        if named(part, root) == "credentials" or places.fullmatch(path) or closed_by_pattern(part):
            return True
        if path[0] == "/" and _GLOB.search(path) and any(fnmatch.fnmatchcase(name, path) for name in _PATTERNED):
            return True
    return False


def is_fed(command: Command) -> bool:
    """Whether it reads what is redirected to it."""
    return any(operator in _READING for operator, _ in command.redirections)


def base(word: str) -> str:
    """The name of a program."""
    return word.rpartition("/")[2].casefold() if "/" in word else word.casefold()


def behind(subcommand: re.Pattern[str], args: list[str]) -> int | None:
    """Where a subcommand stands, behind nothing but options."""
    at = 0
    while at < len(args) and args[at].startswith("-"):
        at += 2 if args[at] in _GIT_VALUES else 1
    return at if at < len(args) and subcommand.fullmatch(args[at]) else None


def only_options(args: list[str], *, assigned: bool) -> bool:
    """Whether there is nothing but options, and variables that are set where that does not matter."""
    value_follows = False
    for word in args:
        if value_follows:
            value_follows = False
        elif word in ("-u", "--unset", "-C", "--chdir"):
            value_follows = True
        elif not (word.startswith("-") or (assigned and _ASSIGNED.fullmatch(word))):
            return False
    return True


def values(word: str) -> list[str]:
    """A word, or what it gives to an option."""
    values = [] if word.startswith("-") else [word]
    if "=" in word:
        values.append(word.partition("=")[2])
    elif word.startswith("-") and not word.startswith("--") and len(word) > 2:
        values.append(word[2:])
    return values

"""What is denied, as data: read from YAML."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from micro_agent.coding.commands.rules import LOADER

_FILE = Path(__file__).with_name("denied.yaml")
_LISTS = ("wrappers", "shells", "interpreters", "editors", "fetchers")


@dataclass(frozen=True, slots=True)
class Ban:
    """One kind of what is denied: a program, and what has to be true of its arguments. All has to hold.

    Attributes:
        name: Its name.
        why: The reason that is given.
        programs: The programs; ``*`` at the end stands for anything.
        words: For each expression some argument has to match it.
        targets: Some argument has to lead to one of these places.
        behind: The subcommand; the other conditions are about what is behind it.
        operands: How many arguments that are no option there are at least.
        operands_most: How many there are at most.
        unknown: Whether some argument has to be one that is known only when it runs.
        fed: Whether it has to read a pipe or a file.
        skip: How many operands do not count as targets.
        match: Commands that it denies.
        not_match: Commands that it does not deny.
    """

    name: str
    why: str
    programs: tuple[str, ...]
    words: tuple[re.Pattern[str], ...] = ()
    targets: frozenset[str] = frozenset()
    behind: re.Pattern[str] | None = None
    operands: int = 0
    operands_most: int | None = None
    unknown: bool = False
    fed: bool = False
    skip: int = 0
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bans:
    """All of it, as `denied.yaml` has it.

    Attributes:
        bans: What is denied of commands.
        code: What is denied of code that an interpreter is given: some expression is in it.
        texts: What is denied of a text as a whole.
        lists: Programs that run what is behind them, what they are given as text, and so on.
        prose: For a program, the options whose value is prose.
        variables: The names of variables that may hold credentials.
        places: Paths that hold credentials, beside those that `paths` closes.
        connections: Words that open a connection.
        outputs: Options that name a file to write, of any program.
        by_program: What is denied of each program.
    """

    bans: tuple[Ban, ...]
    code: tuple[Ban, ...]
    texts: tuple[Ban, ...]
    lists: Mapping[str, "Names"]
    prose: Mapping[str, frozenset[str]]
    variables: re.Pattern[str]
    places: re.Pattern[str]
    connections: re.Pattern[str]
    outputs: re.Pattern[str]
    by_program: "Names"

    @property
    def all(self) -> tuple[Ban, ...]:
        """Of every kind."""
        return (*self.bans, *self.code, *self.texts)

    def without(self, name: str) -> "Bans":
        """All but one."""
        kept = [tuple(ban for ban in bans if ban.name != name) for bans in (self.bans, self.code, self.texts)]
        by_program = _by_program(kept[0])
        return replace(self, bans=kept[0], code=kept[1], texts=kept[2], by_program=by_program)


class Names:
    """Things by the names of programs, where a name may end in ``*``."""

    def __init__(self, named: Sequence[tuple[str, Any]]) -> None:
        self.all = tuple(named)
        """As they were given."""
        self._exact: dict[str, list[Any]] = {}
        self._begins: list[tuple[str, Any]] = []
        for name, what in named:
            if name.endswith("*"):
                self._begins.append((name[:-1], what))
            else:
                self._exact.setdefault(name, []).append(what)

    def of(self, name: str) -> list[Any]:
        """What stands for this name."""
        found = self._exact.get(name, [])
        begins = [what for start, what in self._begins if name.startswith(start)]
        return found + begins if begins else found

    def __contains__(self, name: str) -> bool:
        return name in self._exact or any(name.startswith(start) for start, _ in self._begins)


@cache
def bans() -> Bans:
    """What is denied."""
    data: dict[str, Any] = yaml.load(_FILE.read_text(encoding="utf-8"), LOADER)
    made = tuple(_ban(entry) for entry in data["denied"])
    return Bans(
        bans=made, code=_patterns(data["code"]), texts=_patterns(data["texts"]), by_program=_by_program(made),
        lists={name: Names([(one, True) for one in data[name]]) for name in _LISTS},
        prose={name: frozenset(options) for name, options in data["prose"].items()},
        variables=re.compile(data["variables"]), places=re.compile(data["places"]),
        connections=re.compile(data["connections"]), outputs=re.compile(data["outputs"]),
    )  # fmt: skip


def _by_program(bans: Sequence[Ban]) -> Names:
    return Names([(program, ban) for ban in bans for program in ban.programs])


def _patterns(entries: list[dict[str, Any]]) -> tuple[Ban, ...]:
    return tuple(
        Ban(entry["name"], entry["why"], (), (re.compile(entry["pattern"]),), match=tuple(entry["match"]))
        for entry in entries
    )


def _ban(entry: dict[str, Any]) -> Ban:
    fields: dict[str, Any] = {**entry, "words": tuple(re.compile(text) for text in entry.get("words", ()))}
    fields["targets"] = frozenset(entry.get("targets", ()))
    fields["behind"] = re.compile(entry["behind"]) if "behind" in entry else None
    for name in ("programs", "match", "not_match"):
        fields[name] = tuple(entry[name])
    return Ban(**fields)

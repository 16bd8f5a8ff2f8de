"""Which programs may run with which options and operands: data, read from YAML, with examples that are checked.

A rule names a program, or a program and its subcommand, and what it may be given; anything else is not allowed. The
fields are explained in ``docs/commands.md``.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from micro_agent.coding.commands.lexer import Outside, read
from micro_agent.coding.paths import closed_by_pattern, named
from micro_agent.errors import ConfigurationError

_SHIPPED = Path(__file__).with_name("rules.yaml")
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one written in C takes a tenth of the time; it is not there in every build of PyYAML."""
_OWN_KINDS = ("data", "path", "revision", "glob")


@dataclass(frozen=True, slots=True)
class Rule:
    """What one program may be given.

    Attributes:
        name: The program, and its subcommand where it has some.
        flags: Short options without a value.
        long: Long options without a value.
        values: Options with a value, short or long, and the kind of it.
        maybe: Options whose value, if they have one, is attached (to a long one with ``=``), and the kind of it.
        refused: Other long options of the program. Where they are named, an allowed one may be abbreviated.
        find: Whether options have one dash and a whole name, as those of ``find`` and ``go``.
        plain: Whether no word is an option.
        operands: The kind of what is no option.
        first: The kinds of the first operands.
        instead: Options that take the place of those first operands.
        least: How many words there are at least behind the name.
        most: How many operands there are at most.
        listing: Options of which one has to be there if there are operands.
        numbers: Whether ``-20`` is an option.
        before: Options that may stand before the subcommand.
        tests: Whether the command runs code of the repository.
        match: Commands that the rule allows.
        not_match: Commands with the program's name that it does not allow.
    """

    name: str
    flags: str = ""
    long: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    maybe: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: tuple[str, ...] = ()
    find: bool = False
    plain: bool = False
    operands: str = "path"
    first: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    least: int = 0
    most: int = 10_000
    listing: tuple[str, ...] = ()
    numbers: bool = False
    before: tuple[str, ...] = ()
    tests: bool = False
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


_DEFAULTS: dict[str, Any] = dataclasses.asdict(Rule(""))


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules, by their names, and the kinds of words: for each the expression that has to match the whole word."""

    rules: Mapping[str, Rule]
    kinds: Mapping[str, re.Pattern[str]]

    def without(self, name: str) -> "Rules":
        """The rules but for one."""
        return Rules({other: rule for other, rule in self.rules.items() if other != name}, self.kinds)


@dataclass(frozen=True, slots=True)
class Match:
    """The rule for a command, and why it does not allow it: ``None`` if it does."""

    rule: Rule | None
    refusal: str | None


class _No(ValueError):
    """A rule does not allow a word; the text says why."""


@cache
def shipped() -> Rules:
    """The rules that come with the package, checked."""
    return _checked(_parsed(_SHIPPED, {}, {}))


def load_rules(path: str | Path, root: str | Path) -> Rules:
    """The rules of the package, and those of a file in their place or beside them.

    Args:
        path: A YAML file with ``rules`` and, if needed, ``kinds``, as in ``docs/commands.md``.
        root: The repository that the commands are for. The file must not lie in it: what a model can write does not
            decide what it may run.

    Raises:
        ConfigurationError: The file lies in the repository, cannot be read, is none of rules, or one of its examples
            does not hold; the text names the rule.
    """
    place = Path(path).resolve()
    if place.is_relative_to(Path(root).resolve()):
        raise ConfigurationError(f"{place} lies in the repository: keep rules of commands outside it")
    base = shipped()
    return _checked(_parsed(place, base.rules, base.kinds))


def match(argv: Sequence[str], rules: Rules, root: str | None = None) -> Match:
    """The rule for these words, and whether it allows them."""
    found = _rule_for(argv, rules)
    if found is None:
        return Match(None, f"no rule is for {' '.join(argv[:1])!a:.40}")
    rule, words = found
    try:
        _Reader(rule, rules, root).all(words)
    except _No as no:
        return Match(rule, f"{rule.name}: {no}")
    return Match(rule, None)


def _rule_for(argv: Sequence[str], rules: Rules) -> tuple[Rule, Sequence[str]] | None:
    """The rule, the most special one first, and the words behind its name."""
    alone = None if " " in argv[0] else rules.rules.get(argv[0])
    at = 1
    while alone and at < len(argv) and argv[at] in alone.before:
        at += 1
    for length in (3, 2, 1):
        name = [argv[0], *argv[at : at + length]]
        rule = rules.rules.get(" ".join(name))
        if rule and rule.name.split(" ") == name and len(name) == length + 1:
            return rule, argv[at + length :]
    return (alone, argv[1:]) if alone else None


class _Reader:
    """The words behind a program's name, read as the program reads them."""

    def __init__(self, rule: Rule, rules: Rules, root: str | None) -> None:
        self._rule, self._kinds, self._root = rule, rules.kinds, root
        self._operands: list[str] = []
        self._seen: set[str] = set()

    def all(self, words: Sequence[str]) -> None:
        rule = self._rule
        if len(words) < rule.least:
            raise _No("it is given too little")
        ahead = list(reversed(words))
        while ahead:
            word = ahead.pop()
            if rule.plain:
                self._operands.append(word)
            elif word == "--" and not rule.find:
                self._operands += reversed(ahead)
                break
            elif len(word) < 2 or word[0] != "-":
                self._operands.append(word)
            elif rule.numbers and word[1:].isascii() and word[1:].isdigit():
                self._seen.add("numbers")
            elif rule.find:
                self._single(word, ahead)
            elif word.startswith("--"):
                self._long(word, ahead)
            else:
                self._cluster(word, ahead)
        self._check_operands()

    def _check_operands(self) -> None:
        rule = self._rule
        if len(self._operands) > rule.most:
            raise _No(f"{self._operands[rule.most]!a:.40} is an operand too many")
        if rule.listing and self._operands and not self._seen.intersection(rule.listing):
            raise _No(f"{self._operands[0]!a:.40} makes it more than a list")
        first = () if self._seen.intersection(rule.instead) else rule.first
        for at, word in enumerate(self._operands):
            self._check(first[at] if at < len(first) else rule.operands, word)

    def _check(self, kind: str, word: str) -> None:
        """Whether a word is of a kind; the kinds of a list are separated by blanks, and one is enough."""
        if not any(all(self._is(part, word) for part in one.split("+")) for one in kind.split()):
            raise _No(f"{word!a:.60} is no {kind}" if named(word, self._root) == "inside" else self._why(word))

    def _why(self, word: str) -> str:
        return f"{word!a:.60} " + {
            "outside": "is outside the repository", "git": "is one of git's own files",
            "credentials": "may hold credentials", "inside": "",
        }[named(word, self._root)]  # fmt: skip

    def _is(self, kind: str, word: str) -> bool:
        if kind == "data":
            return True
        if kind == "path":
            return _is_path(word, self._root)
        if kind == "revision":
            return all(_is_path(part, self._root) for part in (word, *word.split(":")))
        if kind == "glob":
            return _is_path(word.lstrip("!"), self._root) and not closed_by_pattern(word)
        return self._kinds[kind].fullmatch(word) is not None

    def _long(self, word: str, ahead: list[str]) -> None:
        name, is_attached, value = word[2:].partition("=")
        name = self._full(name)
        self._seen.add(name)
        rule = self._rule
        if name in rule.values:
            if not is_attached and not ahead:
                raise _No(f"{word!a:.40} lacks its value")
            self._check(rule.values[name], value if is_attached else ahead.pop())
        elif is_attached and name in rule.maybe:
            self._check(rule.maybe[name], value)
        elif is_attached or not (name in rule.long or name in rule.maybe):
            raise _No(f"the option {word!a:.40} is not allowed")

    def _full(self, name: str) -> str:
        """The allowed option that a name means, as ``getopt_long`` completes it."""
        rule = self._rule
        allowed = {*rule.long, *(key for key in (*rule.values, *rule.maybe) if len(key) > 1)}
        if name in allowed or not rule.refused:
            return name
        means = [full for full in (*allowed, *rule.refused) if full.startswith(name)] if name else []
        return means[0] if len(means) == 1 and name not in rule.refused else name

    def _cluster(self, word: str, ahead: list[str]) -> None:
        rule = self._rule
        for at, letter in enumerate(word[1:], 2):
            self._seen.add(letter)
            if letter in rule.values:
                if at == len(word) and not ahead:
                    raise _No(f"-{letter} lacks its value")
                self._check(rule.values[letter], word[at:] or ahead.pop())
                return
            if letter in rule.maybe:
                if word[at:]:
                    self._check(rule.maybe[letter], word[at:])
                return
            if letter not in rule.flags:
                raise _No(f"the option -{letter} in {word!a:.40} is not allowed")

    def _single(self, word: str, ahead: list[str]) -> None:
        rule = self._rule
        name, is_attached, value = word[1:].partition("=")
        if name in rule.values and (is_attached or ahead):
            self._check(rule.values[name], value if is_attached else ahead.pop())
        elif is_attached or name not in rule.long:
            raise _No(f"{word!a:.40} is not allowed")


def _is_path(word: str, root: str | None) -> bool:
    return "\\" not in word and named(word, root) == "inside"


def _parsed(path: Path, rules: Mapping[str, Rule], kinds: Mapping[str, re.Pattern[str]]) -> Rules:
    """The rules of a file over others."""
    try:
        loaded: Any = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise ConfigurationError(f"cannot read the rules of commands in {path}: {why}") from error
    if not isinstance(loaded, dict):
        raise ConfigurationError(f"{path} is no file of rules: begin it with `rules:`")
    data = cast("dict[Any, Any]", loaded)
    try:
        new_kinds = {**kinds, **{name: re.compile(text, re.DOTALL) for name, text in data.get("kinds", {}).items()}}
        made = {name: _rule(name, fields or {}, new_kinds) for name, fields in data.get("rules", {}).items()}
    except (re.error, TypeError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    return Rules({**rules, **made}, new_kinds)


def _rule(name: str, fields: Mapping[str, Any], kinds: Mapping[str, re.Pattern[str]]) -> Rule:
    made: dict[str, Any] = {}
    for key, value in fields.items():
        if key == "name" or key not in _DEFAULTS:
            raise ValueError(f"rule {name!r} has no field {key!r}")
        made[key] = tuple(_flat(value)) if isinstance(_DEFAULTS[key], tuple) else value
        if type(made[key]) is not type(_DEFAULTS[key]):
            raise ValueError(f"rule {name!r}: {key} is {value!r:.60}")
    rule = Rule(name, **made)
    _flat([*rule.values, *rule.values.values(), *rule.maybe, *rule.maybe.values()])
    for kind in [*rule.values.values(), *rule.maybe.values(), rule.operands, *rule.first]:
        for one in kind.replace("+", " ").split():
            if one not in kinds and one not in _OWN_KINDS:
                raise ValueError(f"rule {name!r} names the kind {one!r}, which is not there")
    if not rule.match or not rule.not_match:
        raise ValueError(f"rule {name!r} needs examples: match and not_match")
    return rule


def _flat(items: Any) -> list[Any]:
    """A list without lists in it: YAML can name a list, and not add to one."""
    if not isinstance(items, list):
        raise ValueError(f"{items!r} is no list")
    flat = [one for item in cast("list[Any]", items) for one in (_flat(item) if isinstance(item, list) else [item])]
    wrong = [item for item in flat if not isinstance(item, str)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} in {items!r:.60} is no text: put it in quotes")
    return flat


def wrong_examples(rules: Rules, of: Rules) -> list[str]:
    """The examples in ``of`` that do not hold for ``rules``, each as a line that names its rule."""
    wrong: list[str] = []
    for name, rule in of.rules.items():
        for cmd in rule.match:
            if not _by(rule, cmd, rules):
                wrong.append(f"rule {name!r} does not allow its example {cmd!r}")
        for cmd in rule.not_match:
            if _by(None, cmd, rules):
                wrong.append(f"rule {name!r} allows {cmd!r}, its not_match")
    return wrong


def _by(rule: Rule | None, cmd: str, rules: Rules) -> bool:
    """Whether the rules allow each program of a command, and this rule one of them."""
    try:
        argvs = [stage.argv for pipeline in read(cmd) for stage in pipeline.stages]
    except Outside:
        return False
    found = [match(argv, rules) for argv in argvs]
    return all(one.refusal is None for one in found) and (rule is None or any(one.rule is rule for one in found))


def _checked(rules: Rules) -> Rules:
    wrong = wrong_examples(rules, rules)
    if wrong:
        raise ConfigurationError(wrong[0])
    return rules

"""The name that a model gave, and the tool that it means."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache

# <|message|>, <｜tool▁call▁begin｜>, harmony's "commentary to=functions.f"
_TOKEN = re.compile(r"<[|｜][^<>]*>?|\bto=")
# What follows these two tokens is the name of a channel and that of a format.
_TAIL = re.compile(r"<\|(?:channel\|>\s*(?:analysis|commentary|final)|constrain\|>\s*\w+)\b")
_LABEL = re.compile(r"^(?:(?:tool|function)[ _]?name|name|tool|function|action)\s*[:=]\s*(?=\S)", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:(?:functions?|default_api|tools?|namespaces?|api)[.:/]+\s*)+(?=\w)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?>(?:\d*+:|\)\s*+\()*)")  # functions.f:0, f: and f(), read from the end: else it is quadratic
_NUMBERED = re.compile(r"functions_(?P<name>\w+?)_\d{1,3}")  # Kimi's functions.f:0, its signs replaced
_BETWEEN = re.compile(r"[\s._\\-]+")
_SIGN = re.compile(r"[\W_]+")
_SIGNS = "\"'`*“”‘’<>[]{}()@#$/\\,;:.|&▁ \t\r\n"
# "2. search", "Use the search tool", tool_search, SearchTool
_LEAD = re.compile(
    r"^(?:\d{1,2}[.):]\s*)?(?:(?:us|call|invok|run|runn|execut)(?:e|ing)?\s+)?(?:the\s+)?(?:(?:functions?|tools?|mcp)[\s_-]+)?(?=\w)",
    re.IGNORECASE,
)
_KIND = re.compile(r"(?:[\s_-]+\(?(?i:tool|function|func)|(?<=[a-z0-9])(?:Tool|Function))$")
# A server may drop the token between a name and what follows it.
_GLUED = re.compile(r"(?<=[a-z0-9])(?:commentary|analysis|json)$")
# repo.search, mcp:fs:read, repo_browser/open, mcp__fs__read
_STEP = re.compile(r"(?:[.:/\\#]|__|->)+")
_WORD_END = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_METHOD = re.compile(r"\d+|call|run|invoke|execute", re.IGNORECASE)
_AROUND = " \t\r\n\"'`*“”‘’"
_MAX_CHARS = 200
_MAX_SHOWN = 60
_MAX_COMPARED = 200


def resolve(names: Iterable[str], name: str) -> str | None:
    """The tool that ``name`` means.

    An exact name is itself. Otherwise quotes are set aside, then case, ``-``, ``.`` and ``_``, then prefixes such as
    ``functions.`` and suffixes such as ``()``, then special tokens glued on (``add<|channel|>commentary``). The first
    of these steps after which a tool fits decides: it is taken when it is the only one. Then words that say what it is
    are set aside (``SearchTool``, ``the search tool``), also those in the tools' own names, and at last a namespace
    (``repo.search``), also that of the tool, unless another part of the name is a tool's too. Nothing goes by likeness.

    Args:
        names: The names of the tools there are.
        name: What the model wrote, any text.

    Returns:
        One of ``names``, or ``None`` when none or several fit.
    """
    known = _known(tuple(names))
    if name in known.names:
        return name
    if len(name) > _MAX_CHARS or not known.may_be(name):
        return None
    bare = name.strip(_AROUND)
    for spellings in ([bare], [_undressed(bare)], _pieces(bare)):
        fitting = _fitting(known, spellings)
        if fitting:
            return next(iter(fitting)) if len(fitting) == 1 else None
    told = _told(_undressed(bare))
    for spelling in (told, _GLUED.sub("", told)) if _key(told) else ():
        fitting = known.told.get(_key(spelling), frozenset()) or _at_the_end(known, spelling)
        if fitting:
            return next(iter(fitting)) if len(fitting) == 1 else None
    numbered = _NUMBERED.fullmatch(bare)  # last, since the number may be part of a tool's name
    return resolve(known.names, numbered["name"]) if numbered else None


class _Known:
    """The tools' names by what is compared, since a reply may hold a hundred names and there may be hundreds of tools.

    ``keys`` has them as they are, ``told`` without the words that say what a tool is, ``ends`` by what is left behind
    each namespace, ``words`` by what is left behind each word: each is made when a name is first looked for there.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = frozenset(names)

    def may_be(self, name: str) -> bool:
        """Whether ``name`` holds all letters of a tool's name, or of its end: most words of a reply do not."""
        letters = _SIGN.sub("", name).casefold()
        return any(end in letters for end in self.letters)

    @cached_property
    def letters(self) -> frozenset[str]:
        return frozenset(_SIGN.sub("", key) for keys in (self.keys, self.told, self.ends) for key in keys)

    @cached_property
    def keys(self) -> Mapping[str, frozenset[str]]:
        return _by({name: {_key(name)} for name in self.names})

    @cached_property
    def told(self) -> Mapping[str, frozenset[str]]:
        return _by({name: {_key(_told(name))} for name in self.names})

    @cached_property
    def ends(self) -> Mapping[str, frozenset[str]]:
        return _by({name: _ends(_STEP.split(name)) for name in self.names})

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        return _by({name: _ends(_WORD_END.split(name)) for name in self.names})


@lru_cache(maxsize=8)
def _known(names: tuple[str, ...]) -> _Known:
    return _Known(names)


def _by(found: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """The names by each of the keys found for them."""
    grouped: dict[str, set[str]] = {}
    for name, keys in found.items():
        for key in keys:
            grouped.setdefault(key, set()).add(name)
    return {key: frozenset(group) for key, group in grouped.items()}


def closest(names: Collection[str], name: str) -> list[str]:
    """Up to three names that look like ``name``, closest first: for an error to show, never to be called."""
    spelled = {known.casefold(): known for known in sorted(names)[:_MAX_COMPARED]}
    return [spelled[near] for near in difflib.get_close_matches(name[:_MAX_SHOWN].casefold(), spelled, cutoff=0.5)]


def _undressed(spelling: str) -> str:
    """``spelling`` without a label before it, a namespace and what looks like a call after it."""
    for pattern in (_LABEL, _PREFIX):
        spelling = pattern.sub("", spelling).strip(_AROUND)
    ending = _SUFFIX.match(spelling[::-1])
    return spelling[: len(spelling) - (ending.end() if ending else 0)].strip(_AROUND)


def _told(name: str) -> str:
    """``name`` without signs and words around it that only say what it is."""
    for _ in range(2):
        name = _KIND.sub("", _LEAD.sub("", name.strip(_SIGNS))).strip(_SIGNS)
    return name


def _at_the_end(known: _Known, name: str) -> frozenset[str]:
    """The tools that ``name`` ends in behind a namespace, or that end in ``name`` behind theirs."""
    steps = [step for step in _STEP.split(name) if step]
    while len(steps) > 1 and _METHOD.fullmatch(steps[-1]) and not _fitting(known, steps[-1:]):
        steps.pop()
    whole = _key("".join(steps))
    shorter = known.ends.get(whole, frozenset[str]())
    rivals = known.words.get(whole, frozenset[str]()) if shorter else shorter
    found = shorter.union(rivals, *(known.keys.get(end, ()) for end in _ends(steps)))
    return found | _fitting(known, steps[:-1]) if found else found


def _ends(steps: list[str]) -> set[str]:
    return {_key("".join(steps[at:])) for at in range(len(steps))}


def _pieces(name: str) -> list[str]:
    """The words around special tokens; none when there is no such token."""
    parts = _TOKEN.split(_TAIL.sub(" <||> ", name))
    return [_undressed(word) for part in parts for word in part.split()] if len(parts) > 1 else []


def _fitting(known: _Known, spellings: list[str]) -> frozenset[str]:
    """The names that one of the spellings is, or else those that it is but for case and what stands between words."""
    exact = known.names.intersection(spellings)
    keys = {_key(spelling) for spelling in spellings} - {""}
    return exact or frozenset[str]().union(*(known.keys.get(key, ()) for key in keys))


def _key(spelling: str) -> str:
    return _BETWEEN.sub("", spelling).casefold()

"""A name and its arguments in lines: a command, labels in any language, YAML, a name and an object.

    get_weather city="Rome" days=3        --- CALL --- nc://get_weather {"city": "Rome"}
    $ get_weather --city Rome             Outil : get_weather         - name: get_weather      get_weather:
                                          city : Rome                   arguments:               city: Rome
                                                                          city: Rome

A call only of a tool that there is, with arguments of its own and nothing else in their place.
"""

import re
from collections.abc import Iterator
from itertools import islice
from textwrap import dedent, indent
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import as_yaml, typed
from micro_agent.decoding.page import Page
from micro_agent.decoding.reading.labels import describes
from micro_agent.decoding.repair.mending import Unreadable, mend
from micro_agent.decoding.schema_types import JSON_TYPES
from micro_agent.decoding.shapes import Shape, call_shapes

_MAX_LINE = 4_000
_MAX_LABELS = 40
_MAX_BLOCK = 20_000
_COMMAND = re.compile(
    r"^[`/$>% \t]{0,6}(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]+(?P<args>(?:--)?[A-Za-z_][^\n]*?)"
    r"`{0,3}[ \t]*$",
    re.MULTILINE,
)
_PAIR = re.compile(
    r"(?:--(?P<option>\w[\w-]{0,63}+)[ =]|(?P<key>\w{1,64}+)=)"
    r"""(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<bare>[^\s"'`=,(){}\[\]]+))(?:,?[ \t]+|\Z)"""
)
_BULLET = r"[ \t>*#•-]{0,6}[`*]{0,3}"
_LABEL = re.compile(
    rf"^{_BULLET}(?P<label>[^\W\d_][^\n:：=]{{0,30}}?[ \t*]{{0,4}}[:：][ \t*`]{{0,4}})?"
    r"(?P<name>[A-Za-z_](?>(?:[\w.-]|\\_){0,127}))[ \t*`]{0,4}(?(label)[:：]?|[:：])[ \t*`]{0,4}\n",
    re.MULTILINE,
)
_PARTS = re.compile(rf"{_BULLET}(?P<label>[^\W\d_][^\n:：=]{{0,30}}?)[ \t*`]{{0,4}}[:：][ \t*`]{{0,4}}\n")
"""The label above the arguments, whatever it says."""
_ARGUMENT = re.compile(
    r"(?P<indent>[ \t>*•-]{0,12})[`*]{0,3}(?P<key>\w{1,64}+)[`*]{0,3}[ \t]{0,2}[:：=][ \t*]{0,3}(?P<value>[^\n]*+)\n?"
)
_BELOW = re.compile(r"(?:[ \t]*+\n)*(?P<indent>[ \t]*+)(?P<item>- )?[^\n]*+\n?")
_BLOCK = re.compile(r"[|>][+-]?\s*")


def read(page: Page) -> Iterator[Claim]:
    """The calls in lines of labels, before objects and in lines of commands."""
    if not page.offer.tools or page.cut_off:
        return
    yield from _labelled(page)
    yield from _before_objects(page)
    yield from _commands(page)


def _labelled(page: Page) -> Iterator[Claim]:
    """A tool's name, a label before or a colon behind it, and lines of its arguments below."""
    end = 0
    for label in islice(_LABEL.finditer(page.text), _MAX_LABELS):
        said = label["name"].replace("\\", "")
        name = said if page.offer.tool(said) else page.offer.resolve(said)
        if name is None or label.start() < end:
            continue
        args, end = _arguments(page, name, label.end())
        if args and not describes(args):
            yield Claim(label.start(), end, [Shape(name, args, "loose")], "labels")


def _arguments(page: Page, name: str, at: int) -> tuple[dict[str, Any], int]:
    """The arguments line by line, those of YAML below their key, and where they end."""
    text, known = page.text, {key.casefold(): key for key in page.offer.properties(name)}
    args: dict[str, Any] = {}
    parts = _PARTS.match(text, at)
    at = parts.end() if parts and parts["label"].casefold() not in known else at
    while (line := _ARGUMENT.match(text, at)) is not None and line["key"].casefold() in known:
        key, at = known[line["key"].casefold()], line.end()
        said, wanted = _bare(line["value"].strip()), page.offer.types(name, key)
        below = _below(text, at, len(line["indent"]))
        if below > at and (not said or _BLOCK.fullmatch(said)):
            value, at = as_yaml(f"{said}\n{indent(dedent(text[at:below]), '  ')}"), below
        else:
            value = typed(said, wanted, page.offer.allowance)
        args.setdefault(key, value)
    return args, at


def _bare(value: str) -> str:
    """A value without the quotes around all of it."""
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`"
    return value[1:-1] if quoted else value


def _below(text: str, at: int, indent: int) -> int:
    """Where the lines end that are set in deeper than a key, or are the items below it."""
    end = min(len(text), at + _MAX_BLOCK)
    while at < end and (line := _BELOW.match(text, at)) is not None:
        deeper = len(line["indent"]) > indent or (line["item"] and len(line["indent"]) == indent)
        if not deeper or not line[0].strip():
            break
        at = line.end()
    return at


def _before_objects(page: Page) -> Iterator[Claim]:
    """An object of a tool's arguments with that tool's name before it and nothing but signs and few words between."""
    for piece in page.data.pieces[:_MAX_LABELS]:
        if not piece.closed or not piece.text.startswith("{"):
            continue
        reach = max(0, piece.start - 200)
        before = page.text[reach : piece.start]
        name, at = _named(page, before)
        if name is None:
            continue
        try:
            args, repairs = mend(piece.text, page.offer.allowance, guess=False)
        except Unreadable:
            continue
        given = cast("dict[str, Any]", args)
        typed_only = any(value in JSON_TYPES.values() for value in given.values() if isinstance(value, str))
        if given and given.keys() <= page.offer.properties(name) and not call_shapes(given) and not typed_only:
            yield Claim(reach + at, piece.end, [Shape(name, given, "explicit")], "named", repairs=repairs)


_WORDS = re.compile(r"[A-Za-z_](?>(?:[\w.-]|\\_){0,63})")


def _named(page: Page, before: str) -> tuple[str | None, int]:
    """The tool that is named last before an object, where at most six short words stand between them."""
    words = list(_WORDS.finditer(before))[-8:]
    for word in reversed(words):
        name = word[0].replace("\\", "")
        if page.offer.tool(name) is not None:
            between = before[word.end() :]
            plain = not re.search(r"[.!?]\s+\S|\n\s*\n\s*\S", between)
            return (name, word.start()) if plain else (None, 0)
    return None, 0


def _commands(page: Page) -> Iterator[Claim]:
    """The lines that are a command of a tool and its arguments, and nothing else."""
    if "=" not in page.text and "--" not in page.text:
        return
    for line in islice(_COMMAND.finditer(page.text), _MAX_LABELS):
        name = page.offer.resolve(line["name"]) if len(line[0]) <= _MAX_LINE else None
        args = _options(page, name, line["args"].strip()) if name is not None else None
        if args is not None:
            yield Claim(line.start(), line.end(), [Shape(line["name"], args, "explicit")], "command_line")


def _options(page: Page, name: str, said: str) -> dict[str, Any] | None:
    """The arguments in options or pairs; ``None`` where anything else is between them."""
    args: dict[str, Any] = {}
    at, known = 0, page.offer.properties(name)
    while pair := _PAIR.match(said, at):
        key = pair["key"] or pair["option"].replace("-", "_")
        value = next(pair[kind] for kind in ("double", "single", "bare") if pair[kind] is not None)
        if key not in known or key in args:
            return None
        args[key] = typed(value, page.offer.types(name, key), page.offer.allowance)
        at = pair.end()
    return args if at == len(said) else None

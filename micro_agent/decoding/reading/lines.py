"""A name and its arguments in a form of the model's own: a command line, labels in any language, a name and an object.

    get_weather city="Rome" days=3        --- CALL --- nc://get_weather {"city": "Rome"}
    /get_weather --city Rome              Outil : get_weather
                                          city : Rome

A call only of a tool that there is, with arguments of its own and nothing else in their place.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.mending import Unreadable, mend
from micro_agent.decoding.schema_types import JSON_TYPES
from micro_agent.decoding.shapes import Shape, call_shapes

_MAX_LINE = 4_000
_MAX_LABELS = 40
_COMMAND = re.compile(
    r"(?:```\w*\n)?[`/$>\s]{0,4}(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]+(?P<args>(?:--)?[A-Za-z_][^\n]*+)"
)
_PAIR = re.compile(
    r"(?:--(?P<option>\w[\w-]{0,63}+)[ =]|(?P<key>\w{1,64}+)=)"
    r"""(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<bare>[^\s"'`=,(){}\[\]]+))(?:,?[ \t]+|\Z)"""
)
_LABEL = re.compile(
    r"^[ \t>*#•-]{0,6}[^\W\d_][^\n:：=]{0,30}?[ \t*]{0,4}[:：][ \t*`]{0,4}"
    r"(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t*`]{0,4}\n"
    r"(?=[ \t>*•-]{0,6}[`*]{0,2}\w{1,64}[`*]{0,2}[ \t]?[:：=])",
    re.MULTILINE,
)
_ARGUMENT = re.compile(
    r"[ \t>*•-]{0,6}[`*]{0,2}(?P<key>\w{1,64}+)[`*]{0,2}[ \t]{0,2}[:：=][ \t*]{0,3}(?P<value>[^\n]*+)\n?"
)


def read(page: Page) -> Iterator[Claim]:
    """The calls in lines of labels and before objects, else the command that the whole text is."""
    if not page.offer.tools or page.cut_off:
        return
    yield from _labelled(page)
    yield from _before_objects(page)
    if (command := _command(page)) is not None:
        yield command


def _labelled(page: Page) -> Iterator[Claim]:
    """A label, a tool's name and lines of its arguments below it, whatever the label says."""
    for label in islice(_LABEL.finditer(page.text), _MAX_LABELS):
        name = label["name"] if page.offer.tool(label["name"]) else page.offer.resolve(label["name"])
        if name is None:
            continue
        args: dict[str, Any] = {}
        at = label.end()
        known = {key.casefold(): key for key in page.offer.properties(name)}
        while (line := _ARGUMENT.match(page.text, at)) is not None and line["key"].casefold() in known:
            key = known[line["key"].casefold()]
            value = line["value"].strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'`":
                value = value[1:-1]
            args.setdefault(key, typed(value, page.offer.types(name, key), page.offer.allowance))
            at = line.end()
        if args:
            yield Claim(label.start(), at, [Shape(name, args, "loose")], "labels")


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


def _command(page: Page) -> Claim | None:
    """The call, if all of the text is one line of a command and its arguments fit."""
    text = page.text.strip().removesuffix("```").rstrip("` \n")
    may = len(text) <= _MAX_LINE and ("=" in text or "--" in text)
    line = _COMMAND.fullmatch(text) if may else None
    name = page.offer.resolve(line["name"]) if line else None
    if line is None or name is None:
        return None
    args: dict[str, object] = {}
    at, known = 0, page.offer.properties(name)
    while pair := _PAIR.match(line["args"], at):
        key = pair["key"] or pair["option"].replace("-", "_")
        said = next(pair[kind] for kind in ("double", "single", "bare") if pair[kind] is not None)
        if key not in known or key in args:
            return None
        args[key] = typed(said, page.offer.types(name, key), page.offer.allowance)
        at = pair.end()
    if at < len(line["args"]):
        return None
    return Claim(0, len(page.text), [Shape(name, args, "explicit")], "command_line")

"""The name of a tool and its arguments somewhere behind it: an object, lines, pairs, a table, options.

    get_weather city="Rome" days=3        --- CALL --- nc://get_weather {"city": "Rome"}     get_weather → city: Rome
    $ get_weather --city Rome             Outil : get_weather         - name: get_weather    | tool        | city |
                                          city : Rome                   arguments:           |-------------|------|
                                                                          city: Rome         | get_weather | Rome |

A call only of a tool that there is, with arguments of its own that fit and nothing else in their place. No label is
known by its wording: what says that it is one is the name before and the names of the arguments.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from textwrap import dedent, indent
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import as_yaml, typed
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.calls import extent
from micro_agent.decoding.pythonic.positional import python_shapes
from micro_agent.decoding.reading.labels import describes
from micro_agent.decoding.repair.mending import Unreadable, mend
from micro_agent.decoding.rows import STOPS
from micro_agent.decoding.shapes import Shape, call_shapes

_MAX_LINE = 4_000
_MAX_GROUPS = 40
_MAX_KEYS = 400
_MAX_BLOCK = 20_000
_MAX_NAMES = 200
_REACH = 300
"""Characters before the arguments in which the name is looked for."""
_COMMAND = re.compile(
    r"^[`/$>% \t]{0,6}(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]+(?P<args>(?:--)?[A-Za-z_][^\n]*?)"
    r"`{0,3}[ \t]*$",
    re.MULTILINE,
)
_OPTION = re.compile(
    r"(?:--(?P<option>\w[\w-]{0,63}+)[ =]|(?P<key>\w{1,64}+)=)"
    r"""(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)'|(?P<bare>[^\s"'`=,(){}\[\]]+))(?:,?[ \t]+|\Z)"""
)
_SIGN = r"[ \t]{0,2}(?:[:：=＝]|[=-]>|[→➜➔▶⇒]|(?<=[ \t])[—–-](?=[ \t]))(?![:/=])"
"""What stands between a key and its value."""
_KEY = re.compile(rf"(?<![A-Za-z0-9_])(?P<key>[^\W\d]\w{{0,63}}+)[\"'`*»」]{{0,3}}{_SIGN}[ \t*]{{0,3}}")
_LINE = re.compile(
    rf"(?:[ \t>]*\n)?(?P<indent>[ \u3000\t>*#•+‣◦–—-]{{0,12}})[`*\"'«]{{0,3}}"
    rf"(?P<key>\w{{1,64}}+)[`*\"'»]{{0,3}}{_SIGN}[ \t*]{{0,3}}(?P<value>[^\n]*+)\n?"
)
_QUOTED = {"`": "`", '"': '"', "'": "'", "«": "»", "“": "”", "「": "」", "„": "“"}
_JUNCTION = re.compile(r"\s(?:[^\W\d_]{1,4}|[—–-])\Z")
_MAX_JUNCTION = 16
"""Characters between two pairs, the first of which has a quoted value."""
_BELOW = re.compile(r"(?:[ \t]*+\n)*(?P<indent>[ \t]*+)(?P<item>- )?[^\n]*+\n?")
_BLOCK = re.compile(r"[|>][+-]?\s*")
_ROW = re.compile(r"^[ \t]*\|(?P<cells>[^\n]*\|)[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^[^\w\n]{1,12}(?P<name>[A-Za-z_][\w.-]{0,127}+)[^\w\n]{0,6}$", re.MULTILINE)
_TICKS = re.compile(r"```\w*")
_RULE = re.compile(r"[\s|:-]+")
_SENTENCE = re.compile(r"[.!?]\s+\S|[。！？]|\n[ \t]*\n[^\n]*\n[ \t]*\n")
"""What ends what is said of a tool: no arguments of it stand behind that."""
_OPENED = re.compile(r"[\"'`*\]\\]*\s?(?P<bracket>[({\[（｛])")
_PARTNER = {"(": ")", "[": "]", "{": "}", "（": "）", "｛": "｝"}
_PARTS = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")
_start = attrgetter("start")
_SIGNS = "\"'`* \t,;，；、。.）)"


def read(page: Page) -> Iterator[Claim]:
    """The calls before objects, before lines and pairs of arguments, in tables and in lines of commands."""
    if not page.offer.tools or page.cut_off:
        return
    mention = _mention(tuple(page.offer.names or ())[:_MAX_NAMES])
    taken = list(_before_objects(page, mention))
    taken += _before_keys(page, mention, taken)
    yield from taken
    yield from _tables(page, mention)
    yield from _alone(page)
    yield from _commands(page)


@lru_cache(maxsize=64)
def _mention(names: tuple[str, ...]) -> re.Pattern[str]:
    """The names of tools in any case, with any sign or blank between their words."""
    spelled = [
        r"[\s_.\\-]{0,2}".join(map(re.escape, _PARTS.split(name))) for name in sorted(names, key=len, reverse=True)
    ]
    return re.compile(rf"(?<![A-Za-z0-9_.-])(?:{'|'.join(spelled)})(?![A-Za-z0-9_-])", re.IGNORECASE)


def _named(page: Page, mention: re.Pattern[str], at: int) -> tuple[str, int, int] | None:
    """The tool that is named last before a place, and where from and to; ``None`` where a sentence ends between."""
    reach = max(0, at - _REACH)
    found = next(iter(deque(mention.finditer(page.text, reach, at), maxlen=1)), None)
    name = page.offer.resolve(found[0].replace("\\", "")) if found else None
    if found is None or name is None or _SENTENCE.search(page.text, found.end(), at):
        return None
    if any(page.inside(mark) == found.start() for mark in page.marks if not mark.closing and mark.name in STOPS):
        return None  # inside markup, which has readers of its own
    return name, *found.span()


def _named_behind(page: Page, mention: re.Pattern[str], at: int) -> tuple[str, int, int] | None:
    """The only tool that is named in the text, where that is in the sentence right behind a place."""
    found = list(islice(mention.finditer(page.text), 2))
    if (
        len(found) != 1
        or not at <= found[0].start() <= at + _REACH
        or _SENTENCE.search(page.text, at, found[0].start())
    ):
        return None
    name = page.offer.resolve(found[0][0].replace("\\", ""))
    return None if name is None else (name, *found[0].span())


def _before_objects(page: Page, mention: re.Pattern[str]) -> Iterator[Claim]:
    """An object of a tool's arguments with that tool's name before it."""
    for piece in page.data.pieces[:_MAX_GROUPS]:
        if not piece.closed or not piece.text.startswith("{"):
            continue
        named = _named(page, mention, piece.start) or _named_behind(page, mention, piece.end)
        if named is None:
            continue
        try:
            args, repairs = mend(piece.text, page.offer.allowance, guess=False)
        except Unreadable as why:
            first = _KEY.search(piece.text)
            if first is not None and first["key"] in page.offer.properties(named[0]):
                yield Claim(piece.start, piece.end, [Shape(named[0], None, "explicit")], "named", fault=str(why))
            continue
        given = cast("dict[str, Any]", args)
        if (
            given
            and given.keys() <= page.offer.properties(named[0])
            and not call_shapes(given)
            and not describes(given)
        ):
            start, end = min(named[1], piece.start), max(named[2], piece.end)
            between = page.text[min(named[2], piece.end) : max(named[1], piece.start)]
            amid = re.search(r"\w", _TICKS.sub("", between)) is not None
            yield Claim(start, end, [Shape(named[0], given, "explicit")], "named", repairs=repairs, amid=amid)


def _before_keys(page: Page, mention: re.Pattern[str], taken: list[Claim]) -> list[Claim]:
    """Lines or pairs of a tool's arguments with that tool's name before them."""
    keys = {key.casefold() for name in page.offer.names or () for key in page.offer.properties(name)}
    marks = page.every_mark
    claims: list[Claim] = []
    end = 0
    for found in islice(_KEY.finditer(page.text), _MAX_KEYS):
        at = found.start("key")
        if at < end or found["key"].casefold() not in keys or any(one.start <= at < one.end for one in taken):
            continue
        inner = bisect_left(marks, at, key=_start)  # the attribute of a tag
        if any(one.start <= at < one.end for one in (*page.data.pieces, *marks[max(0, inner - 1) : inner])):
            continue
        line = page.text.rfind("\n", 0, at) + 1
        named = _named(page, mention, at)
        if named is None and (behind := _named_behind(page, mention, at)) is not None:
            args, end = _lines(page, behind[0], line)
            if args and end <= behind[1] and not _SENTENCE.search(page.text, end, behind[1]):
                claims.append(Claim(line, behind[2], [Shape(behind[0], args, "loose")], "named", amid=True))
            continue
        if named is None or any(claim.start <= named[1] < claim.end for claim in claims):
            continue
        opened = _OPENED.match(page.text, named[2])
        if opened is not None and (spaced := _spaced(page, named, opened.end() - 1)) is not None:
            claims += spaced
            continue
        begins = _LINE.match(page.text, line) if line > named[1] else None
        alone = begins is not None and begins.start("key") == at
        if alone:
            args, end = _lines(page, named[0], line)
        else:
            end = _stop(page.text, at, opened)
            args = _pairs(page, named[0], at, end)
        if args and not describes(args):
            claims.append(Claim(named[1], end, [Shape(named[0], args, "loose")], "named", amid=True))
    return claims


def _stop(text: str, at: int, opened: re.Match[str] | None) -> int:
    """Where pairs end: with the line, or with the bracket that opens before them."""
    line = text.find("\n", at)
    line = line if line >= 0 else len(text)
    closing = text.rfind(_PARTNER[opened["bracket"]], at, line) if opened else -1
    return closing if closing >= 0 else line


def _spaced(page: Page, named: tuple[str, int, int], at: int) -> list[Claim] | None:
    """``Get Weather(city="Rome")``, where the name is not one of Python's; ``None`` where it is no call of Python."""
    if page.text[at] != "(" or at > named[2] + 1:
        return None
    stop = extent(page.text, at) if " " in page.text[named[1] : named[2]] else None
    if stop is not None:
        with suppress(Unreadable):
            return [Claim(named[1], stop, python_shapes(f"f{page.text[at:stop]}", page, named=named[0]), "named")]
    return []


def _lines(page: Page, name: str, at: int) -> tuple[dict[str, Any], int]:
    """The arguments line by line, those of YAML below their key, and where they end."""
    text, known = page.text, {key.casefold(): key for key in page.offer.properties(name)}
    args: dict[str, Any] = {}
    while (line := _LINE.match(text, at)) is not None and line["key"].casefold() in known:
        key, at = known[line["key"].casefold()], line.end()
        said = _bare(line["value"].strip())
        below = _below(text, at, len(line["indent"]))
        if below > at and (not said or _BLOCK.fullmatch(said)):
            value, at = as_yaml(f"{said}\n{indent(dedent(text[at:below]), '  ')}"), below
        else:
            value = typed(said, page.offer.types(name, key), page.offer.allowance)
        args.setdefault(key, value)
    return args, at


def _pairs(page: Page, name: str, at: int, stop: int) -> dict[str, Any]:
    """The arguments in ``city: Rome, days=3`` up to ``stop``; none where one of them may be something else."""
    known = {key.casefold(): key for key in page.offer.properties(name)}
    args: dict[str, Any] = {}
    found = _KEY.match(page.text, at, stop)
    if found is None or found["key"].casefold() not in known:
        return {}
    while found is not None:
        key, start = known[found["key"].casefold()], found.end()
        closing = page.text.find(_QUOTED.get(page.text[start : start + 1], "\n"), start + 1, stop)
        following = _KEY.finditer(page.text, start if closing < 0 else closing, stop)
        found = next((one for one in following if one["key"].casefold() in known), None)
        end = found.start() if found else stop
        if closing >= 0 and (not found or end - closing <= _MAX_JUNCTION):
            said = page.text[start + 1 : closing].strip()
        elif page.text[start : start + 1] in _QUOTED:
            return {}
        else:
            said = page.text[start:end].strip(_SIGNS)
            said = _JUNCTION.sub("", said).strip(_SIGNS) if found else said
            loose = " " in said and page.text[start - 2 : start].rstrip("* ").endswith(("=", "＝"))
            if loose or not _is_whole(said):
                return {}
        if key in args or not said:
            return {}
        args[key] = typed(said, page.offer.types(name, key), page.offer.allowance)
    return args


def _is_whole(value: str) -> bool:
    """Whether no bracket and no quote in a value has its partner somewhere else."""
    brackets = all(value.count(opening) == value.count(closing) for opening, closing in ("()", "[]", "{}"))
    return (
        brackets
        and "</" not in value
        and value.count('"') % 2 == 0
        and value[:1] not in ("'", "`")
        and value[-1:] not in ("'", "`")
    )


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


def _tables(page: Page, mention: re.Pattern[str]) -> Iterator[Claim]:
    """A table of arguments and values behind a name, or with the names of arguments above and the tool in a row."""
    rows = [
        (row, [_bare(cell.strip(" \t*")) for cell in row["cells"].split("|")[:-1]])
        for row in islice(_ROW.finditer(page.text), _MAX_KEYS)
    ]
    rows = [(row, cells) for row, cells in rows if not _RULE.fullmatch(row["cells"])]
    pairs = [(row, cells) for row, cells in rows if len(cells) == 2]
    begin, end = (pairs[0][0].start(), pairs[-1][0].end()) if pairs else (0, 0)
    named = (_named(page, mention, begin) or _named_behind(page, mention, end)) if pairs else None
    if named is not None:
        known = page.offer.properties(named[0])
        args = {
            key: typed(value, page.offer.types(named[0], key), page.offer.allowance)
            for _, (key, value) in pairs
            if key in known
        }
        if len(args) >= len(pairs) - 1:
            yield Claim(min(named[1], begin), max(named[2], end), [Shape(named[0], args, "loose")], "named", amid=True)
    for row, cells in rows[1:]:
        tool = next((name for cell in cells if mention.fullmatch(cell) and (name := page.offer.resolve(cell))), None)
        known = page.offer.properties(tool or "")
        above = zip(rows[0][1], cells, strict=False)
        args = {
            key: typed(value, page.offer.types(tool or "", key), page.offer.allowance)
            for key, value in above
            if key in known and value
        }
        if tool is not None and args:
            yield Claim(row.start(), row.end(), [Shape(tool, args, "loose")], "named", amid=True)


def _alone(page: Page) -> Iterator[Claim]:
    """The name of a tool as an item of a list: a call without arguments where others stand beside it."""
    for line in islice(_ITEM.finditer(page.text), _MAX_GROUPS):
        name = page.offer.resolve(line["name"])
        if name is not None:
            yield Claim(
                line.start("name"), line.end("name"), [Shape(name, {}, "loose")], "named", sure=False, amid=True
            )


def _commands(page: Page) -> Iterator[Claim]:
    """The lines that are a command of a tool and its arguments, and nothing else."""
    if "=" not in page.text and "--" not in page.text:
        return
    for line in islice(_COMMAND.finditer(page.text), _MAX_GROUPS):
        name = page.offer.resolve(line["name"]) if len(line[0]) <= _MAX_LINE else None
        args = _options(page, name, line["args"].strip()) if name is not None else None
        if args is not None:
            yield Claim(line.start(), line.end(), [Shape(line["name"], args, "explicit")], "command_line")


def _options(page: Page, name: str, said: str) -> dict[str, Any] | None:
    """The arguments in options or pairs; ``None`` where anything else is between them."""
    args: dict[str, Any] = {}
    at, known = 0, page.offer.properties(name)
    while pair := _OPTION.match(said, at):
        key = pair["key"] or pair["option"].replace("-", "_")
        value = next(pair[kind] for kind in ("double", "single", "bare") if pair[kind] is not None)
        if key not in known or key in args:
            return None
        args[key] = typed(value, page.offer.types(name, key), page.offer.allowance)
        at = pair.end()
    return args if at == len(said) else None

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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from string import ascii_letters, digits
from textwrap import dedent, indent
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import as_yaml, typed
from micro_agent.decoding.page import WORD, Mention, Page
from micro_agent.decoding.pythonic.calls import extent
from micro_agent.decoding.pythonic.positional import python_shape
from micro_agent.decoding.reading.labels import describes
from micro_agent.decoding.reading.objects import objects_and_lists
from micro_agent.decoding.repair.closing import closed
from micro_agent.decoding.repair.mending import Unreadable, exact, mend
from micro_agent.decoding.scan.scanner import Piece, piece_at
from micro_agent.decoding.shapes import Shape, call_shapes

_MAX_GROUPS = 40
_MAX_KEYS, _MAX_PLACES = 400, 1_000
_MAX_BLOCK = 20_000
_REACH = 300
"""Characters before the arguments in which the name is looked for."""
_SIGN = r"[ \t]{0,2}(?:[:：=＝]|[=-]>|[→➜➔▶⇒]|(?<=[ \t])[—–-](?=[ \t]))(?![:/=])"
"""What stands between a key and its value."""
_KEY = re.compile(
    rf"(?<![A-Za-z0-9_])(?P<key>[^\W\d]\w{{0,63}}+)[\"'`*»」]{{0,3}}{_SIGN}[ \t*]{{0,3}}"
    r"|(?<!\S)--?(?P<option>\w[\w-]{0,63}+)[ =]"
)
_LINE = re.compile(
    rf"(?:[ \t>]*\n)?(?P<indent>[ \u3000\t>*#•+‣◦–—-]{{0,12}})[`*\"'«]{{0,3}}"
    rf"(?P<key>\w{{1,64}}+)[`*\"'»]{{0,3}}{_SIGN}[ \t*]{{0,3}}(?P<value>[^\n]*+)\n?"
)
_QUOTED = {"`": "`", '"': '"', "'": "'", "«": "»", "“": "”", "「": "」", "„": "“"}
_JUNCTION = re.compile(r"\s(?:[^\W\d_]{1,4}|[—–-])\Z")
_FEW = 10
"""Characters before a name in which a bracket opens around it."""
_MAX_JUNCTION = 16
"""Characters between two pairs, the first of which has a quoted value."""
_BELOW = re.compile(r"(?:[ \t]*+\n)*(?P<indent>[ \t]*+)(?P<item>- )?[^\n]*+\n?")
_BLOCK = re.compile(r"[|>][+-]?\s*")
_ROW = re.compile(r"^[ \t]*\|(?P<cells>[^\n]*\|)[ \t]*$", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?]\s+\S|[。！？]|\n[ \t]*\n[^\n]*\n[ \t]*\n")
"""What ends what is said of a tool: no arguments of it stand behind that."""
_OPENED = re.compile(r"[\"'`*\]\\]*\s?(?P<bracket>[({\[（｛])")
_PARTNER = {"(": ")", "[": "]", "{": "}", "（": "）", "｛": "｝"}
_ALPHABET = frozenset(f"{ascii_letters}{digits}_")
_PROMPT = "`/$>%[{( \t"
_SIGNS = "\"'`* \t,;&,；、。.）)"
_start = attrgetter("start")


def read(page: Page) -> Iterator[Claim]:
    """The calls before objects, before lines and pairs of arguments, and in tables."""
    if page.cut_off or not page.mentions:
        return
    taken = list(_with_objects(page))
    yield from taken
    yield from _with_keys(page, taken)
    yield from _tables(page)
    yield from _items(page)


def _named(page: Page, at: int, end: int) -> Mention | None:
    """The tool that is named last before a place; else the only one of the text, where the next sentence names it."""
    before = page.mentioned(max(0, at - _REACH), at)
    if before:
        found, between = before[-1], (before[-1].end, at)
    elif len(page.mentions) == 1 and end <= page.mentions[0].start <= end + _REACH:
        found, between = page.mentions[0], (end, page.mentions[0].start)
    else:
        return None
    if _SENTENCE.search(page.text, *between) or (before and found.start in page.inside_markup):
        return None  # a sentence ends between them, or markup has readers of its own
    return found


def _meant(page: Page, piece: Piece) -> Mention | None:
    """The only tool that the text names, sentences before an object that is all of its arguments."""
    before = page.mentioned(0, piece.start)
    if not before or {one.tool for one in page.mentions} != {before[0].tool} or before[-1].start in page.inside_markup:
        return None
    with suppress(Unreadable):
        given, tool = exact(piece.text), page.offer.tool(before[0].tool)
        wanted = tool.parameters.get("required") if tool is not None else None
        if isinstance(given, dict) and wanted and not page.offer.faults(before[0].tool, cast("dict[str, Any]", given)):
            return before[-1]
    return None


def _claim(named: Mention, start: int, end: int, args: dict[str, Any], *, amid: bool = True) -> Claim:
    strength = "loose" if amid else "explicit"
    return Claim(min(named.start, start), max(named.end, end), [Shape(named.tool, args, strength)], "named", amid=amid)


def _with_objects(page: Page) -> Iterator[Claim]:
    """An object of a tool's arguments with that tool's name before or behind it."""
    for piece in islice(objects_and_lists(page), _MAX_GROUPS):
        if not piece.text.startswith("{"):
            continue
        named = _named(page, piece.start, piece.end) or _meant(page, piece)
        if named is None:
            continue
        known = page.offer.properties(named.tool)
        try:
            allowance = page.offer.allowance
            given, repairs = mend(piece.text, allowance, guess=False) if piece.closed else closed(piece, allowance)
        except Unreadable as why:
            first = _KEY.search(piece.text)
            if first is not None and first["key"] in known:
                yield Claim(piece.start, piece.end, [Shape(named.tool, None, "explicit")], "named", fault=str(why))
            continue
        calls = any(page.offer.resolve(one.name) for one in call_shapes(given) or ())
        between = page.text[min(named.end, piece.end) : max(named.start, piece.start)]
        told = given or ("\n" in between and between.rstrip(" `*").endswith((":", "：")))  # labelled as none
        if told and given.keys() <= known and not calls and not describes(given):
            claim = _claim(named, piece.start, piece.end, given, amid=False)
            claim.repairs, claim.amid = repairs, WORD.search(re.sub(r"```\w*", "", between)) is not None
            yield claim


def _with_keys(page: Page, taken: list[Claim]) -> Iterator[Claim]:
    """Lines or pairs of a tool's arguments with that tool's name before them."""
    reached, held = 0, deque(piece for piece in page.data.pieces if not _is_command_in(page, piece))
    for found in _keys(page):
        at = found.start()
        if at < reached or any(one.start <= at < one.end for one in taken):
            continue
        while held and held[0].end <= at:
            held.popleft()
        inner = bisect_left(page.every_mark, at, key=_start)  # the attribute of a tag
        if any(one.start <= at < one.end for one in (*page.every_mark[max(0, inner - 1) : inner], *islice(held, 1))):
            continue
        line = page.text.rfind("\n", 0, at) + 1
        named = _named(page, at, at)
        if named is None or named.start < reached:
            continue
        opened = _OPENED.match(page.text, named.end) if named.start < at else None
        if opened is not None and (spaced := _spaced(page, named, opened.end() - 1)) is not None:
            yield from spaced
            continue
        begins = _LINE.match(page.text, line) if line > named.start or named.start > at else None
        amid = True
        if begins is not None and begins.start("key") == at:
            args, end = _lines(page, named.tool, line)
        elif named.start > at:
            continue
        else:
            around = opened["bracket"] if opened else page.text[max(0, named.start - _FEW) : named.start].rstrip()[-1:]
            end = _stop(page.text, at, around)
            amid = not _is_command(page, named, at, end)
            args = {} if amid and found["option"] else _pairs(page, named.tool, at, end)
        if named.start > at and (end > named.start or _SENTENCE.search(page.text, end, named.start)):
            continue
        reached = end
        if args and not describes(args):
            yield _claim(named, line if named.start > at or not amid else at, end, args, amid=amid)


def _keys(page: Page) -> list[re.Match[str]]:
    """Where a key stands that is an argument of a tool which the text names."""
    keys = {key.lower() for tool in {one.tool for one in page.mentions} for key in page.offer.properties(tool)}
    places: set[int] = set()
    for word in sorted(keys.union(key.replace("_", "-") for key in keys)):
        at = page.lowered.find(word)
        while at >= 0 and len(places) < _MAX_PLACES:
            if page.lowered[at + len(word) : at + len(word) + 1] not in _ALPHABET:
                before = page.text[max(0, at - 2) : at]
                places.add(at - len(before) + len(before.rstrip("-")))
            at = page.lowered.find(word, at + 1)
    found = (_KEY.match(page.text, at) for at in sorted(places))
    return list(islice((one for one in found if one and _key(one) in keys), _MAX_KEYS))


def _key(found: re.Match[str]) -> str:
    return (found["key"] or found["option"].replace("-", "_")).lower()


def _is_command(page: Page, named: Mention, at: int, end: int) -> bool:
    """Whether a line is the name and the arguments and nothing else: ``$ get_weather --city Rome``."""
    text = page.text
    line = text.rfind("\n", 0, named.start) + 1
    alone = not text[line : named.start].strip(_PROMPT) and not text[end : page.line_end(end)].strip("]})` \t")
    return alone and named.end < at and not text[named.end : at].strip(" \t")


def _is_command_in(page: Page, piece: Piece) -> bool:
    """Whether what is in brackets begins with the name of a tool and a blank: ``[get_weather city=Rome]``."""
    inside = piece.start + len(piece.text) - len(piece.text.lstrip("[{( "))
    first = page.mentioned(inside, inside + 1)
    return bool(first) and page.text[first[0].end : first[0].end + 1] == " "


def _stop(text: str, at: int, bracket: str) -> int:
    """Where pairs end: with the line, or with the bracket that opens before them."""
    line = text.find("\n", at)
    line = line if line >= 0 else len(text)
    closing = text.rfind(_PARTNER[bracket], at, line) if bracket in _PARTNER else -1
    return at + len(text[at : closing + 1].rstrip(_PARTNER[bracket])) if closing >= 0 else line


def _spaced(page: Page, named: Mention, at: int) -> list[Claim] | None:
    """``Get Weather(city="Rome")``, where the name is not one of Python's; ``None`` where it is no call of Python."""
    if page.text[at] != "(" or at > named.end + 1:
        return None
    stop = extent(page.text, at, page.offer.allowance)[0] if " " in page.text[named.start : named.end] else None
    if stop is not None:
        with suppress(Unreadable):
            return [Claim(named.start, stop, [python_shape(named.tool, page.text[at:stop], page)], "named")]
    return []


def _lines(page: Page, name: str, at: int) -> tuple[dict[str, Any], int]:
    """The arguments line by line, those of YAML below their key, and where they end."""
    text, known = page.text, {key.lower(): key for key in page.offer.properties(name)}
    args: dict[str, Any] = {}
    while (line := _LINE.match(text, at)) is not None and line["key"].lower() in known:
        key, at = known[line["key"].lower()], line.end()
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
    known = {key.lower(): key for key in page.offer.properties(name)}
    args: dict[str, Any] = {}
    found = _KEY.match(page.text, at, stop)
    while found is not None:
        key, start = known.get(_key(found)), found.end()
        opening = page.text[start : start + 1]
        closing = page.text.find(_QUOTED.get(opening, "\n"), start + 1, stop)
        if opening in ("[", "{") and (held := piece_at(page.text[start:stop], 0)).closed:
            closing = start + len(held.text) - 1
        following = _KEY.finditer(page.text, start if closing < 0 else closing, stop)
        after = next((one for one in following if _key(one) in known), None)
        end = after.start() if after else stop
        if closing >= 0 and (not after or end - closing <= _MAX_JUNCTION):
            said = page.text[start : closing + 1] if opening in ("[", "{") else page.text[start + 1 : closing].strip()
        elif opening in _QUOTED:
            return {}
        else:
            said = page.text[start:end].strip(_SIGNS)
            said = _JUNCTION.sub("", said).strip(_SIGNS) if after else said
            loose = " " in said and page.text[start - 2 : start].rstrip("* ").endswith(("=", "＝"))
            if loose or not _is_whole(said):
                return {}
        if key is None or key in args or not said:
            return {}
        args[key] = typed(said, page.offer.types(name, key), page.offer.allowance)
        found = after
    return args


def _is_whole(value: str) -> bool:
    """Whether no bracket and no quote in a value has its partner somewhere else."""
    paired = all(value.count(opening) == value.count(closing) for opening, closing in ("()", "[]", "{}"))
    quoted = value.count('"') % 2 or value[:1] in ("'", "`") or value[-1:] in ("'", "`")
    return paired and not quoted and "</" not in value


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


def _items(page: Page) -> Iterator[Claim]:
    """The name of a tool as an item of a list: a call without arguments where others stand beside it."""
    for one in page.mentions[:_MAX_GROUPS]:
        line, end = page.text.rfind("\n", 0, one.start) + 1, page.line_end(one.end)
        around = page.text[line : one.start], page.text[one.end : end]
        if around[0].strip() and not any(WORD.search(side) for side in around):
            yield replace(_claim(one, one.start, one.end, {}), sure=False)


def _tables(page: Page) -> Iterator[Claim]:
    """A table of arguments and values behind a name, or with the names of arguments above and the tool in a row."""
    rows = [
        (row, [_bare(cell.strip(" \t*")) for cell in row["cells"].split("|")[:-1]])
        for row in islice(_ROW.finditer(page.text), _MAX_KEYS)
        if row["cells"].strip(" \t|:-")
    ]
    pairs = [(row, cells) for row, cells in rows if len(cells) == 2]
    begin, end = (pairs[0][0].start(), pairs[-1][0].end()) if pairs else (0, 0)
    named = _named(page, begin, end) if pairs else None
    if named is not None:
        args = _cells(page, named.tool, (cells for _, cells in pairs))
        if len(args) >= len(pairs) - 1:
            yield _claim(named, begin, end, args)
    for row, cells in rows[1:]:
        found = page.mentioned(row.start(), row.end())
        args = _cells(page, found[0].tool, zip(rows[0][1], cells, strict=False)) if len(found) == 1 else {}
        if args:
            yield _claim(found[0], row.start(), row.end(), args)


def _cells(page: Page, tool: str, pairs: Iterable[Sequence[str]]) -> dict[str, Any]:
    known = page.offer.properties(tool)
    return {
        key: typed(value, page.offer.types(tool, key), page.offer.allowance)
        for key, value in pairs
        if key in known and value
    }

"""What a row of the dialects opens: JSON, a name and its arguments, Python calls or lines, up to what closes it."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.markup.plain_input import plain_input
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.reading.python import calls_at
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.rows import CALLS, CLOSES, CONNECTS, KNOWN, OPENS, PAIRS, PARTS, ROWS, STOPS, Row
from micro_agent.decoding.scan.values import Unfinished, value_at
from micro_agent.decoding.settle import MAX_CALLS
from micro_agent.decoding.shapes import Known, Shape, Strength, call_shapes, final_answer

_TAGS, _TOKENS = Row("hermes"), Row("phi")
_WRITTEN = tuple(
    (row, re.compile(row.written, re.MULTILINE), re.compile(row.ends or r"(?!)")) for row in ROWS if row.written
)
_BLANK = re.compile(r"\s*+(?:```\w*\s*+)?(?:(?:json|code)\s*+(?=[{\[\"<]))?")
_NAME = re.compile(
    r"""(?:(?:(?:tool|function)_?)?name[ \t]{0,3}[:=][ \t]{0,3})?["'`]?"""
    r"""(?P<name>[A-Za-z_](?>(?:[\w./-]|\\_|:(?!\s)){0,127}))["'`]?"""
)
_BETWEEN = re.compile(
    r"\s*+(?:\(|:|=?>|=|->|[,|-](?=\s*+\{)|with(?:[ ]the)?(?:[ ]arg(?:ument)?s|[ ]param(?:eter)?s|[ ]input)?:?)?"
    r"\s*+(?:```\w*\s*+)?(?:(?:json|code)\s*+)?"
)
_WORD = re.compile(r"\s*+\w{1,64}+")
_JSON = re.compile(r"""[{"]|\[\s*+(?:[{\["'\]]|\Z)""")
_REST = re.compile(r"[\s}\])]*+(?:```\s*+)?(?:[;,]\s*+)?(?:```\w*\s*+)?")
_LINES = re.compile(
    r"[ \t]*+\n(?:(?:arguments|args|parameters|params|input)[ \t]?:[ \t]?\n)?(?=[ \t]{0,8}[\w\"'-]{1,64}[ \t]?[:=])"
)
_SAID = re.compile(r"[\"']?(?P<key>\w{1,64}+)[\"']?\s?[:=]|[\w\"'./~$-]")
"""What pairs and a text for an argument begin with, and no other form of arguments."""
_HINT = re.compile(r"""["']?name["']?\s*+:\s*+["']([^"']{1,128})["']""")
_HINT_REACH = 400
_MAX_OPENED, _MAX_AGAIN = 40, 50
"""So many openings are looked at, and so often one may be said again."""
_start = attrgetter("start")


def read(page: Page) -> Iterator[Claim]:
    """The claims behind all that opens a call, in order of the rows."""
    end = 0
    for at, row, name, begin in sorted(_openings(page), key=lambda one: (one[3], -one[0])):
        if begin < end:
            continue
        claim = _claim(page, at, row, name)
        if claim is not None:
            claim.start, end, claim.marked = begin, claim.end, True
            yield claim


def _openings(page: Page) -> Iterator[tuple[int, Row, str | None, int]]:
    """Where the inside of each begins, its row, the name where the opening has it, and where the opening begins."""
    marks = [mark for mark in page.marks if not mark.closing]
    inside = 0
    for mark in islice((mark for mark in marks if mark.name in OPENS or _is_call(mark)), _MAX_OPENED):
        if mark.start >= inside:  # else it opens right behind another one
            inside = page.inside(mark)
            yield mark.end, _row(mark), None, mark.start
    sure = (mark for mark in marks if mark.token and mark.name in CONNECTS and CONNECTS[mark.name].opens)
    for mark in islice(sure, _MAX_OPENED):
        if (before := _name_before(page, mark)) is not None:
            yield mark.start, CONNECTS[mark.name], before[0], before[1]
    for row, pattern, _ in _WRITTEN:
        if row.sign not in page.text:
            continue
        found = [one for one in islice(pattern.finditer(page.text), _MAX_OPENED) if not page.in_code(one.start())]
        for one in page.data.outside(found):
            name: str | None = one.groupdict().get("name")
            if name and page.offer.tool(page.offer.resolve(name)) is None:
                name = name.partition(" ")[0]
            yield one.end(), row, name, one.start()


def _row(mark: Mark) -> Row:
    return _TOKENS if mark.token and mark.name == "tool_call" else OPENS.get(mark.name, _TAGS)


def _is_call(mark: Mark) -> bool:
    return mark.name in CALLS and not mark.empty and not mark.rest.strip()


_BEFORE = re.compile(r"(?P<name>[A-Za-z_][\w./:-]{0,127}+)\s{0,9}\Z")


def _name_before(page: Page, mark: Mark) -> tuple[str, int] | None:
    """The name right before a mark that only stands between a name and its arguments."""
    reach = max(0, mark.start - 140)
    found = _BEFORE.search(page.text[reach : mark.start])
    if found is None or found["name"] == "function":
        return None
    return found["name"], reach + found.start()


def _claim(page: Page, at: int, row: Row, name: str | None) -> Claim | None:
    """All that stands behind an opening, or as far as it can be read; ``None`` when it is something else."""
    for _ in range(_MAX_AGAIN):
        again = page.mark_at(_skip(_BLANK, page.text, at))
        if again is None or again.closing or not (again.name in OPENS or _is_call(again)):
            break
        row, at = (_row(again) if row is _TAGS else row), again.end
    if name in row.reserved and page.offer.tool(name) is None:
        return None
    claim = _code(page, at, row, name) or _item(page, row, name, at)
    if claim is None or (row.reserved and [one.name for one in claim.shapes] == [*row.reserved][:1]):
        return None
    index = page.after(at)
    if claim.dialect:
        return _ended(page, row, claim)
    joint = next(
        (
            mark
            for mark in page.marks[index : index + 3]
            if mark.start < claim.end and mark.token and mark.name in CONNECTS
        ),
        None,
    )
    claim.dialect = (CONNECTS[joint.name] if joint else row).dialect
    return _ended(page, row, claim)


def _ended(page: Page, row: Row, claim: Claim) -> Claim:
    """The claim with what follows it: closing marks, more calls behind it."""
    while True:
        claim.end, closed = _skip(_REST, page.text, claim.end), False
        while (closing := page.mark_at(claim.end)) is not None and _closes(page, closing, closed=closed):
            claim.end, closed = _skip(_REST, page.text, closing.end), True
            if page.mark_at(claim.end) is None:
                return claim
        ends = next(end for known, _, end in _WRITTEN if known is row) if row.written else None
        if ends is not None and (written := ends.match(page.text, claim.end)) is not None:
            claim.end = written.end()
            return claim
        if not 0 < len(claim.shapes) <= MAX_CALLS or claim.is_lost:
            return claim
        word = _NAME.match(page.text, claim.end)
        if word is not None and page.offer.tools is not None and page.offer.resolve(word["name"]) is None:
            return claim
        more = _item(page, replace(row, connects=()), None, claim.end)
        if more is None or not more.shapes:
            return claim
        claim.shapes = [*claim.shapes, *more.shapes]
        claim.repairs += more.repairs
        claim.end, claim.fault, claim.unfinished = more.end, more.fault, more.unfinished


def _code(page: Page, at: int, row: Row, name: str | None) -> Claim | None:
    """Code for a tool called ``python``, up to the mark that ends it."""
    python = page.offer.resolve("python") if row.code else None
    if python is None or (name is not None and page.offer.resolve(name) != python):
        return None
    before = page.text[max(0, at - 40) : at].rpartition("<")[0]
    if name is None and before.endswith(" ") and before.rstrip()[-1:] not in ".:!?>":
        return None  # a sentence goes on up to the mark
    at = _connected(page, at)[0] if name is not None else skip_blanks(page.text, at)
    if _JSON.match(page.text, at) or ((calls := calls_at(page, at)) and _calls_tool(page, calls)):
        return None
    closing = next((mark for mark in page.marks[page.after(at) :] if mark.name in CLOSES or mark.closing), None)
    end = min(closing.start if closing else len(page.text), page.turn_after(at))
    shape = Shape(python, {"code": page.text[at:end].rstrip()}, "explicit")
    return Claim(at, end, [shape], "code", unfinished=page.cut_off and closing is None)


def _calls_tool(page: Page, calls: Claim) -> bool:
    known = page.offer.tools is not None
    return any(shape.name.endswith(".call") or (known and page.offer.resolve(shape.name)) for shape in calls.shapes)


def _closes(page: Page, mark: Mark, *, closed: bool) -> bool:
    if mark.closing or mark.name in CLOSES:
        return True
    if closed or mark.name not in CALLS or mark.rest.strip():
        return False
    at = _skip(_BLANK, page.text, mark.end)  # an opening tag closes as well, where nothing follows that it may open
    following = page.mark_at(at)
    return (
        at == len(page.text)
        or (following is not None and following.closing)
        or (
            mark.token and mark.name == "tool_call" and following is None and _item(page, _TAGS, None, mark.end) is None
        )
    )


def _item(page: Page, row: Row, name: str | None, at: int) -> Claim | None:
    """One call or list of them at ``at``, with the name before it if there is one."""
    text = page.text
    start = _skip(_BLANK, text, at)
    sure = False
    if name is None and not _JSON.match(text, start):
        if row.dialect != "fenced" and (calls := calls_at(page, start)) is not None:
            return calls
        if (word := _NAME.match(text, start)) is not None:
            name, start = word["name"], word.end()
            mark = page.mark_at(skip_blanks(text, start))
            if name == "function" and mark is not None and mark.name in CONNECTS:
                return _item(page, row, None, mark.end)
            if mark is not None and not mark.closing and mark.name in PARTS | PAIRS:
                return None
            if _LINES.match(text, start) and (lines := _lines(page, word["name"], start)) is not None:
                return lines
            if (told := _told(page, row, word["name"], start)) is not None:
                return told
            if row.dialect == "fenced" and text.startswith(('("', "('"), start):
                return None  # it is read as Python
    if name is not None:
        start, sure = _connected(page, start)
    if not _JSON.match(text, start):
        return _without_arguments(page, name, start, sure=sure or row.connects != () or row.dialect == "fenced")
    try:
        value, end, repairs = value_at(page, start, _stop(page, start))
    except Unfinished:
        return Claim(at, len(text), _hint(text, start, name), unfinished=True)
    except Unreadable as why:
        stop = _stop(page, start)
        return Claim(at, len(text) if stop is None else stop, _hint(text, start, name), fault=str(why))
    return _understood(Claim(at, end, repairs=repairs), name, value, page, keyed=row.keyed)


def _connected(page: Page, at: int) -> tuple[int, bool]:
    """Where the arguments begin behind a name, and whether a mark says that they do."""
    sure = False
    at = _skip(_BETWEEN, page.text, at)
    while (mark := page.mark_at(at)) is not None and not mark.closing and mark.name in CONNECTS:
        at, sure = mark.end, True
        if mark.name in ("[call_id]", "channel", "constrain") and page.text[at : at + 1] not in ("{", "<"):
            at = _skip(_WORD, page.text, at)
        at = _skip(_BETWEEN, page.text, at)
    return at, sure


def _stop(page: Page, at: int) -> int | None:
    """Where the first mark stands behind ``at`` that opens or closes a call."""
    for mark in page.every_mark[bisect_left(page.every_mark, at, key=_start) :]:
        if (mark.closing and mark.name in KNOWN) or mark.name in STOPS:
            return mark.start
    return None


def _hint(text: str, start: int, name: str | None) -> list[Shape]:
    """The call that seems to be meant, for the error."""
    found = None if name else _HINT.search(text, start, start + _HINT_REACH)
    meant = found[1] if found else name
    return [Shape(meant, None, "explicit")] if meant else []


def _without_arguments(page: Page, name: str | None, start: int, *, sure: bool) -> Claim | None:
    """A name and then what closes the call, or the end of the text: a call without arguments."""
    if name is None:
        return None
    known = page.offer.tools is not None and page.offer.resolve(name) is not None
    at = skip_blanks(page.text, start)
    mark = page.mark_at(at)
    closed = mark is not None and (mark.closing or mark.name in CLOSES)
    ended = at == len(page.text)
    if not (closed or (ended and sure)) or not (known or sure):
        return None
    return Claim(start, at, [Shape(name, {}, "explicit")], unfinished=ended)


def _told(page: Page, row: Row, name: str, at: int) -> Claim | None:
    """A name and up to what closes the call, in one line, what is meant: pairs, or a text for the only argument."""
    fence = page.fence_at(at) if row.dialect == "fenced" else None
    stop = fence.stop if fence else _stop(page, at)
    said = page.text[at:stop].strip()
    if (
        page.offer.tools is None
        or page.offer.resolve(name) is None
        or stop is None
        or not page.text[at : at + 1].isspace()
    ):
        return None
    begun = _SAID.match(said)
    if "\n" in said or begun is None:
        return None
    claim = Claim(at, stop, [Shape(name, None, "explicit")], unfinished=page.cut_off and stop == len(page.text))
    try:
        args = plain_input(page, name, said)
        if begun["key"] and (not isinstance(args, dict) or begun["key"] not in args):
            return None
        claim.fault = None if isinstance(args, dict) else "its arguments are not a JSON object"
        claim.shapes = [Shape(name, args, "explicit")]
    except Unreadable as why:
        claim.fault = str(why)
    return claim


def _lines(page: Page, name: str, start: int) -> Claim | None:
    """The arguments line by line up to the mark that closes the call; all lines must be arguments of the tool."""
    tool = page.offer.resolve(name) if page.offer.tools is not None else None
    stop = _stop(page, start)
    if tool is None:
        return None
    if stop is None:
        return Claim(start, len(page.text), [Shape(name, None, "explicit")], "tag_lines", unfinished=True)
    found = _LINES.match(page.text, start)
    said = page.text[found.end() if found else start : stop].strip()
    try:
        given = plain_input(page, name, said)
    except Unreadable:
        return None
    named = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    keys = [line.split(":")[0].split("=")[0].strip(" -*\t\"'") for line in said.split("\n")]
    return (
        Claim(start, stop, [Shape(name, named, "explicit")], "tag_lines")
        if named and set(keys) == named.keys()
        else None
    )


def _understood(claim: Claim, name: str | None, value: Any, page: Page, *, keyed: bool) -> Claim:
    """``claim`` with the calls that ``value`` is, or with why it is none."""
    known: Known | None = None
    if keyed or page.offer.tools is not None:
        known = lambda said: page.offer.resolve(said) is not None  # noqa: E731
    shapes = call_shapes(value, known) or []
    if name and not (shapes and all(page.offer.resolve(shape.name) for shape in shapes)):
        shapes = [Shape(name, value, "explicit")]
    sure: Strength = "named" if page.offer.tools is not None else "explicit"  # what stands in markup is not data
    claim.shapes = [one._replace(strength=sure) if one.strength in ("bare", "loose") else one for one in shapes]
    if not shapes:
        claim.answer = final_answer(value)
        claim.fault = None if claim.answer is not None or value == [] else "it names no tool"
    return claim


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at

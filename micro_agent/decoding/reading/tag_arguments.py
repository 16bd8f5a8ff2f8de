"""The arguments of a call in tags: parameters, elements, pairs of keys and values, or one JSON object.

    <parameter=city>Rome</parameter>   <param name="city">Rome</param>   <arg name="city">Rome</arg>
    <city>Rome</city>   <arg_key>city</arg_key><arg_value>Rome</arg_value>   <arguments>{"city": "Rome"}</arguments>

A value may hold text that looks like markup. So a closing tag counts only where the markup goes on behind it, and an
opening one inside a value only where it begins a line and names an argument. Closing tags may be missing, but a value
that nothing closes is not complete.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.rows import CALLS, CLOSES, NAMES, PAIRS, PARTS, WRAPPERS
from micro_agent.decoding.scan.values import Unfinished, value_at
from micro_agent.decoding.shapes import Shape

_PART_KEY = re.compile(r"""(?:\s?[=:]\s?|\s{1,9}(?:(?:name|key|id)\s?=\s?)?)["'“]?(?P<key>[^\s"'“”<>=/:]{1,128})""")
_AROUND_KEY = " \t\r\n\"'“”"
_CDATA = re.compile(r"\A\s*+<!\[CDATA\[(.*)\]\]>\s*+\Z", re.DOTALL)
_ATTRIBUTE = re.compile(r"""(?P<key>[\w-]{1,64})\s?=\s?(?P<quote>["'“])(?P<value>(?:(?!(?P=quote))[^”])*)["'”]""")
_DELIMITER = '<|"|>'
"""Gemma's around a text, which it writes in tags as well."""
_MAX_KEY = 200
_MAX_PARTS = 200
_MAX_REPEATED = 3
"""So often a tag of a key may be repeated."""


@dataclass(slots=True)
class Head:
    """The opening of one call: the name, where it begins, where its inside does, and what its attributes say."""

    name: str
    start: int
    end: int
    sure: bool
    closed: bool = False
    said: dict[str, str] = field(default_factory=dict[str, str])
    dialect: str = "xml_elements"
    tag: str = ""
    """The tag that opens it, where it is not one of those around calls."""

    def claim(self, args: Any, end: int, *, unfinished: bool = False) -> Claim:
        """The call with these arguments."""
        return Claim(self.start, end, [Shape(self.name, args, "explicit")], self.dialect, unfinished=unfinished)


def attributes(rest: str) -> dict[str, str]:
    """What a tag says of itself: ``name="city"``."""
    return {one["key"]: one["value"] for one in _ATTRIBUTE.finditer(rest)}


def without_cdata(said: str) -> str:
    """A value without XML's marks of character data around it."""
    return _CDATA.sub(r"\1", said) if "<!" in said else said


def lost_key(page: Page, at: int) -> str | None:
    """The key at ``at`` that lacks its opening tag, ``city</arg_key>``."""
    close = page.next_mark(at)
    if close is None or not close.closing or close.name != "arg_key" or close.start - at > _MAX_KEY:
        return None
    key = page.text[at : close.start].strip(_AROUND_KEY)
    return key if key and not any(sign.isspace() for sign in key) else None


def tagged_arguments(text: str, name: str, offer: Offer) -> dict[str, Any] | None:
    """The arguments of a call of ``name`` that ``text`` is in tags, with nothing around them."""
    page = Page(text, cut_off=False, offer=offer)
    claim = Arguments(page, Head(name, 0, 0, sure=True)).read() if text.lstrip().startswith("<") else None
    if claim is None or claim.unfinished or text[claim.end :].strip():
        return None
    return claim.shapes[0].args


class Arguments:
    """What stands behind the opening of one call."""

    def __init__(self, page: Page, head: Head) -> None:
        self.page, self.head = page, head
        self.tool = page.offer.resolve(head.name) or head.name
        self.keys = {key.casefold(): key for key in page.offer.properties(self.tool)}
        self.names = {self.tool.casefold(), head.name.casefold(), head.tag.casefold()}
        self.known = page.offer.tool(self.tool) is not None

    def read(self) -> Claim | None:
        """The call; ``None`` when what follows has nothing of one."""
        page, text = self.page, self.page.text
        args: dict[str, Any] = {}
        at = self.head.end
        for _ in range(_MAX_PARTS):
            at = skip_blanks(text, at)
            mark = page.mark_at(at)
            if mark is None and not args and text[at : at + 1] in ("{", '"'):
                return self._json(at)
            if mark is not None and self._stands_around(mark):
                at = mark.end
                continue
            if mark is not None and mark.empty and {"name", "value"} <= (given := attributes(mark.rest)).keys():
                key, at = given["name"], mark.end
                if args.setdefault(key, value := self._typed(key, given["value"])) != value:
                    break
                continue
            part = self._lost(at) if mark is None else self._part(mark)
            if part is None:
                return self._closed(args, at)
            key, start, opened = part
            pairs, tagged = opened.name == "arg_value", opened.name in PARTS
            self.head.dialect = "argument_pairs" if pairs else "xml_parameters" if tagged else self.head.dialect
            found = self._value(start, opened, key)
            if found is None or args.setdefault(key, found[0]) != found[0]:
                break
            at = found[1]
        return self.head.claim(args, len(text), unfinished=True)

    def _stands_around(self, mark: Mark) -> bool:
        """Whether a mark only stands around arguments, or where a key should open: ``<tool_call>city</arg_key>``."""
        if mark.name in CALLS or (mark.name == "arg_value" and not mark.closing):
            return (lost_key(self.page, mark.end) or "").casefold() in self.keys
        around = mark.name in (WRAPPERS | PAIRS | NAMES if mark.closing else WRAPPERS)
        own = mark.said.casefold() in self.keys
        return (around and not own) or (mark.name == "tool_sep" and not mark.token)

    def _part(self, mark: Mark) -> tuple[str, int, Mark] | None:
        """The key of the argument that opens at ``mark``, where its value begins, and the tag that has to close."""
        own = mark.said.casefold()
        if mark.closing:
            return None
        if mark.name == "arg_key":
            return self._pair(mark.end)
        if mark.name in PARTS and (mark.rest.strip() or own not in self.keys):
            key = _PART_KEY.match(mark.rest)
            return (key["key"], mark.end, mark) if key else None
        other = own not in self.keys if self.known else mark.name in CALLS
        if mark.token or other or _ATTRIBUTE.sub("", mark.rest).strip():
            return None
        return self.keys.get(own, mark.said), mark.end, mark

    def _lost(self, at: int) -> tuple[str, int, Mark] | None:
        """The same for a key at ``at`` without its opening tag."""
        key = lost_key(self.page, at)
        return None if key is None or (self.known and key.casefold() not in self.keys) else self._pair(at)

    def _pair(self, at: int) -> tuple[str, int, Mark] | None:
        """The same for ``city</arg_key><arg_value>``, with tags too many or too few."""
        page, text = self.page, self.page.text
        mark, last = page.next_mark(at), None
        for _ in range(_MAX_REPEATED):
            if mark is None or mark.closing or mark.name != "arg_key" or skip_blanks(text, at) != mark.start:
                break
            at, mark = mark.end, page.next_mark(mark.end)
        key = text[at : mark.start].strip(_AROUND_KEY) if mark is not None and mark.start - at <= _MAX_KEY else ""
        while mark is not None and mark.name in PAIRS:
            is_type = mark.name == "arg_type"
            if not is_type and mark.closing is not (mark.name == "arg_key"):
                break
            last = (page.next_mark(mark.end) if is_type and not mark.closing else None) or mark
            mark = page.mark_at(skip_blanks(text, last.end))
        if last is None or not key or "\n" in key:
            return None
        torn = last.name != "arg_value" and text.startswith("<", skip_blanks(text, last.end))  # a tag that is none
        return None if torn else (key, last.end, Mark("arg_value", last.start, last.end))

    def _value(self, start: int, opened: Mark, key: str) -> tuple[Any, int] | None:
        """The value of an argument and where the text goes on behind it; ``None`` when nothing ends it."""
        ends = self._ends(start, opened, key)
        if ends is None:
            return None
        said, own = self.page.text[start : ends[0]], self.page.mark_at(ends[0])
        said = said.strip().removeprefix(_DELIMITER).removesuffix(_DELIMITER) if _DELIMITER in said else said
        if own is None or not self._is_end(own, opened, key):  # it may have been cut off
            said = said.strip()
            if not said:
                return None
        apart = opened.name in PARTS or self.page.text[max(0, opened.start - 1)] == " "
        if apart and said[-1:] == " " and "\n" not in said:
            said = said.removeprefix(" ")[:-1]  # as between all tags
        return self._typed(key, said, as_text='string="true"' in opened.rest), ends[1]

    def _typed(self, key: str, said: str, *, as_text: bool = False) -> Any:
        types = frozenset({"string"}) if as_text else self.page.offer.types(self.tool, key)
        return typed(without_cdata(said), types, self.page.offer.allowance)

    def _ends(self, start: int, opened: Mark, key: str) -> tuple[int, int] | None:
        """Where a value ends and where the text goes on behind it; ``None`` when nothing ends it."""
        page, text = self.page, self.page.text
        inside = depth = 0
        cut: Mark | None = None  # where the next argument or call opens
        ended: Mark | None = None  # where the call closes
        run: list[Mark] = []  # closing tags of the value, one right behind the other
        for mark in page.marks[page.after(start) :]:
            closes = mark.closing and self._is_end(mark, opened, key)
            if run and not (closes and not text[run[-1].end : mark.start].strip()):
                if self._goes_on(run[-1].end, opened):
                    break
                inside, run = inside - len(run), []
            if closes:
                run.append(mark)
                continue
            inside += not mark.closing and mark.name == opened.name and not mark.empty
            if cut is None and mark.start > start and self._is_next(mark, start):
                cut = mark
            if self._is_call(mark):
                if ended is not None and not mark.closing:
                    break  # what closes behind this is another call's
                depth += -1 if mark.closing else 1
                ended = mark if ended is None and depth < 0 else ended
        whole = bool(run) and self._goes_on(run[-1].end, opened)
        if cut is not None and (ended is None or ended.start > cut.start):
            return cut.start, cut.start
        if not whole:
            return None if ended is None else (ended.start, ended.start)
        if inside > 0 and len(run) == 1 and not text[run[-1].end :].strip():
            return None
        return run[min(max(inside, 0), len(run) - 1)].start, run[-1].end

    def _is_end(self, mark: Mark, opened: Mark, key: str) -> bool:
        if opened.name not in PARTS:
            return mark.name == opened.name or (opened.name == "arg_value" and mark.name == "arg_key")
        return mark.name in PARTS or (mark.said == key and mark.name not in CALLS)

    def _is_next(self, mark: Mark, start: int) -> bool:
        """Whether another argument of the tool opens here at the beginning of a line, or another call."""
        if mark.closing:
            return False
        if mark.name == "arg_key":
            return self._pair(mark.end) is not None
        if mark.name in CALLS:
            key = self.page.next_mark(mark.end)
            if key is None or key.name != "arg_key" or key.closing or key.start - mark.end > _MAX_KEY:
                return False
            return len(self.page.text[mark.end : key.start].split()) == 1
        part = self._part(mark) if mark.name in PARTS else None
        if part is None or (self.known and part[0] not in self.keys.values()):
            return False
        line = max(self.page.text.rfind("\n", 0, mark.start) + 1, start)
        return not self.page.text[line : mark.start].strip()

    def _is_call(self, mark: Mark) -> bool:
        return mark.name in CALLS or mark.said.casefold() in self.names

    def _goes_on(self, at: int, opened: Mark) -> bool:
        """Whether markup of the call goes on behind a value, or the text ends."""
        at = skip_blanks(self.page.text, at)
        mark = self.page.mark_at(at)
        if mark is None:
            return at == len(self.page.text) or lost_key(self.page, at) is not None
        if mark.token or mark.name in PAIRS | WRAPPERS or self._is_call(mark):
            return True
        return opened.name == "arg_value" if mark.closing else mark.name in PARTS or mark.said.casefold() in self.keys

    def _json(self, start: int) -> Claim:
        """The arguments as one JSON object between the tags."""
        page = self.page
        stop = next((mark.start for mark in page.marks[page.after(start) :] if mark.closing), None)
        claim = self.head.claim(None, len(page.text) if stop is None else stop)
        try:
            value, end, claim.repairs = value_at(page, start, stop)
            claim.shapes, claim.end = [Shape(self.head.name, value, "explicit")], self._after(end)
        except Unfinished:
            claim.unfinished, claim.end = True, len(page.text)
        except Unreadable as why:
            claim.fault = str(why)
        return claim

    def _closed(self, args: dict[str, Any], at: int) -> Claim | None:
        end = self._after(at)
        if not args and end == at:
            return None
        text, rest = self.page.text, skip_blanks(self.page.text, end)
        mark = self.page.mark_at(rest)
        half = text.startswith("<", rest) and (mark is None or mark.name in PARTS | PAIRS)
        torn = self.page.cut_off or half or (at == len(text) and not text.endswith((">", "＞")))
        return self.head.claim(args, end, unfinished=end == at and torn)

    def _after(self, at: int) -> int:
        """Where the closing tags at ``at`` end."""
        while (mark := self.page.mark_at(skip_blanks(self.page.text, at))) is not None:
            own = mark.name in WRAPPERS or self._is_call(mark)
            if not (mark.closing and own) and mark.name not in CLOSES:
                break
            at = mark.end
        return at

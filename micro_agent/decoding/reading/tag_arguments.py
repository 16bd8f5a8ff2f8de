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
from micro_agent.decoding.rows import CALLS, CLOSES, NAMES, OPENS, PAIRS, PARTS, WRAPPERS
from micro_agent.decoding.scan.values import Unfinished, value_at
from micro_agent.decoding.shapes import Shape

_PART_KEY = re.compile(r"""(?:\s?[=:]\s?|\s{1,9}(?:(?:name|key|id)\s?=\s?)?)["']?(?P<key>[^\s"'<>=/:]{1,128})["']?""")
_KEY_TEXT = re.compile(r"\s*+[\"']?(?P<key>[\w.-]{1,128}?)[\"']?\s*+")
_TORN = re.compile(r"\s*+<(?:[^<>]{0,300}\Z|\|open\|>|arg_|(?:parameter|param|arg|argument)\b)")
_WORD = re.compile(r"[A-Za-z_][\w.:-]{0,127}+\s{0,9}")
_MAX_KEY = 200
_MAX_PARTS = 200


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

    def claim(self, args: Any, end: int, *, unfinished: bool = False) -> Claim:
        """The call with these arguments."""
        return Claim(self.start, end, [Shape(self.name, args, "explicit")], self.dialect, unfinished=unfinished)


def lost_key(page: Page, at: int) -> tuple[str, Mark] | None:
    """The key at ``at`` that lacks its opening tag, and the tag that closes it."""
    close = page.next_mark(at)
    if close is None or not close.closing or close.name != "arg_key" or close.start - at > _MAX_KEY:
        return None
    key = _KEY_TEXT.fullmatch(page.text, at, close.start)
    return (key["key"], close) if key else None


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
        own = mark.said.casefold() in self.keys
        if mark.closing:
            return mark.name in WRAPPERS | PAIRS | NAMES and not own
        if mark.name in CALLS | {"arg_value"}:
            lost = lost_key(self.page, mark.end)
            return lost is not None and lost[0].casefold() in self.keys
        return mark.plain and mark.name in WRAPPERS and not own

    def _lost(self, at: int) -> tuple[str, int, Mark] | None:
        """The key at ``at`` without its opening tag, as `_part` has one."""
        lost = lost_key(self.page, at)
        if lost is None or (self.known and lost[0].casefold() not in self.keys):
            return None
        value = self.page.mark_at(skip_blanks(self.page.text, lost[1].end))
        opened = value if value is not None and value.name == "arg_value" and not value.closing else lost[1]
        return lost[0], opened.end, Mark("arg_value", at, opened.end)

    def _part(self, mark: Mark) -> tuple[str, int, Mark] | None:
        """The key of the argument that opens at ``mark``, where its value begins, and the tag that has to close."""
        own = mark.said.casefold()
        if mark.closing:
            return None
        if mark.name == "arg_key":
            return self._pair(mark)
        if mark.name in PARTS and (mark.rest.strip() or own not in self.keys):
            key = _PART_KEY.match(mark.rest)
            return (key["key"], mark.end, mark) if key else None
        other = own not in self.keys if self.known else mark.name in CALLS or mark.name in OPENS
        return None if mark.rest.strip() or mark.token or other else (self.keys.get(own, mark.said), mark.end, mark)

    def _pair(self, mark: Mark) -> tuple[str, int, Mark] | None:
        """The same for ``<arg_key>city</arg_key><arg_value>``, with tags too many or too few."""
        page, text, at = self.page, self.page.text, mark.end
        while (
            (again := page.mark_at(skip_blanks(text, at))) is not None and again.name == "arg_key" and not again.closing
        ):
            at = again.end
        following = page.next_mark(at)
        if following is None or following.name not in PAIRS or following.closing is not (following.name == "arg_key"):
            return None
        key = text[at : following.start].strip().strip("\"'")
        start = following.end
        while (value := page.mark_at(skip_blanks(text, start))) is not None and (
            value.name == "arg_type"
            or (value.name == "arg_value" and not value.closing)
            or (value.name == "arg_key" and value.closing)
        ):
            close = page.next_mark(value.end) if value.name == "arg_type" and not value.closing else None
            start = close.end if close else value.end
        opened = page.text[start - 1 : start] == ">" and start > following.end
        torn = not opened and text.startswith("<", skip_blanks(text, start))  # a tag that is none
        return (key, start, Mark("arg_value", following.start, start)) if key and "\n" not in key and not torn else None

    def _value(self, start: int, opened: Mark, key: str) -> tuple[Any, int] | None:
        """The value of an argument and where the text goes on behind it; ``None`` when nothing ends it."""
        ends = self._ends(start, opened, key)
        if ends is None:
            return None
        said, own = self.page.text[start : ends[0]], self.page.mark_at(ends[0])
        if own is None or not self._is_end(own, opened, key):  # it may have been cut off
            if not said.strip():
                return None
            said = said if "\n" in said.strip() else said.strip()
        return typed(said, self._types(opened, key), self.page.offer.allowance), ends[1]

    def _types(self, opened: Mark, key: str) -> frozenset[str]:
        if 'string="true"' in opened.rest or 'type="string"' in opened.rest:
            return frozenset({"string"})
        return frozenset() if 'string="false"' in opened.rest else self.page.offer.types(self.tool, key)

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
            if mark.name in CALLS or mark.names(self.head.name):
                depth += -1 if mark.closing else 1
                ended = mark if ended is None and depth < 0 else ended
        whole = bool(run) and self._goes_on(run[-1].end, opened)
        if cut is not None and (ended is None or ended.start > cut.start):
            return self._line_before(start, cut.start), cut.start
        if not whole or (ended is not None and self._opens_between(ended, run[0])):
            return None if ended is None else (ended.start, ended.start)
        if inside > 0 and len(run) == 1 and not text[run[-1].end :].strip():
            return None
        return run[min(max(inside, 0), len(run) - 1)].start, run[-1].end

    def _line_before(self, start: int, cut: int) -> int:
        """Where a value ends that the next argument ends: before the line break in front of that."""
        line = self.page.text.rfind("\n", start, cut)
        return line if line >= 0 and not self.page.text[line:cut].strip() else cut

    def _is_end(self, mark: Mark, opened: Mark, key: str) -> bool:
        if opened.name not in PARTS:
            return mark.name == opened.name
        return mark.name in PARTS or (mark.said == key and mark.name not in CALLS)

    def _is_next(self, mark: Mark, start: int) -> bool:
        """Whether another argument of the tool opens here at the beginning of a line, or another call."""
        if mark.closing:
            return False
        if mark.name == "arg_key":
            return self._pair(mark) is not None
        if mark.name in CALLS:
            word = _WORD.match(self.page.text, mark.end)
            following = self.page.mark_at(word.end()) if word else None
            return following is not None and not following.closing and following.name == "arg_key"
        part = self._part(mark) if mark.name in PARTS else None
        if part is None or (self.known and part[0] not in self.keys.values()):
            return False
        line = max(self.page.text.rfind("\n", 0, mark.start) + 1, start)
        return not self.page.text[line : mark.start].strip()

    def _opens_between(self, ended: Mark, closing: Mark) -> bool:
        marks = self.page.marks[self.page.after(ended.end) : self.page.after(closing.start)]
        return any(not one.closing and (one.name in CALLS or one.names(self.head.name)) for one in marks)

    def _goes_on(self, at: int, opened: Mark) -> bool:
        """Whether markup of the call goes on behind a value, or the text ends."""
        at = skip_blanks(self.page.text, at)
        mark = self.page.mark_at(at)
        if mark is None:
            return at == len(self.page.text) or lost_key(self.page, at) is not None
        own = mark.name in WRAPPERS or mark.names(self.tool)
        if mark.token or mark.name in CALLS or mark.name in PAIRS or own:
            return True
        if mark.closing:
            return opened.name == "arg_value" or mark.names(self.head.name)
        return mark.name in PARTS or mark.said.casefold() in self.keys

    def _json(self, start: int) -> Claim:
        """The arguments as one JSON object between the tags."""
        page = self.page
        stop = next((mark.start for mark in page.marks[page.after(start) :] if mark.closing), None)
        try:
            value, end, repairs = value_at(page, start, stop)
        except Unfinished:
            return self.head.claim(None, len(page.text), unfinished=True)
        except Unreadable as why:
            claim = self.head.claim(None, len(page.text) if stop is None else stop)
            claim.fault = str(why)
            return claim
        claim = self.head.claim(value, self._after(end))
        claim.repairs = repairs
        return claim

    def _closed(self, args: dict[str, Any], at: int) -> Claim | None:
        end = self._after(at)
        if not args and end == at:
            return None
        half = at == len(self.page.text) and not self.page.text.endswith((">", "＞"))  # of a closing tag
        torn = self.page.cut_off or half or _TORN.match(self.page.text, end) is not None
        return self.head.claim(args, end, unfinished=end == at and torn)

    def _after(self, at: int) -> int:
        """Where the closing tags at ``at`` end."""
        while (mark := self.page.mark_at(skip_blanks(self.page.text, at))) is not None:
            own = mark.name in CALLS | WRAPPERS or mark.names(self.head.name) or mark.names(self.tool)
            if not (mark.closing and own) and mark.name not in CLOSES:
                break
            at = mark.end
        return at

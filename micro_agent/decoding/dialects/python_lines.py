"""Calls in Python's syntax without markup: the whole text, or lines and fences of their own.

    [get_weather(city="Rome"), now()]

Anywhere else, as in "I used add(2, 3)", or in a program, such a call is prose.
"""

import re
from collections.abc import Sequence
from itertools import islice

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup import decided
from micro_agent.decoding.positional import python_shapes, tool_of
from micro_agent.decoding.python_calls import START, extent
from micro_agent.decoding.repair import Unreadable
from micro_agent.decoding.settle import error
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_LABEL = r"(?:(?i:action|(?:tool|function)?[ ]?call)[ ]?:[ \t]*)?(?:await[ ])?"
_LINE = re.compile(rf"^[ \t]*{_LABEL}`{{0,2}}(?P<call>{START})", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*[;,]?[ \t]*`{0,3}[ \t]*(?:#[^\n]*)?(?=\n|\Z)")
_GAP = re.compile(r"(?:[\s,;]|```\w*)*+")
_AROUND = re.compile(r"(?:[\s;`]|```\w*\n)*+")
_BOILERPLATE = re.compile(r"(?:\s|;|#[^\n]*|print\(\w+\)|(?:from[ ][\w.]+[ ])?import[ ][\w., ]+)*+")
_MAX_LINES = 40

_Span = tuple[int, int]


def read(source: Source) -> Decision | None:
    """The calls that fill lines, when there are such in one place only."""
    text = source.text
    if "(" not in text:
        return None
    spans, torn = _lines(source)
    found: dict[str, tuple[_Span, list[Shape]]] = {}
    for group in _grouped(spans, text):
        span = group[0][0], group[-1][1]
        try:
            shapes = [shape for start, stop in group for shape in python_shapes(text[start:stop], source)]
        except Unreadable as why:
            if text[span[0]] == "[":
                return decided([], source, dialect="pythonic", span=span, fault=str(why))
            continue
        if _counts(shapes, span, source):
            found[str(shapes)] = span, shapes
    if len(found) > 1:
        return error("ambiguous", f"{len(found)} different calls in Python with other text between.", source.offer)
    for span, shapes in found.values():
        torn = torn or (source.cut_off and bool(text[span[1] :].strip("` \n")))
        return decided(shapes, source, dialect="pythonic", span=span, unfinished=torn)
    if torn and text[0] == "[" and _LINE.match(text):
        return decided([], source, dialect="pythonic", span=(0, len(text)), unfinished=True)
    return None


def _lines(source: Source) -> tuple[list[_Span], bool]:
    """Where a call begins a line and another line's end follows it, and whether one of them has no end."""
    text, end = source.text, 0
    spans: list[_Span] = []
    for line in islice(_LINE.finditer(text), _MAX_LINES):
        start = line.start("call")
        if start < end or not _may_count(line["name"], source, start):
            continue
        stop = extent(text, start)
        if stop is None:
            return spans, True
        end = stop
        if _LINE_END.match(text, stop):
            spans.append((start, stop))
    return spans, False


def _may_count(name: str, source: Source, start: int) -> bool:
    """Whether the name is a tool's; at the beginning of the text it may also be one that there is not."""
    return source.offer.tools is None or tool_of(name, source) is not None or not source.text[:start].strip("` \n")


def _grouped(spans: Sequence[_Span], text: str) -> list[list[_Span]]:
    """The spans with nothing but blanks and separators between them, together."""
    groups: list[list[_Span]] = []
    for span in spans:
        if groups and _GAP.fullmatch(text, groups[-1][-1][1], span[0]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _counts(shapes: Sequence[Shape], span: _Span, source: Source) -> bool:
    """Whether calls without markup are meant: all are of tools, or they are a list and the whole text."""
    if source.offer.tools is not None and all(source.offer.resolve(shape.name) for shape in shapes):
        return _alone_in_fence(source.text, span)
    whole = _AROUND.fullmatch(source.text, 0, span[0]) and _AROUND.fullmatch(source.text, span[1])
    return bool(whole and (source.offer.tools is None or source.text[span[0]] == "[") and any(s.args for s in shapes))


def _alone_in_fence(text: str, span: _Span) -> bool:
    """Whether the code fence around the calls, if there is one, holds nothing else, such as a program for the user."""
    opening = text.rfind("```", 0, span[0])
    if opening < 0 or text.count("```", 0, span[0]) % 2 == 0:
        return True
    start = text.find("\n", opening, span[0])
    stop = text.find("```", span[1])
    before, after = text[max(start, opening + 3) : span[0]], text[span[1] : stop if stop >= 0 else len(text)]
    return bool(_BOILERPLATE.fullmatch(before) and _BOILERPLATE.fullmatch(after))

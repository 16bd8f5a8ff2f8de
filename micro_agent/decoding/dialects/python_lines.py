"""Calls in Python's syntax without markup: the whole text, or lines and fences of their own.

    [get_weather(city="Rome"), now()]

Anywhere else, as in "I used add(2, 3)", or in a program, such a call is prose.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import cast

from micro_agent.decoding.decision import Decision, Repair, ToolCalls
from micro_agent.decoding.dialects import programs
from micro_agent.decoding.markup.shared import decided, different
from micro_agent.decoding.prose.stated_order import in_stated_order
from micro_agent.decoding.pythonic.calls import START, extent, missing
from micro_agent.decoding.pythonic.positional import extent_of, is_told, python_shapes_at, tool_of
from micro_agent.decoding.repair.mending import Unreadable, repair
from micro_agent.decoding.settle import error
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_KEYWORD = r"[A-Za-z_][\w.]{0,127}\(\s{0,9}[A-Za-z_]\w{0,64}[ ]?="
_WILL = r"(?i:(?:sure|ok|okay|first|now|next)?[,.!]?[ ]?(?:I(?:['’]ll|[ ]will|[ ]need|[ ]am)|let[ ]me|let['’]s)[ ])"
# Behind words of its own a list is a call, and so is one that the model says that it will make; else it explains.
_ANNOUNCED = rf"[^\n(\[]{{0,300}}:[ \t]+(?=\[{_KEYWORD})|{_WILL}[^\n(\[]{{0,200}}:[ \t]+(?={_KEYWORD})"
_SPOKEN = (
    r"(?i:(?:action|tool|function|(?:(?:tool|function)[ _]?)?call)(?:[ ]\d{1,2})?[ ]?:[ \t]*"
    r"|(?:call|invok|execut|runn|us)ing[ ](?:the[ ])?(?:(?:tool|function)[ ]?:?[ ])?)"
)
_SIGN = r"(?:(?:[-=]>|(?![✅✔☑❌✓✗])[^\w\s()\[\]{}<>\"'`#*+.,:;=/\\-]{1,3})[ \t]{0,3})?"
_LABEL = rf"{_SIGN}(?:{_ANNOUNCED}|{_SPOKEN})?(?:await[ ])?"
_LINE = re.compile(rf"^[ \t]*+(?=[^\n(\[:=]*+[(\[:=]){_LABEL}`{{0,2}}(?P<call>{START})", re.MULTILINE)
_CALL = re.compile(START)
_VALUE = re.compile(r"""=|[(,:]\s*+["'\[{\d]""")
_LINE_END = re.compile(
    r"[ \t]*+(?>(?:[;,]|\.{3}|…)?)(?>(?:<(?:bot_end|\|\w{1,30}\|)>)?)[ \t]*+`{0,3}+[ \t]*+(?>(?:#[^\n]*+)?)(?=\n|\Z)"
)
_GAP = re.compile(r"(?>(?:[\s,;]|```\w*)*)")
_AROUND = re.compile(r"(?>(?:[\s;`]|```\w*\n)*)")
_BOILERPLATE = re.compile(r"(?>(?:\s|;|#[^\n]*|print\(\w+\)|(?:from[ ][\w.]+[ ])?import[ ][\w., ]+)*)")
_BLOCK = re.compile(
    r"[ \t]*+(?:(?:if|elif|while|except|with|(?:async[ ])?def)\b|else|try|for[ ]\w+[ ]in\b)[^\n]{0,200}:[ \t]*\Z"
)
_MAX_LINES = 40

_Span = tuple[int, int]
_Found = dict[str, tuple[_Span, list[Shape], list[Repair]]]


def read(source: Source) -> Decision | None:
    """The calls that fill lines, when there are such in one place only."""
    text = source.text
    if "(" not in text:
        return None
    spans, torn = _lines(source)
    found: _Found = {}
    unread = False
    for group in _grouped(spans, text):
        span = group[0][0], group[-1][1]
        try:
            read_each = [python_shapes_at(source, *each) for each in group]
        except Unreadable as why:
            if text[span[0]] == "[" or (_is_whole(text, span) and _begins(text, span[0], source)):
                return decided([], source, dialect="pythonic", span=span, fault=str(why))
            unread = True
            continue
        shapes, repeated = different([each for each, _ in read_each], source)
        if _counts(shapes, span, source):
            found[str(shapes)] = span, shapes, [*repeated, *(one for _, each in read_each for one in each)]
    if found and unread and "```" not in text and (program := programs.read(source)) is not None:
        return program
    if len(found) > 1 and (both := _ordered(found, text)) is not None:
        found = both
    if len(found) > 1:
        return error("ambiguous", f"{len(found)} different calls in Python with other text between.", source.offer)
    for span, shapes, repairs in found.values():
        torn = torn or (source.cut_off and bool(text[span[1] :].strip("` \n")))
        return decided(shapes, source, dialect="pythonic", span=span, repairs=repairs, unfinished=torn)
    first = cast("re.Match[str]", _AROUND.match(text)).end()
    opening = _LINE.match(text, first) if torn else None
    if opening and (text[first] == "[" or _begins(text, opening.start("call"), source)):
        return _torn(source, opening.start("call"))
    return None


def _ordered(found: _Found, text: str) -> _Found | None:
    """All of the calls as one, where the text says which comes first and which then."""
    spans = [span for span, _, _ in found.values()]
    between = [text[one[1] : other[0]] for one, other in pairwise(spans)]
    if not in_stated_order(text[: spans[0][0]], between):
        return None
    shapes = [shape for _, each, _ in found.values() for shape in each]
    return {"": ((spans[0][0], spans[-1][1]), shapes, [one for _, _, each in found.values() for one in each])}


def _begins(text: str, start: int, source: Source) -> bool:
    """Whether the call of a tool at ``start`` has a value in it, and not the names of arguments alone."""
    call = _CALL.match(text, start)
    return call is not None and _is_tool(call["name"], source) and _VALUE.search(text, call.end() - 1) is not None


def _is_tool(name: str, source: Source) -> bool:
    return source.offer.tools is not None and (tool_of(name, source) is not None or is_told(name))


def _torn(source: Source, start: int) -> Decision | None:
    """A call or a list of calls that is the whole text and has no end: closed where only brackets are missing."""
    text = source.text.rstrip("` \n")
    closers = None if source.cut_off or source.offer.tools is None else missing(text)
    if not closers or extent(text + closers, start) is None:  # there is more than is looked at
        return decided([], source, dialect="pythonic", span=(0, len(source.text)), unfinished=True)
    found = read(replace(source, text=text + closers))
    if not isinstance(found, ToolCalls):
        return found
    return replace(found, repairs=[*found.repairs, repair("closing_brackets", text, text + closers)])


def _lines(source: Source) -> tuple[list[_Span], bool]:
    """Where a call begins a line and another line's end follows it, and whether one of them has no end."""
    text, end = source.text, 0
    spans: list[_Span] = []
    for line in islice(_LINE.finditer(text), _MAX_LINES):
        start = line.start("call")
        if start < end or not _may_count(line["name"], source, start):
            continue
        stop = extent_of(text, start)
        if stop is None:
            return spans, True
        end = stop
        if _LINE_END.match(text, stop):
            spans.append((start, stop))
    return spans, False


def _may_count(name: str, source: Source, start: int) -> bool:
    """Whether the name is a tool's; at the beginning of the text it may also be one that there is not."""
    return source.offer.tools is None or _is_tool(name, source) or not source.text[:start].strip("` \n")


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
        return _alone_in_fence(source.text, span) and not _is_in_block(source.text, span[0])
    return bool(
        _is_whole(source.text, span)
        and (source.offer.tools is None or source.text[span[0]] == "[")
        and any(s.args for s in shapes)
    )


def _is_in_block(text: str, start: int) -> bool:
    """Whether the call is in a block of a program, right below ``if …:`` or its like."""
    line = text.rfind("\n", 0, start)
    before = text.rfind("\n", 0, max(line, 0)) + 1
    return line >= 0 and _BLOCK.match(text, before, line) is not None and text[line + 1 : start].isspace()


def _is_whole(text: str, span: _Span) -> bool:
    return bool(_AROUND.fullmatch(text, 0, span[0]) and _AROUND.fullmatch(text, span[1]))


def _alone_in_fence(text: str, span: _Span) -> bool:
    """Whether the code fence around the calls, if there is one, holds nothing else, such as a program for the user."""
    opening = text.rfind("```", 0, span[0])
    if opening < 0 or text.count("```", 0, span[0]) % 2 == 0:
        return True
    start = text.find("\n", opening, span[0])
    stop = text.find("```", span[1])
    before, after = text[max(start, opening + 3) : span[0]], text[span[1] : stop if stop >= 0 else len(text)]
    return bool(_BOILERPLATE.fullmatch(before) and _BOILERPLATE.fullmatch(after))

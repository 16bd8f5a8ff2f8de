"""Name and arguments as XML elements, as Cline, Roo and older Anthropic prompts ask for.

    <tool_use><name>get_weather</name><arguments>{"city": "Rome"}</arguments></tool_use>
    <get_weather><city>Rome</city></get_weather>

The second form counts only for tools that there are, with their own arguments as the elements inside.
"""

import re
from typing import Any

from micro_agent.decoding.arguments import closed_by_markup
from micro_agent.decoding.decision import Decision
from micro_agent.decoding.ends import holds_json_calls
from micro_agent.decoding.markup import decided, marks
from micro_agent.decoding.scanner import piece_at
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source
from micro_agent.decoding.typed import typed

_OUTER = r"(?:tool|tool_use|use_tool|use_mcp_tool|tool_calls?|function|function_calls?|invoke|call|action)"
_NAMED = re.compile(
    rf"(?:<{_OUTER}>\s{{0,20}}){{1,2}}<(?P<tag>name|tool_name|function_name|tool|function)>\s{{0,9}}(?P<name>[\w.:-]{{1,128}})\s{{0,9}}"
    r"</(?P=tag)>"
)
_ARGUMENTS = re.compile(r"\s*+<(?P<tag>arguments|args|parameters|params|input|tool_input|kwargs)>")
_CLOSED = re.compile(rf"(?:\s*+</{_OUTER}>)*+")
_ELEMENT = re.compile(r"\s*+<(?P<key>[A-Za-z_][\w.-]{0,127})>")
_BRACE = re.compile(r"\s*+\{")
_MAX_ELEMENTS = 200

_Arguments = tuple[dict[str, Any] | str, int, bool]
"""The arguments, where they end, and whether they are complete."""


def read(source: Source) -> Decision | None:
    """The calls in ``<tool_use><name>…``, or else those in elements with the name of a tool."""
    shapes: list[Shape] = []
    begin, end, whole = -1, -1, True
    for mark in marks(source, _NAMED):
        if mark.start() < end:
            continue
        begin = mark.start() if begin < 0 else begin
        args, end, closed = _named(mark, source)
        shapes.append(Shape(mark["name"], args, "explicit"))
        whole = whole and closed
    if not shapes:
        return _by_tool(source)
    if holds_json_calls(source.text):
        return None
    return decided(shapes, source, dialect="xml_elements", span=(begin, end), unfinished=not whole)


def _named(mark: re.Match[str], source: Source) -> _Arguments:
    name = source.offer.resolve(mark["name"]) or mark["name"]
    opened = _ARGUMENTS.match(source.text, mark.end())
    args, end, closed = _inside(source, name, opened["tag"], opened.end()) if opened else ({}, mark.end(), True)
    closing = _CLOSED.match(source.text, end)
    stop = closing.end() if closing else end
    return args, stop, closed and (stop > end or not source.cut_off)


def _by_tool(source: Source) -> Decision | None:
    names = [re.escape(name) for name in source.offer.names or () if f"<{name}>" in source.text]
    if not names:
        return None
    shapes: list[Shape] = []
    begin, end = -1, -1
    for mark in marks(source, re.compile(rf"<(?P<name>{'|'.join(names)})>")):
        if mark.start() < end:
            continue
        args, stop, closed = _inside(source, mark["name"], mark["name"], mark.end())
        if not args and source.text.strip() != source.text[mark.start() : stop]:
            continue
        if not closed:
            return decided(shapes, source, dialect="xml_elements", span=(mark.start(), stop), unfinished=True)
        begin, end = mark.start() if begin < 0 else begin, stop
        shapes.append(Shape(mark["name"], args, "explicit"))
    return decided(shapes, source, dialect="xml_elements", span=(begin, end)) if shapes else None


def _inside(source: Source, name: str, tag: str, start: int) -> _Arguments:
    """What stands between ``<tag>``, which ends at ``start``, and its closing tag: JSON, or an element for each key."""
    text, closing = source.text, f"</{tag}>"
    if (brace := _BRACE.match(text, start)) is not None:
        first = brace.end() - 1
        at = first + len(piece_at(text, first).text)
        stop = text.find(closing, first if at == len(text) else at)
        at = stop if stop >= 0 else at
        if stop < 0:
            return text[first:at], at, text[at - 1] == "}"
        return closed_by_markup(text[first:at])[0], at + len(closing), True
    args: dict[str, Any] = {}
    at = start
    for _ in range(_MAX_ELEMENTS):
        if (opened := _ELEMENT.match(text, at)) is None:
            break
        key = opened["key"]
        if not _is_parameter(source, name, key):
            return "", at, False
        stop = text.find(f"</{key}>", opened.end())
        if stop < 0:
            return args, len(text), False
        args[key] = typed(text[opened.end() : stop], source.offer.types(name, key), source.offer.allowance)
        at = stop + len(key) + 3
    else:
        return args, at, False
    stop = text.find(closing, at)
    blank = stop >= 0 and not text[at:stop].strip()
    return (args, stop + len(closing), True) if blank else (args, at, bool(args) and not source.cut_off)


def _is_parameter(source: Source, name: str, key: str) -> bool:
    tool = source.offer.tool(name)
    return tool is None or key in tool.parameters.get("properties", {})

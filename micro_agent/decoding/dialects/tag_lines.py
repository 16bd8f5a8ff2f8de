"""A name and its arguments line by line between tags, as models write that know the tags and no more.

    <tool_call>
    get_weather
    city: Rome
    days: 3
    </tool_call>

A call only of a tool that there is, when all lines are arguments of its own.
"""

import re
from typing import Any, cast

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.plain_input import plain_input
from micro_agent.decoding.markup.shared import decided, marks
from micro_agent.decoding.markup.tag_bodies import OUTER
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_CALL = re.compile(
    rf"<(?P<tag>{OUTER})>\s{{0,9}}(?:(?:tool_?|function_?)?name[ \t]?[:=][ \t]?)?(?P<name>[\w.:-]{{1,128}})[ \t]?\n"
    rf"(?:(?:arguments|args|parameters|params|input)[ \t]?:[ \t]?\n)?(?=[ \t]{{0,8}}\w{{1,64}}(?:[ \t]?[:=]|\Z))"
)


def read(source: Source) -> Decision | None:
    """The calls between the tags."""
    if source.offer.tools is None:
        return None
    shapes: list[Shape] = []
    begin, end = -1, -1
    for mark in marks(source, _CALL):
        closing = f"</{mark['tag']}>"
        stop = source.text.find(closing, mark.end())
        if stop < 0 and source.offer.resolve(mark["name"]):
            return decided((), source, dialect="tag_lines", span=(mark.start(), len(source.text)), unfinished=True)
        args = _arguments(source, mark["name"], source.text[mark.end() : stop]) if stop >= 0 else None
        if args is None:
            return None
        begin, end = mark.start() if begin < 0 else begin, stop + len(closing)
        shapes.append(Shape(mark["name"], args, "explicit"))
    return decided(shapes, source, dialect="tag_lines", span=(begin, end)) if shapes else None


def _arguments(source: Source, name: str, said: str) -> dict[str, Any] | None:
    tool = source.offer.resolve(name)
    try:
        given = plain_input(source, name, said.strip()) if tool else None
    except Unreadable:
        return None
    named = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    keys = [line.split(":")[0].split("=")[0].strip(" -*\t\"'") for line in said.strip().split("\n")]
    return named if named and set(keys) == named.keys() else None

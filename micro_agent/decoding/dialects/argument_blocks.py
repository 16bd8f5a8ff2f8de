"""Blocks of words in capitals, as the prompt of Continue asks for.

```tool
TOOL_NAME: get_weather
BEGIN_ARG: city
Rome
END_ARG
```
"""

import re
from typing import Any

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.shared import decided, marks
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.scan.ends import Ends
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_CALL = re.compile(
    r"^(?P<fence>```\w{0,20}[ \t]*+\n)?\s{0,9}TOOL_NAME:[ \t]*+(?P<name>[\w.:/-]{1,128})[ \t]*+(?=\n|\Z)", re.MULTILINE
)
_ARGUMENT = re.compile(r"\s*+BEGIN_ARG:[ \t]*+(?P<key>[\w.-]{1,128})[ \t]*+\n")
_END = re.compile(r"\n?[ \t]*+END_ARG(?=\s*+(?:BEGIN_ARG:|TOOL_NAME:|```|\Z))|(?<=\n)END_ARG(?=[ \t]*+\n)")
_FENCE = re.compile(r"\s*+```")
_MAX_ARGUMENTS = 200


def read(source: Source) -> Decision | None:
    """The calls in the blocks; one without arguments only in a fence, or when it names a tool."""
    if "TOOL_NAME:" not in source.text:
        return None
    shapes: list[Shape] = []
    ends = Ends(source.text, _END)
    begin, end, whole = -1, 0, True
    for mark in marks(source, _CALL):
        if mark.start() < end or (
            mark["fence"] is None and source.offer.tool(source.offer.resolve(mark["name"])) is None
        ):
            continue
        begin = mark.start() if begin < 0 else begin
        args, end, whole = _arguments(source, mark, ends)
        shapes.append(Shape(mark["name"], args, "explicit"))
        if not whole:
            break
    return (
        decided(shapes, source, dialect="argument_blocks", span=(begin, end), unfinished=not whole) if shapes else None
    )


def _arguments(source: Source, mark: re.Match[str], ends: Ends) -> tuple[dict[str, Any], int, bool]:
    """The arguments, where the call ends, and whether it is complete."""
    text, offer = source.text, source.offer
    name, at = offer.resolve(mark["name"]) or "", mark.end()
    args: dict[str, Any] = {}
    while (opened := _ARGUMENT.match(text, at)) is not None and len(args) < _MAX_ARGUMENTS:
        closing = ends.after(opened.end() - 1)
        if closing is None or opened["key"] in args:
            return args, len(text), False
        value = text[opened.end() : max(opened.end(), closing.start())]
        args[opened["key"]], at = typed(value, offer.types(name, opened["key"]), offer.allowance), closing.end()
    fence = _FENCE.match(text, at)
    goes_on = source.cut_off or text.startswith("BEGIN_ARG", len(text) - len(text[at:].lstrip()))
    return args, fence.end() if fence else at, fence is not None or not goes_on

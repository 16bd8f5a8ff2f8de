"""Blocks of words in capitals, as the prompt of Continue asks for.

```tool
TOOL_NAME: get_weather
BEGIN_ARG: city
Rome
END_ARG
```
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.page import Page
from micro_agent.decoding.shapes import Shape

_CALL = re.compile(
    r"^(?P<fence>```\w{0,20}[ \t]*+\n)?\s{0,9}TOOL_NAME:[ \t]*+(?P<name>[\w.:/-]{1,128})[ \t]*+(?=\n|\Z)", re.MULTILINE
)
_ARGUMENT = re.compile(r"\s*+BEGIN_ARG:[ \t]*+(?P<key>[\w.-]{1,128})[ \t]*+\n")
_END = re.compile(r"\n?[ \t]*+END_ARG(?=\s*+(?:BEGIN_ARG:|TOOL_NAME:|```|\Z))|(?<=\n)END_ARG(?=[ \t]*+\n)")
_FENCE = re.compile(r"\s*+```")
_MAX_ARGUMENTS = 200


def read(page: Page) -> Iterator[Claim]:
    """The calls in the blocks; one without arguments only in a fence, or when it names a tool."""
    if "TOOL_NAME:" not in page.text:
        return
    end = 0
    for mark in page.data.outside(list(islice(_CALL.finditer(page.text), _MAX_ARGUMENTS))):
        known = page.offer.tool(page.offer.resolve(mark["name"])) is not None
        if mark.start() < end or (mark["fence"] is None and not known):
            continue
        args, end, whole = _arguments(page, mark)
        yield Claim(mark.start(), end, [Shape(mark["name"], args, "explicit")], "argument_blocks", unfinished=not whole)


def _arguments(page: Page, mark: re.Match[str]) -> tuple[dict[str, Any], int, bool]:
    """The arguments, where the call ends, and whether it is complete."""
    text, offer = page.text, page.offer
    name, at = offer.resolve(mark["name"]) or "", mark.end()
    args: dict[str, Any] = {}
    while (opened := _ARGUMENT.match(text, at)) is not None and len(args) < _MAX_ARGUMENTS:
        closing = _END.search(text, opened.end() - 1)
        if closing is None or opened["key"] in args:
            return args, len(text), False
        value = text[opened.end() : max(opened.end(), closing.start())]
        args[opened["key"]], at = typed(value, offer.types(name, opened["key"]), offer.allowance), closing.end()
    fence = _FENCE.match(text, at)
    goes_on = page.cut_off or text.startswith("BEGIN_ARG", len(text) - len(text[at:].lstrip()))
    return args, fence.end() if fence else at, fence is not None or not goes_on

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
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.shapes import Shape

_CALL = re.compile(
    r"^(?P<fence>```\w{0,20}[ \t]*+\n)?\s{0,9}TOOL_NAME:[ \t]*+(?P<name>[\w.:/-]{1,128})[ \t]*+(?=\n|\Z)", re.MULTILINE
)
_ARGUMENT = re.compile(
    r"\s*+BEGIN_ARG:[ \t]*+(?P<key>[\w.-]{1,128})[ \t]*+(?=\n)(?P<value>.*?)"
    r"(?:END_ARG(?=\s*+(?:BEGIN_ARG:|TOOL_NAME:|```|\Z))|(?<=\n)END_ARG(?=[ \t]*+\n))",
    re.DOTALL,
)
_MAX_CALLS = 200
_MAX_ARGUMENTS = 200


def read(page: Page) -> Iterator[Claim]:
    """The calls in the blocks; one without arguments only in a fence, or when it names a tool."""
    end = 0
    calls = islice(_CALL.finditer(page.text), _MAX_CALLS) if "TOOL_NAME:" in page.text else ()
    for mark in page.data.outside(list(calls)):
        known = page.offer.tool(page.offer.resolve(mark["name"])) is not None
        if mark.start() >= end and (mark["fence"] or known):
            args, end, whole = _arguments(page, mark)
            shapes = [Shape(mark["name"], args, "explicit")]
            yield Claim(mark.start(), end, shapes, "argument_blocks", unfinished=not whole)


def _arguments(page: Page, mark: re.Match[str]) -> tuple[dict[str, Any], int, bool]:
    """The arguments, where the call ends, and whether it is complete."""
    text, offer = page.text, page.offer
    name, at = offer.resolve(mark["name"]) or "", mark.end()
    args: dict[str, Any] = {}
    while len(args) < _MAX_ARGUMENTS and (found := _ARGUMENT.match(text, at)) and found["key"] not in args:
        args[found["key"]] = typed(found["value"], offer.types(name, found["key"]), offer.allowance)
        at = found.end()
    after = skip_blanks(text, at)
    if text.startswith("```", after):
        return args, after + 3, True
    begun = text.startswith("BEGIN_ARG", after)
    return args, len(text) if begun else at, not (begun or page.cut_off)

"""Arguments as options of a command line in MiniMax' brackets.

[TOOL_CALL]
{tool => "get_weather", args => {
  --city "Rome"
  --days 3
}}
[/TOOL_CALL]
"""

import re
from collections.abc import Iterator
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.plain_input import unquoted
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.shapes import Shape

_MARK = "[tool_call]"
_MAX_OPTIONS = 100
_NO_LIST = "its arguments are not a list of options, each with a value"
_SIGN = r"\s{0,9}(?:=>?|:)\s{0,9}"
_HEAD = re.compile(
    rf"""\s{{0,20}}\{{\s{{0,20}}["']?(?:tool|name|function)["']?{_SIGN}["'“]?(?P<name>[\w.-]{{1,128}})["'”]?\s{{0,9}},?"""
    rf"""\s{{0,20}}["']?(?:args|arguments|parameters|params)["']?{_SIGN}\{{(?=\s{{0,20}}(?:(?:--|[–—])\w|\}}))""",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"[\s,]*+(?:--|[–—])(?P<key>[A-Za-z][\w-]{0,63}+)(?=[\s=:]|\Z)[ \t]*+[=:]?[ \t]*+"
    r'(?:(?P<text>"(?>(?:[^"\\]|\\.|"(?![\s,]*+(?:--[A-Za-z]|\Z)))*)")|“(?P<curly>[^“”]*+)”'
    r'|(?P<line>(?!"|--|[–—“])(?>(?:[^ \t\n]|[ \t]++(?!--[A-Za-z]))*)))?',
    re.DOTALL,
)
"""A quoted text reaches up to a quote before the next option, anything else to the end of its line."""


def read(page: Page) -> Iterator[Claim]:
    """The calls in the brackets whose arguments are options."""
    end = 0
    for mark in page.marks:
        begins = mark.name == _MARK and not mark.closing and mark.start >= end
        head = _HEAD.match(page.text, mark.end) if begins else None
        if head is None:
            continue
        closing = next((one for one in page.marks[page.after(mark.end) :] if one.closing and one.name == _MARK), None)
        stop, end = (closing.start, closing.end) if closing else (len(page.text), len(page.text))
        claim = Claim(mark.start, end, [Shape(head["name"], None, "explicit")], "flags")
        said = page.text[head.end() : stop].rstrip()
        inner = said.removesuffix("}").rstrip()
        if not (said.endswith("}") and inner.endswith("}")) or (page.cut_off and closing is None):
            claim.unfinished = True
        else:
            try:
                claim.shapes = [Shape(head["name"], _options(inner[:-1].strip(), head["name"], page.offer), "explicit")]
            except Unreadable as why:
                claim.fault = str(why)
        yield claim


def _options(said: str, name: str, offer: Offer) -> dict[str, Any]:
    """The arguments.

    Raises:
        Unreadable: It is not a list of options, or one of them is given twice or lacks its value.
    """
    tool = offer.resolve(name) or name
    args: dict[str, Any] = {}
    at = 0
    while at < len(said):
        option = _OPTION.match(said, at)
        if option is None or option["key"] in args or len(args) == _MAX_OPTIONS:
            raise Unreadable(_NO_LIST)
        wanted, at = offer.types(tool, option["key"]), option.end()
        text, line = option["text"], option["line"] or option["curly"]
        if text is None and not line and "boolean" not in wanted:
            raise Unreadable(_NO_LIST)
        args[option["key"]] = typed(line or "true", wanted, offer.allowance) if text is None else unquoted(text)
    return args

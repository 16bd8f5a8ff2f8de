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
from itertools import islice
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.mending import Unreadable, exact
from micro_agent.decoding.shapes import Shape

_SIGN = r"\s{0,9}(?:=>?|:)\s{0,9}"
_BEGIN = re.compile(
    rf"""\[TOOL_CALL\]\s{{0,20}}\{{\s{{0,20}}["']?(?:tool|name|function)["']?{_SIGN}["']?(?P<name>[\w.-]{{1,128}})["']?\s{{0,9}},?"""
    rf"""\s{{0,20}}["']?(?:args|arguments|parameters|params)["']?{_SIGN}\{{(?=\s{{0,20}}(?:--\w|\}}))""",
    re.IGNORECASE,
)
_CLOSING = re.compile(r"\[/TOOL_CALL\]", re.IGNORECASE)
_OPTION = re.compile(r"\s*+--(?P<key>[A-Za-z][\w-]{0,63}+)(?:[ \t]*+[=:]|[ \t]++|(?=\s|\Z))[ \t]*+")
_NEXT = re.compile(r"\s*+,?\s*+(?:--[A-Za-z]|\Z)")
_STOP = re.compile(r"[ \t]++--[A-Za-z]|\n|\Z")
_QUOTE = re.compile(r'"|\\.', re.DOTALL)
_MAX_OPTIONS = 100


def read(page: Page) -> Iterator[Claim]:
    """The calls in the brackets whose arguments are options."""
    if "[tool_call]" not in page.text.lower():
        return
    end = 0
    for mark in page.data.outside(list(islice(_BEGIN.finditer(page.text), _MAX_OPTIONS))):
        if mark.start() < end or page.in_code(mark.start()):
            continue
        closing = _CLOSING.search(page.text, mark.end())
        end = closing.end() if closing else len(page.text)
        claim = Claim(mark.start(), end, [Shape(mark["name"], None, "explicit")], "flags")
        said = _inside(page.text[mark.end() : end])
        if said is None or (page.cut_off and closing is None):
            claim.unfinished = True
        else:
            try:
                claim.shapes = [Shape(mark["name"], _options(said, mark["name"], page.offer), "explicit")]
            except Unreadable as why:
                claim.fault = str(why)
        yield claim


def _inside(text: str) -> str | None:
    """What stands before the brackets at the end of ``text``; ``None`` where these are missing."""
    rest = _CLOSING.sub("", text).rstrip()
    closers = re.search(r"\}\s{0,20}\}\Z", rest)
    return rest[: closers.start()].strip() if closers else None


def _options(said: str, name: str, offer: Offer) -> dict[str, Any]:
    """The arguments.

    Raises:
        Unreadable: It is not a list of options, or one of them is given twice.
    """
    tool = offer.resolve(name) or name
    args: dict[str, Any] = {}
    at = 0
    while at < len(said):
        option = _OPTION.match(said, at)
        if option is None or option["key"] in args or len(args) == _MAX_OPTIONS:
            raise Unreadable("its arguments are not a list of options")
        args[option["key"]], at = _value(said, option.end(), offer.types(tool, option["key"]), offer)
    return args


def _value(said: str, start: int, wanted: frozenset[str], offer: Offer) -> tuple[Any, int]:
    """The value at ``start`` and where it ends: a quoted text up to the next option, or a line."""
    if said.startswith('"', start):
        for quote in _QUOTE.finditer(said, start + 1):
            if quote[0] == '"' and _NEXT.match(said, quote.end()):
                return _unquoted(said[start : quote.end()]), quote.end()
        raise Unreadable("a text in it has no end")
    if said.startswith("--", start) or start == len(said):
        if "boolean" not in wanted:
            raise Unreadable("an option has no value")
        return True, start
    end = _STOP.search(said, start).start()  # pyright: ignore[reportOptionalMemberAccess] it matches the end as well
    return typed(said[start:end].strip(), wanted, offer.allowance), end


def _unquoted(text: str) -> str:
    """A text without its quotes; where it is none of JSON, as it stands there."""
    try:
        return str(exact(text, strict=False))
    except Unreadable:
        return text[1:-1]

r"""Calls in Python's syntax: in markup, in lists, in quotes, on lines of their own, in the midst of words.

    [get_weather(city="Rome"), now()]   ['get_weather(city="Rome")']   ['now'()]   [get\_weather(city="Rome")][0]
    print(get_weather(city="Rome"))     x = get_weather(city="Rome")   get_weather(city="Rome"), now()

A name that is a tool's and a bracket behind it are looked for, whatever stands around them. Nothing is evaluated.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.decision import Repair
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.calls import extent, missing
from micro_agent.decoding.pythonic.positional import is_told, python_shapes, tool_of
from micro_agent.decoding.pythonic.slips import requoted
from micro_agent.decoding.repair.mending import Unreadable, repair
from micro_agent.decoding.shapes import Shape

_NAME = r"[A-Za-z_](?>(?:[\w.-]|\\+_){0,127})"
_ANCHOR = re.compile(
    rf"""(?<![A-Za-z0-9_.\\-])(?P<quote>["'`]{{0,3}})(?P<name>{_NAME})(?P<close>["'`]{{0,3}})(?P<call>\()"""
)
_WRAPPER = r"(?:await|return|print\(|python\(|[A-Za-z_]\w{0,40}+[ ]?=[ ]?)"
_AT = re.compile(rf"""[\s\[("'`]{{0,20}}(?:{_WRAPPER}[\s(]{{0,3}}){{0,3}}(?=["'`]{{0,3}}{_NAME}["'`]{{0,3}}\()""")
_GAP = re.compile(rf"""(?>(?:[\s,;|)\]"'`\\]|&&|\band\b|```\w*)*)(?>(?:{_WRAPPER}\s?)*)(?>["'`\[]*)""")
_CLOSERS = re.compile(r"""(?>(?:[ \t]*+(?:[\])"'`;]|\[[^\[\]\n]{0,60}\]|\(\)))*)""")
_TITLE = re.compile(
    r"(?:(?<=^)|(?<=\n)|(?<=>))[ \t]*+(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]*+\n\s{0,9}"
    r"```(?:python|py)?[ \t]*+\n\s{0,9}\Z",
    re.MULTILINE,
)
_LISTED = re.compile(r"""["'`]?\s*,\s*["'`]?""")
_ITEM = re.compile(rf"^\s*(?:\d{{1,2}}[.)]\s+)?(?:{_WRAPPER}\s?)*")
_ESCAPED = re.compile(r"\\+([_*\[\]#`()])")
_VALUE = re.compile(r"""=|[(,:]\s*+["'\[{\d]""")
_WIDE = re.compile(rf"(?<![\w.-])(?P<name>{_NAME})[\"'`]?（(?P<inside>[^（）\n]{{0,2000}})）")
_STRAIGHT = re.compile("[\"']")
_NARROW = str.maketrans("，：＝０１２３４５６７８９", ",:=0123456789")
_NATIONAL = re.compile("[«„“「『]([^«»„“”「」『』]*)[»“”」』]")
"""A text in the quotation marks of a language other than English."""
_MAX_ANCHORS = 400
_MAX_CALLS = 40


def calls_at(page: Page, at: int) -> Claim | None:
    """The calls that stand at ``at``, one or a list or one behind the other; ``None`` when none begins there."""
    begun = _AT.match(page.text, at)
    anchor = _ANCHOR.match(page.text, begun.end()) if begun else None
    if anchor is None:
        return None
    shapes: list[Shape] = []
    repairs: list[Repair] = []
    end = at
    while anchor is not None and len(shapes) <= _MAX_CALLS:
        stop, torn = _stop(page, anchor)
        if stop is None:
            return Claim(at, len(page.text), shapes, "pythonic", unfinished=True)
        try:
            found, mended = _shapes(page, anchor, stop)
        except Unreadable as why:
            return Claim(
                at, min(stop, len(page.text)), [Shape(_name(anchor), None, "explicit")], "pythonic", fault=str(why)
            )
        shapes += found
        repairs += [*mended, *torn]
        end = min(stop, len(page.text))
        gap = _GAP.match(page.text, end)
        anchor = _ANCHOR.match(page.text, gap.end()) if gap else None
    closing = _CLOSERS.match(page.text, end)
    return Claim(at, closing.end() if closing else end, shapes, "pythonic", repairs=repairs)


def _name(anchor: re.Match[str]) -> str:
    return _ESCAPED.sub(r"\1", anchor["name"])


def _stop(page: Page, anchor: re.Match[str]) -> tuple[int | None, list[Repair]]:
    """Where the call ends; behind the end of the text where only brackets are missing there."""
    text, start = page.text, anchor.start("name")
    stop = extent(text, anchor.start("call"))
    if stop is not None:
        return stop, []
    whole = requoted(text, start)
    if whole is not None:
        return whole[1], []
    rest = text[start:].rstrip("` \n")
    closers = (
        None
        if page.cut_off or page.offer.tools is None
        else missing(rest.replace(anchor["close"], "", 1) if anchor["close"] else rest)
    )
    if closers:
        return len(text) + 1, [repair("closing_brackets", rest, rest + closers)]
    return None, []


def _shapes(page: Page, anchor: re.Match[str], stop: int) -> tuple[list[Shape], list[Repair]]:
    """The call between the name and its last bracket, and what was mended.

    Raises:
        Unreadable: It is not a call with literal values.
    """
    start = anchor.start("name")
    text = page.text[start:stop]
    repairs: list[Repair] = []
    if stop > len(page.text):
        text = text.rstrip("` \n")
        text += missing(text.replace(anchor["close"], "", 1) if anchor["close"] else text) or ""
    if anchor["close"]:
        text = text.replace(anchor["close"], "", 1)
    if "\\" in anchor["name"] or re.search(r"[(,]\s*+\w*+\\+_", text):
        bare = _ESCAPED.sub(r"\1", text)
        repairs.append(repair("escapes", text, bare))
        text = bare
    title = _titled(page, anchor)
    named = title["name"] if title else None
    try:
        return python_shapes(text, page, named=named), repairs
    except Unreadable:
        if _STRAIGHT.search(text) is None and (straight := _NATIONAL.sub(_quoted, text)) != text:
            return python_shapes(straight, page, named=named), [*repairs, repair("loose_json", text, straight)]
        whole = requoted(text, 0)
        if whole is None or whole[1] != len(text):
            raise
    return python_shapes(whole[0], page, named=named), [*repairs, repair("inner_quotes", text, whole[0])]


def _quoted(found: re.Match[str]) -> str:
    return json.dumps(found[1].strip())


def read(page: Page) -> Iterator[Claim]:
    """The calls of tools anywhere in the text; at its beginning also of what is not a tool."""
    if "（" in page.text:
        yield from _wide(page)
    if "(" in page.text:
        yield from _usual(page)


def _wide(page: Page) -> Iterator[Claim]:
    """The calls of tools with the full-width signs of Chinese and Japanese: ``f（city：“Rome”）``."""
    for found in islice(_WIDE.finditer(page.text), _MAX_ANCHORS):
        if page.offer.tools is None or tool_of(found["name"], page) is None:
            continue
        inside = found["inside"]
        if not _STRAIGHT.search(inside):
            inside = _NATIONAL.sub(_quoted, inside).translate(_NARROW)
        claim = Claim(found.start(), found.end(), [Shape(found["name"], None, "explicit")], "pythonic")
        try:
            claim.shapes = python_shapes(f"{found['name']}({inside})", page)
        except Unreadable as why:
            claim.fault = str(why)
        yield claim


def _usual(page: Page) -> Iterator[Claim]:
    end, foreign, last = 0, None, None
    for anchor in islice(_ANCHOR.finditer(page.text), _MAX_ANCHORS):
        listed = last is not None and _LISTED.fullmatch(page.text, last.end, anchor.start())
        if anchor.start("name") < end or not (listed or _may_call(page, anchor)):
            continue
        stop, torn = _stop(page, anchor)
        if stop is None:
            if last is not None:
                yield last
            yield Claim(
                anchor.start(),
                len(page.text),
                [Shape(_name(anchor), None, "explicit")],
                "pythonic",
                unfinished=True,
                sure=_is_tool(page, anchor) and _begins_line(page, anchor),
            )
            return
        try:
            shapes, repairs = _shapes(page, anchor, stop)
        except Unreadable as why:
            fault = Claim(
                anchor.start(),
                min(stop, len(page.text)),
                [Shape(_name(anchor), None, "explicit")],
                "pythonic",
                fault=str(why),
            )
            fault.sure = _is_whole(page, anchor, fault.end) or _titled(page, anchor) is not None
            if page.offer.tools is not None and not listed and not _is_tool(page, anchor):
                fault.sure = page.text[: anchor.start()].rstrip().endswith("[")
            if page.offer.tools is None or listed or _is_tool(page, anchor):
                fault.sure = fault.sure or bool(listed)
                end = fault.end
                yield fault
            else:
                foreign = fault
            continue
        end = min(stop, len(page.text))
        claim = Claim(anchor.start(), end, shapes, "pythonic", repairs=[*repairs, *torn])
        if (title := _titled(page, anchor)) is not None:
            claim.start, claim.dialect = title.start(), "chatglm"
        claim.sure = bool(anchor["quote"] or any(shape.args for shape in shapes) or _is_line(page.text, claim))
        if page.offer.tools is not None and not listed and not _is_tool(page, anchor):
            claim.sure = page.text[: anchor.start()].rstrip().endswith("[")
        foreign = None
        if last is not None and _LISTED.fullmatch(page.text, last.end, claim.start):
            last.shapes, last.end = [*last.shapes, *claim.shapes], claim.end
            last.repairs += claim.repairs
            last.sure = last.sure or claim.sure
            continue
        if last is not None:
            yield last
        last = claim
    if last is not None:
        yield last
    if foreign is not None:
        yield foreign


def _titled(page: Page, anchor: re.Match[str]) -> re.Match[str] | None:
    """ChatGLM's line above ``tool_call(…)``, which names the tool."""
    if anchor["name"] != "tool_call":
        return None
    return _TITLE.search(page.text, max(0, anchor.start() - 200), anchor.start())


def _may_call(page: Page, anchor: re.Match[str]) -> bool:
    return _is_tool(page, anchor) or not page.text[: anchor.start()].strip("`[ \n")


def _is_tool(page: Page, anchor: re.Match[str]) -> bool:
    name = _name(anchor)
    if _titled(page, anchor) is not None:
        return True
    return page.offer.tools is not None and (tool_of(name, page) is not None or is_told(name))


def _begins(page: Page, anchor: re.Match[str]) -> bool:
    """Whether nothing but an opening bracket or a fence stands before the call in the text."""
    before = re.sub(r"```\w*", "", page.text[: anchor.start()]).strip(" \n`")
    return before in ("", "[")


def _begins_line(page: Page, anchor: re.Match[str]) -> bool:
    return not page.text[page.text.rfind("\n", 0, anchor.start()) + 1 : anchor.start()].strip(" \t`[")


def _is_whole(page: Page, anchor: re.Match[str], end: int) -> bool:
    """Whether a call that cannot be read is a list, or all there is and has a value in it."""
    if not _begins(page, anchor):
        return False
    listed = page.text[: anchor.start()].rstrip().endswith("[")
    alone = not re.search(r"\w", re.sub(r"```\w*", "", page.text[end:]))
    return listed or (alone and _VALUE.search(page.text, anchor.start("call"), end) is not None)


def _is_line(text: str, claim: Claim) -> bool:
    """Whether the call stands on a line of its own, printed or an item with a number too."""
    before = _ITEM.sub("", text[text.rfind("\n", 0, claim.start) + 1 : claim.start])
    end = text.find("\n", claim.end)
    after = text[claim.end : end if end >= 0 else len(text)]
    return not re.search(r"\w", before + after)

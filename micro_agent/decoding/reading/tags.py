"""Calls whose arguments stand in tags of their own, whatever tag holds the name.

<function=get_weather><parameter=city>Rome</parameter></function>   <tool_use><name>get_weather</name>…
<invoke name="get_weather"><parameter name="city">Rome</parameter></invoke>   <get_weather city="Rome"/>
<get_weather><city>Rome</city></get_weather>   <tool_call>get_weather<arg_key>city</arg_key><arg_value>…
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.markup.plain_input import only_text
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.reading.tag_arguments import Arguments, Head, lost_key
from micro_agent.decoding.rows import CALLS, NAMES, PAIRS, PARTS, WRAPPERS

_REST_NAME = re.compile(
    r"""\s{0,3}(?:[=(/:]\s{0,3}|(?=\s))(?:name\s{0,3}=\s{0,3})?["']?"""
    r"""(?P<name>(?!(?:id|type)\b)[A-Za-z_][^\s"'<>=(),]{0,127})["']?[\s),;(>.]{0,8}\Z"""
)
_ATTRIBUTE = re.compile(r"""(?P<key>[\w-]{1,64})\s?=\s?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')""")
_WORD = re.compile(r"\s{0,9}=?(?P<name>[A-Za-z_][\w.:-]{0,127}+)>?\s{0,9}")
_BEFORE = re.compile(r"(?<![\w.:/-])=?(?P<name>[A-Za-z_][\w.:-]{0,127}+)>?\s{0,9}\Z")
_NAME = re.compile(r"[\w.:-]{1,128}")
_PLAIN = re.compile(r"(?!\.{3}|…)[^<>{}]{1,4000}")
_GLUED = re.compile(r"(?:function|tool|call)(?:_call)?[_-](?=\w)", re.IGNORECASE)
_CALL_NAMES = ("name", "tool_name", "function_name", "tool", "function")
_IDENTITY = frozenset({"id", "type", "index", "call_id", "tool_call_id"})
_ELEMENTS = NAMES | {"tool", "function"}


def read(page: Page) -> Iterator[Claim]:
    """The calls in tags, in order."""
    end = 0
    for mark in page.marks:
        if mark.start < end or mark.closing:
            continue
        head = _head(page, mark)
        claim = None if head is None else _claim(page, head)
        if claim is not None:
            end = claim.end
            yield claim


def _head(page: Page, mark: Mark) -> Head | None:
    """The call that ``mark`` may open."""
    if mark.name in PARTS | {"arg_key"}:
        return _bare(page, mark)
    if mark.name in CALLS:
        return _named_behind(page, mark) if mark.token or not mark.rest.strip() else _named_in_tag(page, mark)
    tool = next((name for name in page.offer.names or () if not mark.token and mark.names(name)), None)
    if tool is None and (glued := _GLUED.match(mark.said)) and _is_tool(page, mark.said[glued.end() :]):
        return Head(mark.said[glued.end() :], mark.start, mark.end, sure=True, closed=mark.empty)
    said = _attributes(mark.rest)
    if tool is None or (mark.rest.strip() and not said) or ((mark.empty or said) and not _is_line(page.text, mark)):
        return None
    return Head(tool, mark.start, mark.end, sure=False, closed=mark.empty, said=said)


def _named_in_tag(page: Page, mark: Mark) -> Head | None:
    """``<function=name>``, ``<tool_call name="name" city="Rome">`` and their like."""
    said = _attributes(mark.rest)
    if said and said.keys() <= _IDENTITY:
        return _named_behind(page, mark)
    dialect = "xml_parameters" if mark.name in ("function", "invoke") else "xml_elements"
    key = next((key for key in _CALL_NAMES if said.get(key)), None)
    if key is not None:
        others = {one: value for one, value in said.items() if one not in _IDENTITY | {key}}
        dialect = "xml_elements" if others else dialect
        return Head(said[key], mark.start, mark.end, sure=True, closed=mark.empty, said=others, dialect=dialect)
    found = _REST_NAME.match(mark.rest)
    if found is None or not (dialect == "xml_parameters" or _is_tool(page, found["name"])):
        return None
    return Head(found["name"], mark.start, mark.end, sure=True, closed=mark.empty, dialect=dialect)


def _named_behind(page: Page, mark: Mark) -> Head | None:
    """The name in an element of its own, or as text before the first key or parameter."""
    text = page.text
    inner = page.mark_at(skip_blanks(text, mark.end))
    if inner is not None and inner.plain and inner.name in CALLS - _ELEMENTS:
        mark = replace(mark, end=inner.end)
        inner = page.mark_at(skip_blanks(text, mark.end))
    if inner is not None and inner.said == "server_name" and (close := page.next_mark(inner.end)) is not None:
        inner = page.mark_at(skip_blanks(text, close.end))
    if inner is not None and inner.plain and inner.name in _ELEMENTS:
        return _in_element(page, mark, inner)
    word = _WORD.match(text, mark.end)
    if word is None:
        return None
    name, following = word["name"], page.mark_at(word.end())
    if following is None or (following.name in CALLS | {"arg_value"} and not following.closing):
        at = word.end() if following is None else following.end
        lost = lost_key(page, at)  # <tool_call>f city</arg_key>, <tool_call>f<tool_call>city</arg_key>
        if lost is not None and _is_tool(page, name) and _is_key(page, name, lost[0]):
            return Head(name, mark.start, at, sure=True)
    return None if following is None else _before(page, mark, word, following)


def _in_element(page: Page, mark: Mark, inner: Mark) -> Head | None:
    """``<tool_use><name>f</name>``; the arguments may begin inside the element, as its closing tag may be missing."""
    close = page.next_mark(inner.end)
    name = page.text[inner.end : close.start].strip() if close else ""
    if close is None or not _NAME.fullmatch(name):
        return None
    if not close.closing or close.name not in (inner.name, "arg_key"):
        return Head(name, mark.start, close.start, sure=False)
    at = skip_blanks(page.text, close.end)
    goes_on = page.mark_at(at) is not None or page.text[at : at + 1] in ("", "{", '"')
    return Head(name, mark.start, close.end, sure=True) if goes_on else None


def _before(page: Page, mark: Mark, word: re.Match[str], following: Mark) -> Head | None:
    """``<tool_call>f`` right before another mark."""
    name, known = word["name"], _is_tool(page, word["name"])
    if following.name == "tool_sep" and not following.token:
        return Head(name, mark.start, following.end, sure=True)
    if following.closing:
        if following.name == "arg_key" and not known:
            return _glued(page, mark, name, following)
        if following.name in ("arg_key", "arg_value", "function", *NAMES):
            return Head(name, mark.start, following.end, sure=True, dialect="argument_pairs")
        alone = known and following.name in CALLS
        return Head(name, mark.start, word.end(), sure=True, dialect="argument_pairs") if alone else None
    if following.name in PARTS | PAIRS:
        return Head(name, mark.start, word.end(), sure=True)
    opens = following.name in WRAPPERS | CALLS or _is_key(page, name, following.said)
    return Head(name, mark.start, word.end(), sure=False) if known and opens else None


def _glued(page: Page, mark: Mark, name: str, following: Mark) -> Head | None:
    """``<tool_call>fcity</arg_key>``: the name and the first key, where a tool has both names."""
    glued = [tool for tool in page.offer.names or () if name.startswith(tool)]
    pairs = [(tool, name[len(tool) :]) for tool in glued if name[len(tool) :] in page.offer.properties(tool)]
    if len(pairs) != 1:
        return None
    return Head(pairs[0][0], mark.start, following.start - len(pairs[0][1]), sure=True)


def _bare(page: Page, mark: Mark) -> Head | None:
    """A name of a tool right before its first parameter, without any tag around it."""
    reach = max(0, mark.start - 140)
    found = _BEFORE.search(page.text[reach : mark.start])
    if found is None or not _is_tool(page, found["name"]):
        return None
    return Head(found["name"], reach + found.start(), mark.start, sure=False)


def _is_tool(page: Page, name: str) -> bool:
    return page.offer.tools is not None and page.offer.resolve(name) is not None


def _is_key(page: Page, name: str, key: str) -> bool:
    tool = page.offer.resolve(name) or name
    return key.casefold() in {one.casefold() for one in page.offer.properties(tool)}


def _attributes(rest: str) -> dict[str, str]:
    return {one["key"]: one["single"] if one["double"] is None else one["double"] for one in _ATTRIBUTE.finditer(rest)}


def _is_line(text: str, mark: Mark) -> bool:
    """Whether nothing but markup stands around a tag in its line: in a sentence it is spoken of."""
    before = text[text.rfind("\n", 0, mark.start) + 1 : mark.start]
    rest = text[mark.end :].partition("\n")[0]
    return not before.strip("` ") and rest.lstrip("` ")[:1] in ("", "<")


def _claim(page: Page, head: Head) -> Claim | None:
    given = _from_attributes(page, head)
    if head.closed and given is not None:
        return head.claim(given, head.end)
    claim = Arguments(page, head).read() or _plain(page, head)
    if claim is None:
        torn = page.cut_off or head.dialect == "xml_parameters"
        alone = head.sure and not page.text[head.end :].strip()
        return head.claim({}, len(page.text), unfinished=torn) if alone else None
    args = claim.shapes[0].args
    if given:
        return None if args else head.claim(given, claim.end, unfinished=claim.unfinished)
    told = head.sure or claim.unfinished or claim.fault or args
    return claim if told or page.text.strip() == page.text[claim.start : claim.end].strip() else None


def _from_attributes(page: Page, head: Head) -> dict[str, Any] | str | None:
    """The arguments that the attributes are; ``None`` where one of them is none."""
    if len(head.said) == 1 and (key := next(iter(head.said))) in WRAPPERS:
        return head.said[key]
    tool = page.offer.resolve(head.name) or ""
    if not head.said.keys() <= page.offer.properties(tool):
        return None
    return {key: typed(value, page.offer.types(tool, key), page.offer.allowance) for key, value in head.said.items()}


def _plain(page: Page, head: Head) -> Claim | None:
    """A text for the only argument, between the tags of a tool on lines of their own that nothing follows."""
    text, key = page.text, only_text(page.offer, page.offer.resolve(head.name) or "")
    close = page.next_mark(head.end)
    opening = text[head.start : head.end].strip("<>").casefold()
    if (
        key is None
        or close is None
        or not close.closing
        or not close.names(head.name)
        or opening != head.name.casefold()
    ):
        return None
    said = text[head.end : close.start].strip()
    begins = not text[text.rfind("\n", 0, head.start) + 1 : head.start].strip()
    if not begins or text[close.end :].strip() or said.casefold() == key.casefold() or not _PLAIN.fullmatch(said):
        return None
    return head.claim({key: said}, close.end)

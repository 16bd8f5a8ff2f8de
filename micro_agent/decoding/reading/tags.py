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
from micro_agent.decoding.keys import plain
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.markup.plain_input import only_text
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.reading.tag_arguments import Arguments, Head, attributes, lost_key, without_cdata
from micro_agent.decoding.rows import CALLS, NAMES, PAIRS, PARTS, WRAPPERS

_IN_TAG = re.compile(
    r"""(?:\s*+[=(/:]|\s)\s{0,3}(?:name\s{0,3}=\s{0,3})?["']?(?P<name>(?!(?:id|type)\b)[A-Za-z_][^\s"'<>=(),]{0,127})"""
    r"""["'\s),;(>.]{0,9}\Z"""
)
_WORD = re.compile(r"\s{0,9}=?(?P<name>[A-Za-z_][\w.:-]{0,127}+)>?\s{0,9}")
_APART = re.compile(r"[ \t]*+(?:\Z|\n[ \t]*+(?:[\n<]|\Z))")
"""What stands behind a tag that no sentence goes on behind."""
_PLAIN = re.compile(r"(?!\.{3}|…)[^<>{}]{1,4000}")
_GLUED = re.compile(r"(?:function|tool|call)(?:_call)?[_-](?=\w)", re.IGNORECASE)
_CALL_NAMES = ("name", "tool_name", "function_name", "tool", "function")
_IDENTITY = frozenset({"id", "type", "index", "call_id", "tool_call_id"})
_ELEMENTS = NAMES | {"tool", "function"}
_ARGUMENTS = PARTS | PAIRS | NAMES | {"tool_sep"}
"""What stands behind a name and nowhere else."""
_REACH = 140


def read(page: Page) -> Iterator[Claim]:
    """The calls in tags, in order."""
    end = 0
    tools = {plain(name): name for name in reversed(page.offer.names or ())}
    for mark in page.marks:
        if mark.start < end or mark.closing:
            continue
        head = _head(page, mark, tools)
        claim = None if head is None else _claim(page, head)
        if claim is not None:
            end = claim.end
            yield claim


def _head(page: Page, mark: Mark, tools: dict[str, str]) -> Head | None:
    """The call that ``mark`` may open, named in it, in an element behind it or right before the first argument."""
    if mark.name in PARTS or mark.name == "arg_key":
        named = _in_tag(page, mark) if _is_filled(page, mark) and not mark.empty else None  # <parameter=f><parameter=…
        return named if named is not None and _is_tool(page, named.name) else _bare(page, mark)
    if mark.name in CALLS:
        in_tag = None if mark.token or not mark.rest.strip() else _in_tag(page, mark)
        return in_tag or _in_element(page, mark) or _before(page, mark)
    named = _GLUED.sub("", mark.said, 1)
    tool = tools.get(plain(mark.said)) or tools.get(plain(named))
    said = attributes(mark.rest)
    if tool is None and any(_is_tool(page, said[key]) for key in _CALL_NAMES if key in said) and _is_filled(page, mark):
        head = _in_tag(page, mark)
        return head and replace(head, tag=mark.said)
    if tool is None and mark.plain and (bare := _bare(page, mark)) is not None and _is_own(page, bare.name, mark):
        return bare
    if tool is None or mark.token or (mark.rest.strip() and not said):
        return None
    if (mark.empty or said) and not _is_line(page.text, mark):
        return None
    sure = plain(tool) != plain(mark.said)
    return Head(tool, mark.start, mark.end, sure=sure, closed=mark.empty, said=said, tag=mark.said)


def _is_own(page: Page, name: str, mark: Mark) -> bool:
    """Whether a tag has the name of an argument of a tool."""
    return mark.said in page.offer.properties(page.offer.resolve(name) or "")


def _is_filled(page: Page, mark: Mark) -> bool:
    """Whether arguments begin right behind a tag, or are all in it."""
    inner = page.mark_at(skip_blanks(page.text, mark.end))
    return mark.empty or (inner is not None and not inner.closing and inner.name in PARTS | WRAPPERS | {"arg_key"})


def _in_tag(page: Page, mark: Mark) -> Head | None:
    """``<function=name>``, ``<tool_call name="name" city="Rome">`` and their like."""
    said = attributes(mark.rest)
    dialect = "xml_parameters" if mark.name in ("function", "invoke") else "xml_elements"
    key = next((key for key in _CALL_NAMES if said.get(key)), None)
    if key is not None:
        others = {one: value for one, value in said.items() if one not in _IDENTITY | {key}}
        dialect = "xml_elements" if others else dialect
        return Head(said[key], mark.start, mark.end, sure=True, closed=mark.empty, said=others, dialect=dialect)
    found = _IN_TAG.match(mark.rest)
    if found is None or not (dialect == "xml_parameters" or _is_tool(page, found["name"])):
        return None
    return Head(found["name"], mark.start, mark.end, sure=True, closed=mark.empty, dialect=dialect)


def _in_element(page: Page, mark: Mark) -> Head | None:
    """``<tool_use><name>f</name>``; the arguments may begin inside the element, as its closing tag may be missing."""
    first = inner = page.mark_at(skip_blanks(page.text, mark.end))
    other = inner is not None and inner.plain and not inner.token and inner.name not in _ELEMENTS | _ARGUMENTS | CALLS
    if inner is not None and other and (close := page.next_mark(inner.end)) is not None and close.names(inner.said):
        inner = page.mark_at(skip_blanks(page.text, close.end))  # the server of the tool, a thought
    close = page.next_mark(inner.end) if inner is not None and inner.plain and inner.name in _ELEMENTS else None
    word = _WORD.fullmatch(page.text, inner.end, close.start) if inner is not None and close is not None else None
    if word is None or close is None:
        return None
    if first is not None and first is not inner and _is_own(page, word["name"], first):
        return None  # an argument before the name
    return Head(word["name"], mark.start, close.end if close.closing else close.start, sure=close.closing)


def _before(page: Page, mark: Mark) -> Head | None:
    """``<tool_call>f`` right before another mark, or before a key that lacks its own."""
    word = _WORD.match(page.text, mark.end)
    following = page.mark_at(word.end()) if word is not None else None
    if word is None or (following is None and lost_key(page, word.end()) is None):
        return None
    name, known = word["name"], _is_tool(page, word["name"])
    if following is None:
        return Head(name, mark.start, word.end(), sure=True) if known else None
    if following.name == "arg_key" and following.closing and not known:
        return _glued(page, mark, name, following)
    sure = following.name in _ARGUMENTS and not following.token
    if known and following.closing and following.name == mark.name:
        behind = page.mark_at(skip_blanks(page.text, following.end))
        if behind is not None and behind.plain and (behind.name in WRAPPERS or _is_own(page, name, behind)):
            return Head(name, mark.start, following.end, sure=True)  # its arguments are an element of their own
    if not known and not sure:
        return None
    if following.closing:
        end = following.end if sure else word.end()
        return Head(name, mark.start, end, sure=True, dialect="argument_pairs")
    return Head(name, mark.start, word.end(), sure=sure)


def _glued(page: Page, mark: Mark, name: str, following: Mark) -> Head | None:
    """``<tool_call>fcity</arg_key>``: the name and the first key, where a tool has both names."""
    tools = [tool for tool in page.offer.names or () if name[len(tool) :] in page.offer.properties(tool)]
    found = [tool for tool in tools if name.startswith(tool)]
    if len(found) != 1:
        return None
    return Head(found[0], mark.start, following.start - len(name) + len(found[0]), sure=True)


def _bare(page: Page, mark: Mark) -> Head | None:
    """A name of a tool right before its first parameter, without any tag around it."""
    words = page.text[max(0, mark.start - _REACH) : mark.start].split()
    name = words[-1].rstrip(">").rpartition(">")[2].lstrip("=") if words else ""
    known = _is_tool(page, name)
    return Head(name, page.text.rindex(name, 0, mark.start), mark.start, sure=False) if known else None


def _is_tool(page: Page, name: str) -> bool:
    return page.offer.tools is not None and page.offer.resolve(name) is not None


def _is_line(text: str, mark: Mark) -> bool:
    """Whether nothing but markup stands around a tag in its line: in a sentence it is spoken of."""
    before = text[text.rfind("\n", 0, mark.start) + 1 : mark.start]
    rest = text[mark.end :].partition("\n")[0]
    return not before.strip("` ") and rest.lstrip("` ")[:1] in ("", "<")


def _claim(page: Page, head: Head) -> Claim | None:
    given = _from_attributes(page, head)
    if head.closed:
        return head.claim(head.said if given is None else given, head.end)  # none is lost: it is refused by its name
    claim = Arguments(page, head).read() or _plain(page, head)
    if claim is None:
        torn = page.cut_off or head.dialect == "xml_parameters"
        alone = head.sure and skip_blanks(page.text, head.end) == len(page.text)
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
    """A text for the only argument, between the tags of a tool on lines of their own."""
    text, key = page.text, only_text(page.offer, page.offer.resolve(head.name) or "")
    close = page.next_mark(head.end)
    closes = close is not None and close.closing and (close.names(head.name) or close.name in CALLS)
    if key is None or close is None or not closes:
        return None
    said = without_cdata(text[head.end : close.start]).strip()
    begins = not text[text.rfind("\n", 0, head.start) + 1 : head.start].strip(" \t")
    told = begins and _APART.match(text, close.end) and said.casefold() != key.casefold() and _PLAIN.fullmatch(said)
    return head.claim({key: said}, close.end) if told else None

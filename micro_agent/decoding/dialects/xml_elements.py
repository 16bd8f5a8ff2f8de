"""The name of a call in an element, in an attribute or as the tag itself, as Cline, Roo and other prompts ask for.

    <tool_use><name>get_weather</name><arguments>{"city": "Rome"}</arguments></tool_use>
    <tool_call name="get_weather">{"city": "Rome"}</tool_call>   <tool_call name="get_weather" city="Rome"/>
    <tool=get_weather><parameter=city>Rome</parameter></tool>   <function>get_weather<parameter=city>…
    <get_weather><city>Rome</city></get_weather>   <get_weather city="Rome"/>   <get_weather>Rome</get_weather>

Only the first two are a call whatever the name; the others count for tools that there are, with arguments of theirs.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from micro_agent.decoding.decision import Decision
from micro_agent.decoding.markup.plain_input import only_text
from micro_agent.decoding.markup.shared import decided, different, marks
from micro_agent.decoding.markup.tag_bodies import OUTER, Bodies, Body
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.scan.ends import holds_json_calls
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_NAME = r"(?P<name>[\w.:-]{1,128})"
_NAMED = re.compile(
    rf"(?:<{OUTER}>\s{{0,20}}){{1,2}}(?:<server_name>[^<>]{{0,200}}</server_name>\s{{0,20}})?"
    rf"<(?P<tag>name|tool_name|function_name|tool|function)>\s{{0,9}}{_NAME}\s{{0,9}}</(?P=tag)>"
)
_QUOTED = r"""(?:"[^"<]{0,4000}"|'[^'<]{0,4000}')"""
_ATTRIBUTES = rf"(?P<attributes>(?>(?:\s{{1,9}}[\w-]{{1,64}}\s?=\s?{_QUOTED}){{1,20}}))\s{{0,9}}(?P<closed>/)?>"
_WITH_ATTRIBUTES = re.compile(rf"<{OUTER}{_ATTRIBUTES}")
_ATTRIBUTE = re.compile(r"""([\w-]{1,64})\s?=\s?("[^"]*"|'[^']*')""")
_IN_TAG = re.compile(
    rf"""<{OUTER}(?:\s?[=:]\s?|\s)["']?{_NAME}["']?\s?(?P<closed>/)?>"""
    rf"|<{OUTER}>\s{{0,9}}=?{_NAME.replace('name', 'first')}>?(?=\s{{0,9}}<)"
    rf"|^=?{_NAME.replace('name', 'bare')}>?(?=\s{{0,9}}<(?:parameter|param)\b)",
    re.MULTILINE,
)
_TAG = re.compile(r"<([^<>\s]{1,128})")
_MAX_OPEN = 4000
"""A reply with so many signs that may open a tag is a page, and each of them would be looked at."""
_SIGNS = ("<tool", "<func", "<invoke", "<call", "<action", "<use", "<param")
_MAX_PLAIN = 4000
_PLAIN = re.compile(r"(?!\.{3}|…)[^<>{}]++")
_NAMES = ("name", "tool_name", "function_name", "tool", "function")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input")


@dataclass(frozen=True, slots=True)
class _Opened:
    """The opening tags of one call, and what their attributes say."""

    name: str
    start: int
    end: int
    sure: bool
    closed: bool = False
    attributes: dict[str, str] = field(default_factory=dict[str, str])


def read(source: Source) -> Decision | None:
    """The calls in any of these forms."""
    if ">" not in source.text or source.text.count("<") > _MAX_OPEN:
        return None
    bodies = Bodies(source.text, source.offer, cut_off=source.cut_off)
    shapes: list[Shape] = []
    calls: list[tuple[int, int]] = []
    begin, end, whole = -1, -1, True
    for opened in sorted(_openings(source), key=lambda one: one.start):
        if opened.start < end or (body := _body(source, bodies, opened)) is None:
            continue
        begin = opened.start if begin < 0 else begin
        shapes.append(Shape(opened.name, body.args, "explicit"))
        end, whole = body.end, whole and body.whole
        calls += [(opened.start, end)] if body.whole else []
    if not shapes or holds_json_calls(source.text, calls):
        return None
    kept, repairs = different([[shape] for shape in shapes], source)
    return decided(kept, source, dialect="xml_elements", span=(begin, end), repairs=repairs, unfinished=not whole)


def _openings(source: Source) -> Iterator[_Opened]:
    if source.offer.tools is not None:
        yield from _by_tool(source)
    if not any(sign in source.text for sign in _SIGNS):
        return
    for mark in marks(source, _NAMED):
        yield _Opened(mark["name"], mark.start(), mark.end(), sure=True)
    for mark in marks(source, _WITH_ATTRIBUTES):
        said = _said(mark["attributes"])
        name = next((said.pop(key) for key in _NAMES if key in said), None)
        if name:
            sure = not source.text[mark.start() + 1 :].startswith(("function", "invoke"))
            yield _Opened(name, mark.start(), mark.end(), sure, mark["closed"] is not None, said)
    if source.offer.tools is None:
        return
    for mark in marks(source, _IN_TAG):
        name = next(name for name in mark.group("name", "first", "bare") if name)
        if source.offer.resolve(name):
            yield _Opened(name, mark.start(), mark.end(), sure=False, closed=mark["closed"] is not None)


def _by_tool(source: Source) -> Iterator[_Opened]:
    """Elements and lines of their own with the name of a tool."""
    tags = {tag.rstrip("/") for tag in _TAG.findall(source.text.lower())}
    names = [re.escape(name) for name in source.offer.names or () if name.lower() in tags]
    if not names:
        return
    pattern = re.compile(rf"<(?P<name>{'|'.join(names)})(?:{_ATTRIBUTES}|\s?(?P<empty>/)?>)", re.IGNORECASE)
    for mark in marks(source, pattern):
        said = _said(mark["attributes"] or "")
        alone = mark["empty"] is not None or bool(said)
        if not alone or _is_line(source.text, mark):
            yield _Opened(mark["name"], mark.start(), mark.end(), False, bool(mark["closed"] or mark["empty"]), said)


def _said(attributes: str) -> dict[str, str]:
    return {key: value[1:-1] for key, value in _ATTRIBUTE.findall(attributes)}


def _is_line(text: str, mark: re.Match[str]) -> bool:
    """Whether nothing but markup stands around an element in its line: in a sentence it is spoken of."""
    after = text.find("\n", mark.end())
    before = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
    return not before.strip("` ") and text[mark.end() : after if after >= 0 else len(text)].lstrip("` ")[:1] in (
        "",
        "<",
    )


def _body(source: Source, bodies: Bodies, opened: _Opened) -> Body | None:
    """The arguments of a call, from the attributes or from what stands between its tags; ``None`` if it is none."""
    given = _from_attributes(source, opened)
    if given is not None and opened.closed:
        found: Body | None = Body(given, opened.end, whole=True)
    else:
        found = bodies.read(opened.name, opened.end) or _plain(source, opened)
        if found is not None and given:
            found = Body(given, found.end, found.whole) if not found.args else None
    if opened.sure:
        return found or (Body({}, opened.end, not source.cut_off) if not source.text[opened.end :].strip() else None)
    alone = found is not None and source.text.strip() == source.text[opened.start : found.end]
    return found if found is not None and (found.args or alone or not found.whole) else None


def _plain(source: Source, opened: _Opened) -> Body | None:
    """A text for the only argument, between the tags of a tool on lines of their own that nothing follows."""
    text, closing = source.text, f"</{opened.name}>"
    key = only_text(source.offer, source.offer.resolve(opened.name) or "")
    stop = text.find(closing, opened.end, opened.end + _MAX_PLAIN)
    if key is None or stop < 0 or text[opened.start : opened.end] != f"<{opened.name}>":
        return None
    said, end = text[opened.end : stop].strip(), stop + len(closing)
    begins = not text[text.rfind("\n", 0, opened.start) + 1 : opened.start].strip()
    if not begins or text[end:].strip() or said.casefold() == key.casefold() or not _PLAIN.fullmatch(said):
        return None
    return Body({key: said}, end, whole=True)


def _from_attributes(source: Source, opened: _Opened) -> dict[str, Any] | str | None:
    """The arguments that the attributes are; ``None`` where one of them is none."""
    said = opened.attributes
    if len(said) == 1 and (key := next(iter(said))) in _ARGUMENTS:
        return said[key]
    tool = source.offer.resolve(opened.name) or ""
    if not said.keys() <= source.offer.properties(tool):
        return None
    return {key: typed(value, source.offer.types(tool, key), source.offer.allowance) for key, value in said.items()}

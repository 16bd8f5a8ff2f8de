"""What stands between the tags of a call, in whichever form: parameters, elements, pairs or one JSON object.

    <parameter=city>Rome</parameter>   <param name="city">Rome</param>   <arg name="city">Rome</arg>
    <city>Rome</city>   <arg_key>city</arg_key><arg_value>Rome</arg_value>   <arguments>{"city": "Rome"}</arguments>

An element counts when the tool has an argument of that name. A value ends at the closing tag behind which the markup
goes on, so that a value may hold tags.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from micro_agent.decoding.arguments import closed_by_markup
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.scan.scanner import piece_at

OUTER = (
    r"(?:tools?|tool_use|use_tool|use_mcp_tool|tool_request|tool_?calls?|function|function_?calls?|invoke|call|action)"
)
_WRAPPER = r"(?:arguments|args|parameters|params|input|tool_input|kwargs)"
_PART_WORD = r"(?:parameter|param|argument|arg|property)"
_PART = re.compile(
    rf"""<(?P<tag>{_PART_WORD})(?:\s?[=:]\s?|\s{{1,9}}(?:(?:name|key|id)\s?=\s?)?)["']?(?P<key>[^\s"'<>=/]{{1,128}})["']?"""
    rf"""[^<>]{{0,60}}>|<arg_key>\s{{0,9}}["']?(?P<pair>[^<>\n"']{{1,128}}?)["']?\s{{0,9}}</arg_key>\s{{0,9}}<arg_value>"""
)
_ELEMENT = re.compile(r"<(?P<key>[A-Za-z_][\w.-]{0,127})>")
_OPENED = re.compile(rf"<{_WRAPPER}>")
_NEXT = rf"\s*+(?:\Z|<(?:{_PART_WORD}[\s=:]|arg_key>|[|｜]|/?{OUTER}\b|/?{{name}}[\s>]|/{_WRAPPER}>{{keys}}))"
_BLANKS = re.compile(r"\s*+")
_MAX_PARTS = 200
_CHECKS = 2000
"""So many closing tags are looked at for one text."""


@dataclass(frozen=True, slots=True)
class Body:
    """The arguments (an object, or the text of one), where the tags end, and whether nothing is missing."""

    args: dict[str, Any] | str
    end: int
    whole: bool


@dataclass(slots=True)
class Bodies:
    """Reads the bodies of the calls of one text."""

    text: str
    offer: Offer
    cut_off: bool = False
    _checks: int = _CHECKS
    _next: dict[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])

    def read(self, name: str, start: int) -> Body | None:
        """What follows the opening tags of a call of ``name`` at ``start``; ``None`` when it is nothing of a call."""
        tool = self.offer.resolve(name) or name
        keys = {key.casefold(): key for key in self.offer.properties(tool)}
        args: dict[str, Any] = {}
        at = self._skip(start)
        for _ in range(_MAX_PARTS):
            if (opened := _OPENED.match(self.text, at)) and opened[0][1:-1] not in keys:
                at = self._skip(opened.end())
            if not args and self.text.startswith("{", at):
                return self._json(tool, at)
            if (part := _PART.match(self.text, at) or self._element(at, keys, tool)) is None:
                return self._closed(tool, args, start, at)
            key, stop, at = self._part(part, tool, keys)
            value = typed(self.text[part.end() : stop], self.offer.types(tool, key), self.offer.allowance)
            if at < 0 or args.setdefault(key, value) != value:
                return Body(args, len(self.text), whole=False)
            at = self._skip(at)
        return Body(args, at, whole=False)

    def _element(self, at: int, keys: dict[str, str], tool: str) -> re.Match[str] | None:
        found = _ELEMENT.match(self.text, at)
        known = found is not None and (found["key"].casefold() in keys or self.offer.tool(tool) is None)
        return found if known else None

    def _part(self, part: re.Match[str], tool: str, keys: dict[str, str]) -> tuple[str, int, int]:
        """The argument that opens at ``part``, where its value ends and where the text goes on; -1 for no end."""
        if part.re is _ELEMENT:
            key, tag = keys.get(part["key"].casefold(), part["key"]), part["key"]
        else:
            key, tag = (part["pair"], "arg_value") if part["pair"] else (part["key"], part["tag"])
        closing, following = f"</{tag}>", self._following(tool)
        stop = self.text.find(closing, part.end())
        while stop >= 0 and self._checks > 0:
            self._checks -= 1
            at = self._doubled(part, stop, tag) or stop + len(closing)
            if following.match(self.text, at) and (self.text[at:].strip() or not self._nests(part, tag, stop)):
                return key, stop, at
            stop = self.text.find(closing, stop + 1)
        return key, -1, -1

    def _doubled(self, part: re.Match[str], stop: int, tag: str) -> int | None:
        """Where the closing tags at ``stop`` end, where one or two too many stand there."""
        again = re.compile(rf"</{re.escape(tag)}>(?:\s{{0,20}}</{re.escape(tag)}>){{1,2}}").match(self.text, stop)
        return again.end() if again and f"<{tag}" not in self.text[part.end() : stop] else None

    def _nests(self, part: re.Match[str], tag: str, stop: int) -> bool:
        """Whether an element of the same name opens in the value and does not close before ``stop``, its last end."""
        value = self.text[part.end() : stop]
        return value.count(f"<{tag}>") > value.count(f"</{tag}>")

    def _following(self, tool: str) -> re.Pattern[str]:
        """What the markup goes on with behind a value."""
        if tool not in self._next:
            keys = "".join(f"|{re.escape(key)}>" for key in sorted(self.offer.properties(tool)))
            self._next[tool] = re.compile(_NEXT.format(name=re.escape(tool), keys=keys), re.IGNORECASE)
        return self._next[tool]

    def _json(self, tool: str, start: int) -> Body:
        at = start + len(piece_at(self.text, start).text)
        if at == len(self.text):  # without its closing brackets, or at the very end
            found = _closing(tool).search(self.text, start)
            at = found.start() if found else at
        end = self._after(tool, at)
        text = self.text[start:at]
        return Body(closed_by_markup(text)[0] if end > at else text, end, whole=end > at or text.endswith("}"))

    def _closed(self, tool: str, args: dict[str, Any], start: int, at: int) -> Body | None:
        end = self._after(tool, at)
        if not args and end == at:
            return None
        return Body(args, end, whole=end > at or (not self.cut_off and not self.text[at:].lstrip().startswith("<")))

    def _after(self, tool: str, at: int) -> int:
        """Where the closing tags at ``at`` end."""
        closing = _closing(tool)
        while found := closing.match(self.text, self._skip(at)):
            at = found.end()
        return at

    def _skip(self, at: int) -> int:
        found = _BLANKS.match(self.text, at)
        return found.end() if found else at


def _closing(tool: str) -> re.Pattern[str]:
    words = rf"{OUTER}(?:=[^<>\n]{{0,128}})?|{_WRAPPER}|{re.escape(tool)}"
    return re.compile(rf"</(?:{words})(?:>|(?=\s*(?:\Z|<)))", re.IGNORECASE)


def tagged_arguments(text: str, name: str, offer: Offer) -> dict[str, Any] | None:
    """The arguments of a call of ``name`` that ``text`` is in tags, with nothing around them."""
    body = Bodies(text, offer).read(name, 0) if text.lstrip().startswith("<") else None
    whole = body is not None and body.whole and not text[body.end :].strip()
    return body.args if body is not None and whole and isinstance(body.args, dict) else None

"""Arguments each in a tag of its own: Qwen3-Coder, Seed-OSS, Nemotron, MiniMax, Anthropic's and DeepSeek's ``invoke``.

    <function=get_weather><parameter=city>Rome</parameter></function>
    <invoke name="get_weather"><parameter name="city">Rome</parameter></invoke>
    <｜DSML｜invoke name="wait"><｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter></｜DSML｜invoke>

A value may hold text that looks like markup. So a closing tag counts only where the markup goes on behind it, and an
opening one inside a value only where the value would have no end otherwise (the parsers of vLLM, sglang and llama.cpp
cut at the first one of either). Closing tags may be missing, but a value that nothing closes is not complete.
"""

import re
from dataclasses import dataclass
from typing import Any

from micro_agent.decoding.arguments import closed_by_markup
from micro_agent.decoding.decision import Decision, Repair
from micro_agent.decoding.markup.shared import decided, different, marks
from micro_agent.decoding.markup.tag_bodies import Bodies
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.scan.ends import Ends, holds_json_calls, tears_off
from micro_agent.decoding.scan.scanner import piece_at
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_DSML = r"(?:[|｜]DSML[|｜]|[a-z]{2,12}:)?"
_NAMED = r"""(?:\s{{0,9}}=\s{{0,9}}|\s{{1,9}}name\s{{0,9}}=\s{{0,9}})["']?(?P<{0}>[^\s"'<>=]{{1,128}})["']?"""
_WORD = r"(?:parameter|param|arg|argument)"
_KEYED = r"""(?:\s{0,9}=\s{0,9}|:|\s{1,9}(?:(?:name|key)\s{0,9}=\s{0,9})?)["']?(?P<key>[^\s"'<>=:]{1,128})["']?"""
_CALL = re.compile(rf"<{_DSML}(?:function|invoke){_NAMED.format('name')}\s{{0,9}}(?:>|(?=\n))")
_PARAMETER = re.compile(
    rf"<{_DSML}{_WORD}{_KEYED}(?:\s+string=[\"'](?P<text>true|false)[\"'])?(?:[^<>\n]{{0,60}}>|(?=\n))"
)
_WRAP = r"(?:tool_calls?|function_calls?|[a-z]{2,12}:tool_call|tools)"
_NEXT = (
    rf"(?=\s*+(?:<{_DSML}{_WORD}[\s=:]|</{_DSML}(?:function|invoke)\b|</?{_DSML}{_WRAP}\b"
    rf"|<{_DSML}(?:function|invoke)[\s=]|<[|｜]|\Z))"
)
_VALUE_END = re.compile(rf"(?>(?:</{_DSML}{_WORD}(?:=[^<>\n]{{1,128}})?>\s{{0,20}}){{1,4}}){_NEXT}")
_VALUE_TAG = re.compile(rf"<(?P<slash>/)?{_DSML}{_WORD}\b[^<>\n]{{0,128}}>")
_CLOSING = rf"</{_DSML}(?:function|invoke|{_WRAP})(?:=[^<>\n]{{1,128}})?(?:>|(?=\s*+</))"
_CALL_END = re.compile(_CLOSING)
_CLOSERS = re.compile(rf"(?>(?:\s*+{_CLOSING})*)")
_BLANKS = re.compile(r"\s*+")
_MAX_PARAMETERS = 200


def read(source: Source) -> Decision | None:
    """The calls in ``<function=…>`` or ``<invoke name=…>``."""
    reading = _Reading(source)
    begin, end, whole = -1, -1, True
    shapes: list[Shape] = []
    for mark in marks(source, _CALL):
        if mark.start() < end or (found := reading.call(mark)) is None:
            continue
        begin = mark.start() if begin < 0 else begin
        shapes.append(found.shape)
        end, whole = found.end, whole and found.whole
    if not shapes or holds_json_calls(source.text, reading.values):
        return None
    kept, repairs = different([[shape] for shape in shapes], source)
    repairs += reading.repairs
    return decided(kept, source, dialect="xml_parameters", span=(begin, end), repairs=repairs, unfinished=not whole)


@dataclass(frozen=True, slots=True)
class _Found:
    shape: Shape
    end: int
    whole: bool


class _Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.repairs: list[Repair] = []
        self.values: list[tuple[int, int]] = []
        self.value_ends = Ends(source.text, _VALUE_END)
        self.call_ends = Ends(source.text, _CALL_END)
        self.bodies = Bodies(source.text, source.offer, cut_off=source.cut_off)

    def call(self, mark: re.Match[str]) -> _Found | None:
        """The call that begins at ``mark``; ``None`` when what follows has nothing of one."""
        text, offer = self.source.text, self.source.offer
        name = offer.resolve(mark["name"])
        args: dict[str, Any] = {}
        at = mark.end()
        for _ in range(_MAX_PARAMETERS):
            if (opened := _PARAMETER.match(text, _after_blanks(text, at))) is None:
                break
            start, key = opened.end(), opened["key"]
            stop, at = self._value(start, name)
            said = text[start:stop] if _VALUE_END.match(text, stop) else _without_end(text[start:stop], key)
            if at < 0 or not (said.strip() or _VALUE_END.match(text, stop)):  # it may have been cut off
                return _Found(Shape(mark["name"], args, "explicit"), len(text), whole=False)
            value = self._typed(said, name or "", key, opened["text"])
            self.values += [(start, stop)] if stop < at else []
            if args.setdefault(key, value) != value:
                return _Found(Shape(mark["name"], args, "explicit"), at, whole=False)
        else:
            return _Found(Shape(mark["name"], args, "explicit"), at, whole=False)
        closing = _CLOSERS.match(text, at)
        end = closing.end() if closing else at
        if end > at:
            return _Found(Shape(mark["name"], args, "explicit"), end, whole=True)
        if not args:
            return self._other(mark, at) or self._json(mark, name)
        goes_on = self.source.cut_off or tears_off(text, end)
        return _Found(Shape(mark["name"], args, "explicit"), end, whole=not goes_on)

    def _other(self, mark: re.Match[str], at: int) -> _Found | None:
        """The arguments in other tags than those of parameters."""
        at = _after_blanks(self.source.text, at)
        body = self.bodies.read(mark["name"], at) if self.source.text.startswith("<", at) else None
        return _Found(Shape(mark["name"], body.args, "explicit"), body.end, body.whole) if body and body.args else None

    def _value(self, start: int, name: str | None) -> tuple[int, int]:
        """Where a value ends and where the text goes on after it; twice -1 when nothing ends it."""
        text = self.source.text
        closing = self.value_ends.after(start)
        limit = closing.start() if closing else len(text)
        before = start
        for opened in _PARAMETER.finditer(text, start, limit):
            line = max(text.rfind("\n", before, opened.start()), start if before == start else -1)
            if line >= 0 and not text[line : opened.start()].strip() and self._is_parameter(name, opened["key"]):
                return line + text.startswith("\n", line), opened.start()
            before = opened.end()
        ending = self.call_ends.after(start)
        if ending and ending.start() < limit and (closing is None or _CALL.search(text, ending.end(), limit)):
            return ending.start(), ending.start()
        return (_last_own(text, start, closing), closing.end()) if closing else (-1, -1)

    def _is_parameter(self, name: str | None, key: str) -> bool:
        tool = self.source.offer.tool(name)
        return tool is None or key in tool.parameters.get("properties", {})

    def _typed(self, text: str, name: str, key: str, is_text: str | None) -> Any:
        wanted = {"true": frozenset({"string"}), "false": frozenset[str]()}
        types = wanted[is_text] if is_text else self.source.offer.types(name, key)
        return typed(text, types, self.source.offer.allowance)

    def _json(self, mark: re.Match[str], name: str | None) -> _Found | None:
        """The arguments as one JSON object between the tags."""
        text = self.source.text
        start = _after_blanks(text, mark.end())
        if not text.startswith("{", start):
            cut = _Found(Shape(mark["name"], {}, "explicit"), len(text), whole=False)
            return cut if name is not None and start == len(text) else None
        piece = piece_at(text, start)
        end = start + len(piece.text)
        closing = self.call_ends.after(start)
        end = min(end, closing.start()) if closing and end == len(text) else end
        closers = _CLOSERS.match(text, end)
        stop = closers.end() if closers else end
        given, repairs = closed_by_markup(text[start:end]) if stop > end else (text[start:end], [])
        self.repairs += repairs
        closed = text[end - 1] == "}" and (piece.closed or not self.source.cut_off)
        return _Found(Shape(mark["name"], given, "explicit"), stop, whole=stop > end or closed)


def _last_own(text: str, start: int, closing: re.Match[str]) -> int:
    """Where a value ends of whose closing tags in a row the first ones may close what opens in the value itself."""
    tags = list(_VALUE_TAG.finditer(closing[0]))
    if len(tags) == 1:
        return closing.start()
    inside = [tag["slash"] for tag in _VALUE_TAG.finditer(text, start, closing.start())]
    opened = max(0, 2 * inside.count(None) - len(inside))
    return closing.start() + tags[min(opened, len(tags) - 1)].start()


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _without_end(said: str, key: str) -> str:
    """A value that the closing tag of a parameter does not end: without ``</key>``, and trimmed if it is one line."""
    own = f"</{key}>"
    if said.rstrip().endswith(own) and f"<{key}>" not in said:
        return said.rstrip().removesuffix(own)
    line = said.strip()
    return said if "\n" in line else line

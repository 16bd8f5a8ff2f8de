"""Keys and values in tags of their own after the name: GLM 4.5 and later, MiniCPM's like.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Rome</arg_value>
    </tool_call>

A name alone is a call without arguments.
"""

import re
from dataclasses import replace
from typing import Any

from micro_agent.decoding.clearing.spellings import stands_in
from micro_agent.decoding.decision import Decision, DecodeError, ToolCalls
from micro_agent.decoding.markup.pair_tags import with_pair_tags
from micro_agent.decoding.markup.shared import decided, different, marks
from micro_agent.decoding.markup.typed import typed
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.scan.ends import Ends, holds_json_calls, tears_off
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source

_TAG = r"(?:[a-z]{1,20}_)?(?:tool_calls?|function_calls?|tool|user)"
_STRAY = r"(?:</arg_(?:key|value)>|</(?:name|function|tool_name)>)"
_CALL = re.compile(
    rf"(?P<tag><{_TAG}>\s{{0,9}}(?:<(?:name|function|tool_name)>|<function=)?|(?<![\w.:/<>-]))"
    rf"(?P<name>[A-Za-z_][\w.:-]{{0,127}}+)>?"
    rf"(?=\s{{0,9}}(?:{_STRAY}\s{{0,9}})?(?P<more><arg_key>)|\s{{0,9}}</arg_(?:key|value)>\s{{0,9}}(?:\Z|</)|\s{{0,9}}</tool_call>)"
)
_AFTER_NAME = re.compile(rf"\s*+{_STRAY}?")
_KEY = re.compile(
    r"\s*+<arg_key>\s*+[\"']?(?P<key>[^<>\n\"']{1,128}?)[\"']?\s{0,9}(?:</arg_key>\s*+(?:<arg_value>|(?=[^<\s]))|<arg_value>)"
)
_VALUE_END = re.compile(rf"</arg_value>(?=\s*+(?:<arg_key>|</?{_TAG}>|</function>|<[|｜]|\Z))")
_NEXT = re.compile(rf"<arg_key>|</{_TAG}>")
_CALL_END = re.compile(rf"(?:\s*+</function>)?\s*+</{_TAG}>")
_SIGNS = ("<arg_key>", "</tool_call>", "</arg_")
_MAX_PARAMETERS = 200


def read(source: Source) -> Decision | None:
    """The calls in ``<tool_call>name<arg_key>…``; the tag may be another one, or absent where a tool is named."""
    if not any(sign in source.text for sign in _SIGNS):
        return None
    whole = with_pair_tags(source.text, source.offer) if "</arg_" in source.text else source.text
    if whole != source.text:
        found = _read(replace(source, text=whole))
        if isinstance(found, DecodeError):
            return found
        if isinstance(found, ToolCalls) and _stand_in(found, source.text):
            return replace(found, repairs=[*found.repairs, repair("tags", source.text, whole)])
    return _read(source)


def _stand_in(found: ToolCalls, text: str) -> bool:
    """Whether no value was changed with the tags around it, nor speaks of such tags."""
    said = [value for call in found.calls for value in texts(call.args)]
    return all(stands_in(value, text) and "<arg_" not in value for value in said)


def _read(source: Source) -> Decision | None:
    shapes: list[Shape] = []
    values: list[tuple[int, int]] = []
    begin, end, whole = -1, -1, True
    ends = Ends(source.text, _VALUE_END), Ends(source.text, _NEXT)
    for mark in marks(source, _CALL):
        if mark.start() < end:
            continue
        known = source.offer.resolve(mark["name"]) is not None
        if not mark["tag"] and not (known and source.offer.tools is not None):
            continue
        if not mark["more"] and not known:
            return None
        begin = mark.start() if begin < 0 else begin
        args, end, closed = _arguments(mark, source, ends, values)
        shapes.append(Shape(mark["name"], args, "explicit"))
        whole = whole and closed
    if not shapes or holds_json_calls(source.text, values):
        return None
    kept, repairs = different([[shape] for shape in shapes], source)
    return decided(kept, source, dialect="argument_pairs", span=(begin, end), repairs=repairs, unfinished=not whole)


def _arguments(
    mark: re.Match[str], source: Source, ends: tuple[Ends, Ends], closed: list[tuple[int, int]]
) -> tuple[dict[str, Any], int, bool]:
    """The arguments, where the call ends, and whether it is complete; ``closed`` gets where values with an end are."""
    text, offer = source.text, source.offer
    at = stray.end() if (stray := _AFTER_NAME.match(text, mark.end())) else mark.end()
    name = offer.resolve(mark["name"]) or ""
    args: dict[str, Any] = {}
    for _ in range(_MAX_PARAMETERS):
        if (key := _KEY.match(text, at)) is None:
            break
        stop, at = _value_end(text, key.end(), *ends)
        if at < 0:
            return args, len(text), False
        closed += [(key.end(), stop)] if stop < at else []
        value = typed(text[key.end() : stop], offer.types(name, key["key"]), offer.allowance)
        if args.setdefault(key["key"], value) != value:
            return args, at, False  # two values for one argument: neither is right
    else:
        return args, at, False
    closing = _CALL_END.match(text, at)
    return args, closing.end() if closing else at, closing is not None or not (source.cut_off or tears_off(text, at))


def _value_end(text: str, start: int, value_ends: Ends, tags: Ends) -> tuple[int, int]:
    """Where a value ends and where the text goes on after it; twice -1 when nothing ends it.

    Without its closing tag it ends before the next key or the end of the call. Such a tag with the closing one still
    to come is text in the value, unless a key or a call begins there.
    """
    closing, tag = value_ends.after(start), tags.after(start)
    if tag is not None and (closing is None or tag.start() < closing.start()):
        limit = closing.start() if closing else tag.start()
        if closing is None or _KEY.match(text, tag.start()) or text.find("<tool_call>", tag.end(), limit) >= 0:
            return tag.start(), tag.start()
    return (closing.start(), closing.end()) if closing else (-1, -1)

"""What stands behind a begin marker when it is JSON: calls, or the arguments of the one that the marker names."""

import re
from dataclasses import dataclass, field
from typing import Any

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.scan.ends import Ends
from micro_agent.decoding.scan.values import Unfinished, value_at
from micro_agent.decoding.settle import MAX_CALLS
from micro_agent.decoding.shapes import Known, Shape, call_shapes, final_answer
from micro_agent.decoding.source import Source

_BLANK = re.compile(r"\s*+(?:```\w*\s*+)?(?:json\s*+(?=[{\[\"]))?")
_NAME = r"""["']?(?P<name>[A-Za-z_][\w.:/-]{0,127})["']?"""
_LINE = re.compile(rf"{_NAME}\s*+(?:\(|:|=>?|->|\[ARGS\])?\s*+(?:```\w*\s*+)?(?:json\s*+)?(?={{)")
_FIELDS = re.compile(
    rf"""["']?(?:tool_?name|function_?name|name|function|tool)["']?\s*+[:=]\s*+{_NAME}\s*+[,;]?\s*+"""
    r"""["']?(?:arg(?:ument)?s|param(?:eter)?s|input)["']?\s*+[:=]\s*+(?={)"""
)
_ALONE = re.compile(rf"{_NAME}\s*+(?:\(\s*+\))?\s*+")
_JSON = re.compile(r"""[{"]|\[\s*+(?:[{\["'\]]|\Z)""")
_REST = re.compile(r"[\s}\])]*+(?:```\s*+)?(?:[;,]\s*+)?(?:```\w*\s*+)?")
_HINT = re.compile(r"""["']?name["']?\s*+:\s*+["']([^"']{1,128})["']""")
_HINT_REACH = 400


@dataclass(frozen=True, slots=True)
class Around:
    """What is around the bodies of one text: where markers are, and whether the name is a key (see `Markup`)."""

    begins: Ends
    ends: Ends
    keyed: bool = False


@dataclass(slots=True)
class Body:
    """What one begin marker holds: its calls or an answer, why it cannot be read, whether the text ends inside it.

    With a fault, or when it is unfinished, its shapes are a hint at the tool that is meant and nothing more.
    """

    start: int
    end: int
    shapes: list[Shape] = field(default_factory=list[Shape])
    answer: str | None = None
    repairs: list[Repair] = field(default_factory=list[Repair])
    fault: str | None = None
    unfinished: bool = False


def read_body(source: Source, mark: re.Match[str], around: Around) -> Body | None:
    """All that stands behind ``mark`` up to the end marker, or as far as it is JSON; ``None`` when it is none."""
    body = _item(source, next((group for group in mark.groups() if group), None), mark.end(), around)
    if body is None:
        return None
    body.start = mark.start()
    while True:
        body.end = _skip(_REST, source.text, body.end)
        if (closing := around.ends.pattern.match(source.text, body.end)) is not None:
            body.end = closing.end()
            return body
        if not 0 < len(body.shapes) <= MAX_CALLS or body.fault or body.unfinished:
            return body
        more = _item(source, None, body.end, around)
        if more is None or not more.shapes:
            return body
        body.shapes += more.shapes
        body.repairs += more.repairs
        body.end, body.fault, body.unfinished = more.end, more.fault, more.unfinished


def _item(source: Source, name: str | None, at: int, around: Around) -> Body | None:
    """One value at ``at``, with the name before it if there is one; ``None`` when it is something else."""
    text = source.text
    start = _skip(_BLANK, text, at)
    written = None if name else _FIELDS.match(text, start) or _LINE.match(text, start)
    start = written.end() if written else start
    if not _JSON.match(text, start) or _ALONE.match(text, start):
        return _without_arguments(source, name, start, around.ends.pattern)
    said = name or (written["name"] if written else None)
    try:
        value, end, repairs = value_at(source, start, (around.begins, around.ends))
    except Unfinished:
        return Body(at, len(text), _hint(text, start, said), unfinished=True)
    except Unreadable as why:
        marker = around.ends.after(start)
        return Body(at, marker.start() if marker else len(text), _hint(text, start, said), fault=str(why))
    if name:
        return Body(at, end, [Shape(name, value, "explicit")], repairs=repairs)
    return _understood(Body(at, end, repairs=repairs), said, value, source, around.keyed)


def _hint(text: str, start: int, name: str | None) -> list[Shape]:
    """The call that seems to be meant, for the error."""
    found = None if name else _HINT.search(text, start, start + _HINT_REACH)
    meant = found[1] if found else name
    return [Shape(meant, None, "explicit")] if meant else []


def _without_arguments(source: Source, name: str | None, start: int, end: re.Pattern[str]) -> Body | None:
    """A name and then the end marker, or the end of the text: a call without arguments."""
    alone = None if name or source.offer.tools is None else _ALONE.match(source.text, start)
    if alone and source.offer.resolve(alone["name"]) and end.match(source.text, alone.end()):
        return Body(start, alone.end(), [Shape(alone["name"], {}, "explicit")])
    ended = start == len(source.text)
    if not name or not (ended or end.match(source.text, start)):
        return None
    return Body(start, start, [Shape(name, {}, "explicit")], unfinished=ended)


def _understood(body: Body, name: str | None, value: Any, source: Source, keyed: bool) -> Body:
    """``body`` with the calls that ``value`` is, or with why it is none."""
    known: Known | None = None
    if keyed or source.offer.tools is not None:
        known = lambda said: source.offer.resolve(said) is not None  # noqa: E731
    shapes = call_shapes(value, known) or []
    if name and not (shapes and all(source.offer.resolve(shape.name) for shape in shapes)):
        shapes = [Shape(name, value, "explicit")]
    body.shapes = shapes
    if not shapes:
        body.answer = final_answer(value)
        body.fault = None if body.answer is not None or value == [] else "it names no tool"
    return body


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at

"""A decision written as a JSON object somewhere in the text: alone, fenced, or with prose around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from micro_agent.decoding.arguments import closed
from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, ToolCalls
from micro_agent.decoding.repair import Unreadable, exact, mend, repair
from micro_agent.decoding.scanner import Piece, pieces
from micro_agent.decoding.settle import MAX_CALLS, error, settle
from micro_agent.decoding.shapes import Shape, call_shapes, final_answer
from micro_agent.decoding.source import Source
from micro_agent.decoding.wording import shorten

_MAX_OBJECTS = 100
"""So many different objects are looked at; a text with more is a table."""
_HEAD = 2000
"""Characters of an object without an end that say what it begins like."""

_QUOTE = r"""["'“”‘’]?"""
_KEYED = re.compile(rf"\b(?:tool|name|function|action|final|answer|calls)[\w\\]*{_QUOTE}\s*+:")
_TOOL_KEY = re.compile(rf"[{{\[,\"'“‘]\s*+(?:tool|tool\\?_name|tool\\?_calls?|function\\?_call){_QUOTE}\s*+:")
_FINAL_KEY = re.compile(rf"^\{{\s*+{_QUOTE}final(?:\\?_answer)?{_QUOTE}\s*+:")
_NAME_VALUE = re.compile(rf"\b(?:name|tool|function|action){_QUOTE}\s*+:\s*+{_QUOTE}([^\"'“”‘’,{{}}]{{1,128}})")
_ARGUMENTS_KEY = re.compile(
    rf"\b(?:arg(?:ument)?s|param(?:eter)?s|kwargs|inputs?|action_input|tool_input){_QUOTE}\s*+:"
)
_MARKUP = re.compile(r"```\w*|<[^<>]{0,60}>")


@dataclass(frozen=True, slots=True)
class _Survey:
    """What the text holds that may be a decision: each different object once, and one that never closes."""

    values: list[tuple[Piece, Any]]
    broken: list[Piece]
    tail: Piece | None
    repeated: list[Repair]


def read(source: Source) -> Decision | None:
    """The one decision among the objects of ``source``; a call outranks a final answer.

    Objects that are data for the user are none. Several different calls are ambiguous.
    """
    survey = _survey(source)
    found, rivals = _settled(survey, source)
    calls = [one for one in found if not isinstance(one[1], Final)] or found
    tail = survey.tail
    if tail is not None and survey.repeated and calls and calls[0][0].text.startswith(tail.text.rstrip()):
        tail = None  # the same object over and over, the last one cut off
    attempts = len(calls) + len(survey.broken) + (tail is not None)
    if attempts > 1 or (attempts and rivals):
        seen = f"{attempts + rivals} different objects that look like a decision."
        return error("cut_off" if tail is not None and source.cut_off else "ambiguous", seen, source.offer)
    if calls:
        return _with(calls[0][1], survey.repeated)
    if tail is not None:
        return _unclosed(tail, source)
    if survey.broken:
        return _mended(survey.broken[0], source)
    return _final(survey, source)


def _survey(source: Source) -> _Survey:
    values: dict[str, tuple[Piece, Any]] = {}
    broken: dict[str, Piece] = {}
    tail: Piece | None = None
    repeated: list[Repair] = []
    for piece in pieces(source.text):
        if len(values) + len(broken) == _MAX_OBJECTS:
            break
        if not _KEYED.search(piece.text, 0, len(piece.text) if piece.closed else _HEAD):
            continue
        if not piece.closed:
            if _looks_decided(piece, source):
                tail = piece
                break  # what follows is inside it
        elif piece.text in values or piece.text in broken:
            repeated = repeated or [repair("repetition", source.text, piece.text)]
        else:
            try:
                values[piece.text] = piece, exact(piece.text)
            except Unreadable:
                if _looks_decided(piece, source):
                    broken[piece.text] = piece
    return _Survey(list(values.values()), list(broken.values()), tail, repeated)


def _looks_decided(piece: Piece, source: Source) -> bool:
    """Whether an object that cannot be read begins like a call or a final answer and not like data."""
    text = piece.text if piece.closed else piece.text[:_HEAD]
    if _TOOL_KEY.search(text) or _FINAL_KEY.match(text):
        return True
    named = _NAME_VALUE.search(text)
    return named is not None and bool(_ARGUMENTS_KEY.search(text) or source.offer.resolve(named[1]))


def _settled(survey: _Survey, source: Source) -> tuple[list[tuple[Piece, Decision]], int]:
    """The calls and failed calls in the text, and how many objects of a name alone compete with them."""
    found: list[tuple[Piece, Decision]] = []
    rivals = 0
    for piece, value in survey.values:
        shapes = call_shapes(value)
        decision = _judged(piece, shapes, source) if shapes else _mixed(value, source)
        if decision is not None:
            found.append((piece, decision))
        elif shapes:
            rivals += any(shape.strength == "bare" for shape in shapes)
    return found, rivals


def _judged(piece: Piece, shapes: Sequence[Shape], source: Source) -> Decision | None:
    decision = settle(shapes, source.offer)
    quoted = isinstance(decision, DecodeError) and decision.reason == "unknown_tool" and _illustrates(piece, source)
    return None if quoted else decision


def _mixed(value: Any, source: Source) -> DecodeError | None:
    """What to say of a list that holds a call of a tool and something else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    inner = [shape for item in items[:MAX_CALLS] for shape in call_shapes(item) or ()]
    if any(shape.strength == "explicit" and source.offer.resolve(shape.name) for shape in inner):
        return error("malformed", "A list of which only some items are tool calls.", source.offer)
    return None


def _illustrates(piece: Piece, source: Source) -> bool:
    """Whether an object is an example in an explanation: fenced, with prose before and after."""
    before, after = source.text[: piece.start], source.text[piece.end :]
    return before.count("```") % 2 == 1 and all(re.search(r"\w", _MARKUP.sub("", part)) for part in (before, after))


def _unclosed(tail: Piece, source: Source) -> Decision:
    """An object that the text ends in: closed when only brackets are missing and the tool's schema says it is whole."""
    if source.cut_off:
        return error("cut_off", f"{_start(tail)} and was cut off by the token limit.", source.offer)
    try:
        value, repairs = closed(tail, source.offer.allowance)
    except Unreadable as why:
        return _malformed(tail, why, source)
    decision = _decision(value, source)
    if isinstance(decision, ToolCalls) and source.offer.tools is None:
        return _malformed(tail, "its closing brackets are missing", source)
    return _with(decision, repairs) if decision else _malformed(tail, "its closing brackets are missing", source)


def _mended(piece: Piece, source: Source) -> Decision | None:
    """The one object that is not strict JSON, mended; never that of a reply which was cut off."""
    if source.cut_off:
        return error("cut_off", f"{_start(piece)} in a reply that the token limit cut off.", source.offer)
    try:
        value, repairs = mend(piece.text, source.offer.allowance)
    except Unreadable as why:
        return _malformed(piece, why, source)
    decision = _decision(value, source)
    return _with(decision, repairs) if decision else None


def _decision(value: Any, source: Source) -> Decision | None:
    shapes = call_shapes(value)
    decision = settle(shapes, source.offer) if shapes else None
    answer = None if decision else final_answer(value)
    return decision if answer is None else Final(answer)


def _final(survey: _Survey, source: Source) -> Decision | None:
    """The one final answer among the objects. ``{"answer": …}`` counts only where nothing is around it."""
    found = [
        (piece, answer)
        for piece, value in survey.values
        if (answer := final_answer(value)) is not None and ("final" in value or _alone(piece, source))
    ]
    if len({answer for _, answer in found}) > 1:
        return error("ambiguous", f"{len(found)} different final answers.", source.offer)
    if not found:
        return None
    answer = found[0][1]
    return Final(answer, survey.repeated) if answer else error("empty", "A final answer without a text.", source.offer)


def _alone(piece: Piece, source: Source) -> bool:
    around = source.text[: piece.start] + " " + source.text[piece.end :].replace(piece.text, "")
    return not _MARKUP.sub("", around).strip()


def _with(decision: Decision, repairs: list[Repair]) -> Decision:
    """``decision``, made after ``repairs``."""
    if isinstance(decision, DecodeError) or not repairs:
        return decision
    return replace(decision, repairs=[*repairs, *decision.repairs])


def _malformed(piece: Piece, why: object, source: Source) -> DecodeError:
    return error("malformed", f"{_start(piece)} and does not parse: {why}.", source.offer, _meant(piece, source))


def _meant(piece: Piece, source: Source) -> str | None:
    named = _NAME_VALUE.search(piece.text)
    return source.offer.resolve(named[1]) if named else None


def _start(piece: Piece) -> str:
    return f"Text that starts with '{shorten(piece.text[:30], 30)}'"

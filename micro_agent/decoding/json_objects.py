"""A decision written as a JSON object somewhere in the text: alone, fenced, or with prose around it."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from micro_agent.decoding.arguments import closed
from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, ToolCalls
from micro_agent.decoding.markup.shared import TURN, spoken
from micro_agent.decoding.prose.examples import declares, is_example
from micro_agent.decoding.prose.spoken_of import is_choice, is_spoken_of
from micro_agent.decoding.prose.stated_order import in_stated_order
from micro_agent.decoding.repair.mending import Unreadable, mend, repair
from micro_agent.decoding.scan.scanner import Piece
from micro_agent.decoding.settle import MAX_CALLS, error, settle
from micro_agent.decoding.shapes import Known, Shape, call_shapes, final_answer
from micro_agent.decoding.source import Source
from micro_agent.decoding.survey import Survey, survey_of, tool_meant
from micro_agent.decoding.wording import shorten

_MARKUP = re.compile(r"```\w*|<[^<>]{0,60}>")
_SAYS_WORD = re.compile(rf"(?>(?:{_MARKUP.pattern}|\W)*)\w")
_BETWEEN = re.compile(r"(?>(?:[\s,;]|```\w*|^[ \t]*+[-*•][ \t])*)", re.MULTILINE)
_MAX_WRONG = 10
"""After so many objects that are wrong as calls the others change nothing."""


def read(source: Source) -> Decision | None:
    """The one decision among the objects of ``source``; a call outranks a final answer.

    Objects that are data for the user are none. Several different calls are a list when nothing stands between them,
    else ambiguous.
    """
    survey = survey_of(source)
    found, rivals = _settled(survey, source)
    calls = [one for one in found if not isinstance(one[1], Final)] or found
    tail = survey.tail
    if tail is not None and survey.repeated and calls and calls[0][0].text.startswith(tail.text.rstrip()):
        tail = None  # the same object over and over, the last one cut off
    imagined = TURN.search(source.text, calls[0][0].end) if calls else None
    stop = imagined.start() if imagined else len(source.text)  # what follows was decided without a result
    calls, again = _different([one for one in calls if one[0].start < stop], source)
    repeated = [*survey.repeated, *again]
    tail = tail if tail is None or tail.start < stop else None
    broken = [one for one in survey.broken if one[0].start < stop and not _is_example(one[0], source)]
    attempts = len(calls) + len(broken) + (tail is not None)
    if attempts == len(calls) and calls and not rivals and _is_spoken_of(calls, source):
        return spoken(source)
    if attempts == len(calls) > 1 and not rivals and (listed := _side_by_side(calls, source)) is not None:
        return _with(listed, repeated)
    if attempts > 1 or (attempts and rivals):
        seen = f"{attempts + rivals} different objects that look like a decision."
        return error("cut_off" if tail is not None and source.cut_off else "ambiguous", seen, source.offer)
    if calls:
        return _chosen(calls[0], source) or _with(calls[0][1], repeated)
    if tail is not None:
        closed_up = _unclosed(tail, source)
        return spoken(source) if _is_spoken_of([(tail, closed_up)], source) else closed_up
    if broken:
        return _widened(broken[0][0], source) or _unreadable(*broken[0], source)
    return _final(survey, source)


def _different(
    calls: Sequence[tuple[Piece, Decision]], source: Source
) -> tuple[list[tuple[Piece, Decision]], list[Repair]]:
    """The decisions without those that say the same as one before, in whatever spelling."""
    said = [_said(decision, source) for _, decision in calls]
    kept = [one for index, one in enumerate(calls) if said[index] not in said[:index]]
    again = [repair("repetition", source.text, f"{len(kept)} of {len(calls)}")] if len(kept) < len(calls) else []
    return kept, again


def _said(decision: Decision, source: Source) -> Any:
    """What a decision comes to: its calls as the tools get them, the answer."""
    if isinstance(decision, ToolCalls):
        return [(call.name, source.offer.coerced(call.name, call.args)[0]) for call in decision.calls]
    return decision.answer if isinstance(decision, Final) else decision


def _is_spoken_of(calls: Sequence[tuple[Piece, Decision]], source: Source) -> bool:
    """Whether all of these are calls and the text only speaks of them."""
    meant = all(isinstance(decision, ToolCalls) for _, decision in calls)
    return meant and is_spoken_of(source.text, (calls[0][0].start, calls[-1][0].end))


def _chosen(call: tuple[Piece, Decision], source: Source) -> DecodeError | None:
    """What to say of a list that is offered to choose from."""
    piece, decision = call
    if (
        not isinstance(decision, ToolCalls)
        or len(decision.calls) < 2
        or not is_choice(source.text, (piece.start, piece.end))
    ):
        return None
    return error("ambiguous", f"{len(decision.calls)} calls to choose from.", source.offer)


def _side_by_side(calls: Sequence[tuple[Piece, Decision]], source: Source) -> Decision | None:
    """Different calls with nothing but blanks, commas, bullets and fences between them, or words that say the order."""
    if len(calls) > MAX_CALLS:
        return None
    start, end = calls[0][0].start, calls[-1][0].end
    span = between = source.text[start:end]
    for piece, _ in calls:
        between = between.replace(piece.text, "\0")
    parts = between.split("\0")[1:-1]
    alone = all(_BETWEEN.fullmatch(part) for part in parts)
    if is_choice(source.text, (start, end)) or not (alone or in_stated_order(source.text[:start], parts)):
        return None
    wrong = next((decision for _, decision in calls if isinstance(decision, DecodeError)), None)
    listed = [decision for _, decision in calls if isinstance(decision, ToolCalls)]
    if wrong is not None or not listed:
        return wrong
    joined = ToolCalls([c for one in listed for c in one.calls], [r for one in listed for r in one.repairs])
    return _with(joined, [repair("side_by_side", span, f"{len(joined.calls)} calls")])


def _settled(survey: Survey, source: Source) -> tuple[list[tuple[Piece, Decision]], int]:
    """The calls and failed calls in the text, and how many objects of a name alone compete with them."""
    found: list[tuple[Piece, Decision]] = []
    rivals = wrong = 0
    known = _known(source)
    for one in survey.values:
        shapes = call_shapes(one.value, known)
        decision = _judged(one.piece, shapes, source) if shapes else _mixed(one.value, source)
        if decision is not None:
            found.append((one.piece, _with(decision, one.repairs)))
            wrong += isinstance(decision, DecodeError)
            if wrong > _MAX_WRONG:
                break
        elif shapes:
            rivals += any(shape.strength == "bare" for shape in shapes)
    return found, rivals


def _judged(piece: Piece, shapes: Sequence[Shape], source: Source) -> Decision | None:
    decision = settle(shapes, source.offer)
    described = all(shape.strength == "described" for shape in shapes)
    if not isinstance(decision, DecodeError) or not (described or decision.reason == "unknown_tool"):
        return decision
    if described and declares(source.text, piece.start):
        return None
    if _illustrates(piece, source) or _is_example(piece, source) or _is_named_only(piece, source):
        return None
    return decision


def _is_named_only(piece: Piece, source: Source) -> bool:
    """Whether the text only speaks of an object that names no tool."""
    return not source.cut_off and is_spoken_of(source.text, (piece.start, piece.end))


def _mixed(value: Any, source: Source) -> DecodeError | None:
    """What to say of a list that holds a call of a tool and something else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    inner = [shape for item in items[:MAX_CALLS] for shape in call_shapes(item) or ()]
    if any(shape.strength == "explicit" and source.offer.resolve(shape.name) for shape in inner):
        return error("malformed", "A list of which only some items are tool calls.", source.offer)
    return None


def _is_example(piece: Piece, source: Source) -> bool:
    return not source.cut_off and is_example(source.text, (piece.start, piece.end), source.offer.names or ())


def _illustrates(piece: Piece, source: Source) -> bool:
    """Whether an object is an example in an explanation: fenced, with prose before and after."""
    text = source.text
    if text.count("```", 0, piece.start) % 2 == 0:
        return False
    return bool(_SAYS_WORD.match(text, 0, piece.start) and _SAYS_WORD.match(text, piece.end))


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


def _widened(piece: Piece, source: Source) -> Decision | None:
    """The decision in an object that seems to end too early, since a quote in it is not escaped."""
    text = source.text[piece.start : source.text.rfind("}") + 1]
    if source.cut_off or len(text) <= len(piece.text):
        return None
    with suppress(Unreadable):
        value, repairs = mend(text, source.offer.allowance, closing=False)
        found = _decision(value, source)
        return _with(found, repairs) if found else None
    return None


def _unreadable(piece: Piece, why: Unreadable | None, source: Source) -> DecodeError:
    """What to say of the one object that is not JSON."""
    if why is None:
        return error("cut_off", f"{_start(piece)} in a reply that the token limit cut off.", source.offer)
    return _malformed(piece, why, source)


def _decision(value: Any, source: Source) -> Decision | None:
    shapes = call_shapes(value, _known(source))
    decision = settle(shapes, source.offer) if shapes else None
    answer = None if decision else final_answer(value)
    return decision if answer is None else Final(answer)


def _final(survey: Survey, source: Source) -> Decision | None:
    """The one final answer among the objects. ``{"answer": …}`` counts only where nothing is around it."""
    found = [
        (one, answer)
        for one in survey.values
        if (answer := final_answer(one.value)) is not None and ("final" in one.value or _alone(one.piece, source))
    ]
    if len({answer for _, answer in found}) > 1:
        return error("ambiguous", f"{len(found)} different final answers.", source.offer)
    if not found:
        return None
    one, answer = found[0]
    if not answer:
        return error("empty", "A final answer without a text.", source.offer)
    return Final(answer, [*survey.repeated, *one.repairs])


def _known(source: Source) -> Known | None:
    """What tells a tool's name; ``None`` when the tools are not known, since then any name would do."""
    return None if source.offer.tools is None else lambda name: source.offer.resolve(name) is not None


def _alone(piece: Piece, source: Source) -> bool:
    around = source.text[: piece.start] + " " + source.text[piece.end :].replace(piece.text, "")
    return not _MARKUP.sub("", around).strip()


def _with(decision: Decision, repairs: Sequence[Repair]) -> Decision:
    """``decision``, made after ``repairs``."""
    if isinstance(decision, DecodeError) or not repairs:
        return decision
    return replace(decision, repairs=[*repairs, *decision.repairs])


def _malformed(piece: Piece, why: object, source: Source) -> DecodeError:
    return error("malformed", f"{_start(piece)} and does not parse: {why}.", source.offer, tool_meant(piece, source))


def _start(piece: Piece) -> str:
    return f"Text that starts with '{shorten(piece.text[:30], 30)}'"

"""From markup to a decision: what all dialects share.

A dialect finds its begin markers with `marks`, reads what they hold into `Shape` objects, and lets `decided` judge
them. Begin markers are looked for once and their number is bounded, so the time stays linear.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, ToolCalls
from micro_agent.decoding.prose.examples import is_example
from micro_agent.decoding.prose.spoken_of import is_choice, is_spoken_of
from micro_agent.decoding.repair.mending import repair
from micro_agent.decoding.settle import error, settle
from micro_agent.decoding.shapes import Shape
from micro_agent.decoding.source import Source
from micro_agent.decoding.wording import shorten

MAX_MARKS = 40
"""So many begin markers are looked at: more than calls are allowed in one reply."""

TURN = re.compile(
    r"<\|im_start\|>\s*(?:user|tool|system)|<\|start\|>\s*(?:functions|user)|</?tool_(?:response|result|output)s?>"
    r"|<\|?tool_response\|?>|\[TOOL_RESULTS\]|<｜tool▁outputs?▁begin｜>|^Observation(?:[ ]\d{1,2})?:"
    r"|<\|from\|>\s{0,9}(?!assistant\b)\w",
    re.MULTILINE,
)
"""Where a model goes on with the result that it imagines, or with the next turn of the user."""

_CLOSING = re.compile(
    r"</[\w:|]{1,40}>|<[|｜](?:call|return|/[\w ]{1,40}|[^<>|｜\n]{0,30}(?:end|END|eot|eom|stop)[^<>|｜\n]{0,20})[|｜]>"
    r"|\[/[A-Z_]{1,30}\]|<\w{1,20}\|>"
)
_WORD = re.compile(r"\w")
_MAX_LINE = 4000


def marks(source: Source, begin: re.Pattern[str]) -> list[re.Match[str]]:
    """The first `MAX_MARKS` matches of ``begin`` that are markup: not inside readable JSON, not inside inline code."""
    found = list(islice(begin.finditer(source.text), MAX_MARKS))
    return [mark for mark in source.data.outside(found) if not in_inline_code(source.text, mark.start())]


def in_inline_code(text: str, at: int) -> bool:
    """Whether ``at`` is between two backticks of one line in a text that says more than what is between them."""
    line = text.rfind("\n", max(0, at - _MAX_LINE), at) + 1 or max(0, at - _MAX_LINE)
    if text.find("`", line, at) < 0:
        return False
    end = text.find("\n", at, at + _MAX_LINE)
    before, after = text[line:at].replace("```", ""), text[at : end if end >= 0 else at + _MAX_LINE].replace("```", "")
    if before.count("`") % 2 == 0 or "`" not in after:
        return False
    return bool(_WORD.search(text[:line] + before[: before.rindex("`")]) or _WORD.search(after, after.index("`")))


_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]{1,4000})`(?!`)")
_ANY_MARK = re.compile(r"\s*+(?:<[|｜]?(?:\w{1,20}:)?(?:tool|function|action|invoke)|\[TOOL_CALLS\])", re.IGNORECASE)


def without_quoted_markup(text: str) -> str:
    """``text`` with blanks for the inline code that holds markup, unless there is nothing else in it."""
    blanked = _INLINE_CODE.sub(lambda code: " " * len(code[0]) if _ANY_MARK.match(code[1]) else code[0], text)
    return blanked if _WORD.search(blanked) else text


def decided(
    shapes: Sequence[Shape],
    source: Source,
    *,
    dialect: str,
    span: tuple[int, int],
    repairs: Sequence[Repair] = (),
    fault: str | None = None,
    unfinished: bool = False,
) -> Decision | None:
    """The decision that the markup of one dialect is.

    Args:
        shapes: All calls in the markup, in order; at least one, unless there is a fault or the text ends too early.
            They count as explicit, whatever their strength.
        source: What was read.
        dialect: Its name, for the record: the first repair is of the kind ``dialect:<name>``.
        span: Where in the text the first marker begins and the last one ends.
        repairs: What was mended to get the shapes.
        fault: Why a part of the markup cannot be read (half a sentence). Then nothing is run.
        unfinished: The text ends inside a call. Then nothing is run either.

    Returns:
        Calls, a final answer or an error. Where the markup is only an example, the text is the answer.
    """
    decision = _judged(shapes, source, span, fault, unfinished)
    if decision is None or isinstance(decision, DecodeError):
        unmeant = decision is not None and decision.reason in ("unknown_tool", "malformed") and not source.cut_off
        return (
            Final(source.text, prose=True)
            if unmeant and is_example(source.text, span, source.offer.names or ())
            else decision
        )
    if isinstance(decision, ToolCalls):
        if is_spoken_of(source.text, span):
            return spoken(source)
        if len(decision.calls) > 1 and is_choice(source.text, span):
            return error("ambiguous", f"{len(decision.calls)} calls to choose from.", source.offer)
    before = source.text[span[0] : span[1]]
    return replace(
        decision, repairs=[repair(f"dialect:{dialect}", before, _rendered(decision)), *repairs, *decision.repairs]
    )


def different(parts: Sequence[Sequence[Shape]], source: Source) -> tuple[list[Shape], list[Repair]]:
    """The calls of all ``parts``, without those of a part that was there before, and what to record of that.

    A part is what one marker or one line holds. A list inside it may hold a call twice.
    """
    kept = [part for i, part in enumerate(parts) if part not in parts[:i]]
    repeats = [repair("repetition", source.text, f"{len(kept)} of {len(parts)}")] if len(kept) < len(parts) else []
    return [shape for part in kept for shape in part], repeats


def spoken(source: Source) -> Final | DecodeError:
    """The whole text as the answer, since the calls in it are only spoken of."""
    if source.cut_off:
        return error("cut_off", "An answer that speaks of a call and was cut off by the token limit.", source.offer)
    return Final(source.text, prose=True)


def _judged(
    shapes: Sequence[Shape], source: Source, span: tuple[int, int], fault: str | None, unfinished: bool
) -> Decision | None:
    begin = f"Markup that starts with {shorten(source.text[span[0] : span[1]], 40)!r}"
    if source.cut_off and (unfinished or fault or _goes_on(source.text[span[1] :])):
        return error("cut_off", f"{begin} and was cut off by the token limit.", source.offer)
    if unfinished or fault:
        reason = fault or "it ends before the call is complete"
        return error("malformed", f"{begin} and cannot be read: {reason}.", source.offer, _meant(shapes, source))
    return settle([_explicit(shape) for shape in shapes], source.offer)


def _explicit(shape: Shape) -> Shape:
    return shape if shape.strength == "described" else Shape(shape.name, shape.args, "explicit")


def _meant(shapes: Sequence[Shape], source: Source) -> str | None:
    return source.offer.resolve(shapes[-1].name) if shapes else None


def _goes_on(rest: str) -> bool:
    """Whether something that may be another call follows, before an imagined result."""
    turn = TURN.search(rest)
    rest = rest[: turn.start()] if turn else rest
    return any(bracket in _CLOSING.sub("", rest) for bracket in "{<[")


def _rendered(decision: ToolCalls | Final) -> str:
    """The decision as JSON, for the record."""
    if isinstance(decision, Final):
        return json.dumps({"final": decision.answer}, ensure_ascii=False)
    calls = [{"name": call.name, "arguments": call.args} for call in decision.calls]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)

"""The outputs in a reply, where an answer has a schema: under ``final``, alone, fenced, or with prose around them.

They are then a call of the tool that takes outputs. A text is not an answer here.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.decision import (
    Decision,
    DecodeError,
    Final,
    ModelReply,
    Reason,
    Repair,
    ToolCall,
    ToolCalls,
    ToolSpec,
)
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.strict import Unreadable, exact, repair
from micro_agent.decoding.wording import shorten
from micro_agent.tools.outputs import Outputs

_FINAL = "final"
_MAX_OBJECTS = 50
_FENCED = re.compile(r"\A\s*```\w*\s*+(?P<inside>\{[^`]*)```\s*\Z")
_SAYS_WHY = ("cut_off", "refused", "empty")


def as_asked(reply: ModelReply, offer: Offer) -> ToolCalls | None:
    """The outputs of a reply that is ``{"final": {…}}`` to the letter; the loop says what is wrong in them."""
    text = reply.text.strip()
    if offer.submit is None or reply.calls or not text.startswith("{"):
        return None
    try:
        value = exact(text)
    except Unreadable:
        return None
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return _call(given[_FINAL], offer) if list(given) == [_FINAL] and isinstance(given[_FINAL], dict) else None


def with_outputs(found: Decision, reply: ModelReply, offer: Offer) -> Decision:
    """What was found in a reply, or the outputs that stand in its text. Anything else that is no call is an error."""
    if offer.submit is None or isinstance(found, ToolCalls) or reply.calls:
        return found
    if isinstance(found, DecodeError) and found.reason in _SAYS_WHY:
        return found
    named = list(islice(_objects(reply, offer), _MAX_OBJECTS))
    fitting = [one for one in named if offer.faults(offer.submit.name, one[0]) is None]
    distinct = [one for number, one in enumerate(fitting) if one[0] not in [other for other, _ in fitting[:number]]]
    if len(distinct) > 1:
        return _error("ambiguous", f"{len(distinct)} different objects that each look like a final answer.", offer)
    if distinct or (len(named) == 1 and isinstance(found, Final)):
        args, repairs = (distinct or named)[0]
        return _call(args, offer, repairs)
    if isinstance(found, DecodeError):
        return found
    return _error("malformed", f"A text where {_wanted(offer)} is wanted: {shorten(found.answer, 60)!r}.", offer)


def not_data(found: Decision, outputs: Outputs, tools: Sequence[ToolSpec]) -> Decision:
    """What was found in JSON mode; an object that is neither a call nor final is an answer only if it is the output."""
    if not isinstance(found, Final) or not found.prose:
        return found
    fenced = _FENCED.match(found.answer)
    try:
        value = exact(fenced["inside"] if fenced else found.answer)
    except Unreadable:
        return found
    if not isinstance(value, dict):
        return found
    match list(cast("dict[str, Any]", value).items()):
        case [(outputs.text, str(text))] if text.strip():
            return Final(text, [*found.repairs, repair("bare_outputs", found.answer, text)])
        case _:
            seen = f"An object that is neither a call nor a final answer: {shorten(found.answer, 60)!r}."
            return _error("malformed", seen, Offer(tools))


def _call(args: Any, offer: Offer, repairs: list[Repair] | None = None) -> ToolCalls:
    assert offer.submit is not None, "outputs are wanted"
    return ToolCalls([ToolCall(offer.submit.name, args)], repairs or [])


def _error(reason: Reason, seen: str, offer: Offer) -> DecodeError:
    from micro_agent.decoding.settle import error

    return error(reason, seen, offer)


def _wanted(offer: Offer) -> str:
    assert offer.submit is not None, "outputs are wanted"
    return f"a call of {offer.submit.name}" if offer.native else 'an object {"final": …}'


def _objects(reply: ModelReply, offer: Offer) -> Iterator[tuple[dict[str, Any], list[Repair]]]:
    """The objects in the text that name an output."""
    from micro_agent.decoding.arguments import read_arguments
    from micro_agent.decoding.clearing.thinking import without_thinking
    from micro_agent.decoding.scan.scanner import pieces

    assert offer.submit is not None, "outputs are wanted"
    text, known = without_thinking(reply.text), offer.properties(offer.submit.name)
    for piece in pieces(text):
        if not piece.text.startswith("{") or (reply.cut_off and not piece.closed):
            continue
        with suppress(Unreadable):
            value, repairs = read_arguments(piece.text, offer.allowance)
            inner = _inside(value, known)
            if inner is not None:
                yield inner, [*repairs, repair("bare_outputs", piece.text, str(inner))]


def _inside(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any] | None:
    """The outputs, taken out of one object around them; the value under ``final`` where there is one output alone."""
    if value.keys() & known:
        return value
    around = next(iter(value), "") if len(value) == 1 else _FINAL
    if around not in value:
        return None
    inner = value[around]
    if isinstance(inner, dict) and cast("dict[str, Any]", inner).keys() & known:
        return cast("dict[str, Any]", inner)
    return {next(iter(known)): inner} if around == _FINAL and len(known) == 1 and inner is not None else None

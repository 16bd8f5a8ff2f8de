"""A decision in plain text: one reader after the other, each for one way of writing it; what none reads is prose."""

from collections.abc import Callable
from dataclasses import replace

from micro_agent.decoding import json_objects
from micro_agent.decoding.decision import Decision, DecodeError, Final
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair import Unreadable, exact, repair
from micro_agent.decoding.settle import error
from micro_agent.decoding.source import Source
from micro_agent.decoding.thinking import without_thinking
from micro_agent.decoding.wording import shorten

Reader = Callable[[Source], Decision | None]
"""Reads one form, such as the markup of a dialect; ``None`` when the text is not in it."""

READERS: tuple[Reader, ...] = (json_objects.read,)
"""In this order; explicit markup belongs before the objects that may stand anywhere."""


def read_text(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    """The decision in ``text``; prose is the final answer."""
    source = Source(without_thinking(text), finish_reason == "length", offer)
    found = _first(source) or _unquoted(source)
    if found is not None:
        return found
    if source.cut_off:
        ending = f", ending in {source.text[-40:]!r}" if source.text else " before the thinking ended" if text else ""
        return error("cut_off", f"A reply that the token limit cut off{ending}.", offer)
    if source.text:
        return Final(source.text)
    if finish_reason == "content_filter":
        return error("refused", "Nothing: the content filter of the server stopped the reply.", offer)
    return error("empty", "Thinking and no decision after it." if text.strip() else "An empty reply.", offer)


def _first(source: Source) -> Decision | None:
    return next((found for reader in READERS if (found := reader(source)) is not None), None)


def _unquoted(source: Source) -> Decision | None:
    """The decision in a text that is one JSON string as a whole."""
    if not source.text.startswith('"') or "{" not in source.text:
        return None
    try:
        inner = exact(source.text)
    except Unreadable:
        return None
    found = _first(replace(source, text=inner.strip()))
    if found is None or isinstance(found, DecodeError):
        return found
    return replace(found, repairs=[repair("double_encoding", source.text, shorten(inner, 200)), *found.repairs])

"""A decision in plain text: one reader after the other, each for one way of writing it; what none reads is prose."""

import re
from dataclasses import replace

from micro_agent.decoding import dialects, json_objects
from micro_agent.decoding.decision import Decision, DecodeError, Final, ToolCalls
from micro_agent.decoding.dialects import unread
from micro_agent.decoding.markup import without_quoted_markup
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair import Unreadable, exact, repair
from micro_agent.decoding.settle import error
from micro_agent.decoding.source import Reader, Source
from micro_agent.decoding.thinking import spoken
from micro_agent.decoding.tokens import own_turn, without_end_of_turn, without_tokens
from micro_agent.decoding.wording import shorten


def read_text(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    """The decision in ``text``; prose is the final answer."""
    said = spoken(own_turn(text, offer.allowance), offer.allowance)
    source = Source(without_end_of_turn(said.text), finish_reason == "length", offer)
    found = _unquoted(source) or _first(source)
    if found is None and said.open_thought and not source.text:
        found = _after_open_thought(replace(source, text=said.open_thought))
    if found is not None:
        return found
    if source.cut_off:
        ending = f", ending in {source.text[-40:]!r}" if source.text else " before the thinking ended" if text else ""
        return error("cut_off", f"A reply that the token limit cut off{ending}.", offer)
    answer, repairs = without_tokens(said.text)
    if answer:
        return Final(answer, repairs)
    if finish_reason == "content_filter":
        return error("refused", "Nothing: the content filter of the server stopped the reply.", offer)
    return error("empty", "Thinking and no decision after it." if text.strip() else "An empty reply.", offer)


def _objects(source: Source) -> Decision | None:
    """The decision in the JSON of the text, next to special tokens and to markup that is only quoted."""
    text, _ = without_tokens(source.text)
    found = json_objects.read(replace(source, text=text))
    unquoted = without_quoted_markup(text)
    if found is not None and unquoted != text and json_objects.read(replace(source, text=unquoted)) is None:
        return None
    return found


READERS: tuple[Reader, ...] = (*dialects.READERS, _objects, unread.read)
"""In this order: explicit markup, objects that may stand anywhere, at last the fault in markup that none could read."""


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


def _after_open_thought(source: Source) -> Decision | None:
    """The one call in markup that a thought without an end ends in; the parsers of Ollama and vLLM take it for one too.

    A call in the middle of a thought is only thought of, and so is one of several.
    """
    if source.cut_off or not re.search(r"[>}\])]\W*\Z", source.text[-80:]):
        return None
    found = next((found for reader in dialects.READERS if (found := reader(source)) is not None), None)
    if not isinstance(found, ToolCalls) or len(found.calls) > 1 or not found.repairs:
        return None
    return replace(found, repairs=[repair("unclosed_thinking", source.text, found.repairs[0].before), *found.repairs])

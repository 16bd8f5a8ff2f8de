"""A decision in plain text: one reader after the other, each for one way of writing it; what none reads is prose."""

import html
import re
from dataclasses import replace

from micro_agent.decoding import dialects, json_strings
from micro_agent.decoding.answers import checked
from micro_agent.decoding.clearing.loops import MAX_READ, beginning, is_loop, once
from micro_agent.decoding.clearing.spellings import respelled, stands_in
from micro_agent.decoding.clearing.thinking import spoken
from micro_agent.decoding.clearing.tokens import own_turn, without_end_of_turn, without_tokens
from micro_agent.decoding.clearing.values_kept import kept
from micro_agent.decoding.decision import Decision, DecodeError, Final, ToolCalls
from micro_agent.decoding.dialects import unread
from micro_agent.decoding.markup.shared import without_quoted_markup
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.guessing import keys, texts
from micro_agent.decoding.repair.mending import Unreadable, exact, repair
from micro_agent.decoding.scan.data import Data
from micro_agent.decoding.settle import error
from micro_agent.decoding.source import Reader, Source
from micro_agent.decoding.wording import shorten

_MAX_AGAIN = 30_000
"""Characters of a reply that is read once more, with its thoughts, where a value without them is not what was said."""


def read_text(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    """The decision in ``text``; prose is the final answer."""
    if is_loop(text) and not _is_json(text):
        return _in_loop(text, offer)
    repeated = _repeated(text, offer) if finish_reason == "length" else None
    found = repeated or _read(text, finish_reason, offer)
    if not isinstance(found, Final):
        return found
    if finish_reason == "content_filter":
        return error("refused", "An answer that the content filter of the server cut off.", offer)
    return checked(found, text, lambda answer: _first(Source(answer, cut_off=False, offer=offer)), offer)


def _read(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    """The decision in a text, with its markup as the dialects know it."""
    if (again := respelled(text, offer.names or ())) is None:
        return _read_as_written(text, finish_reason, offer)
    found = _read_as_written(again, finish_reason, offer)
    if _keeps(found, text):
        return found
    written = _read_as_written(text, finish_reason, offer)
    markup_itself = isinstance(written, Final) and written.answer == text.strip()
    if not markup_itself or isinstance(found, Final):
        return written
    return found if isinstance(found, DecodeError) else error("malformed", "A call with markup inside a value.", offer)


def _is_json(text: str) -> bool:
    try:
        exact(text)
    except Unreadable:
        return False
    return True


def _repeated(text: str, offer: Offer) -> Decision | None:
    """The decision that a reply repeats until the token limit."""
    left = 2 * MAX_READ
    for said in once(text):
        left -= len(said)
        found = _read(said, "length", offer) if left >= 0 else None
        if isinstance(found, ToolCalls | Final):
            return replace(found, repairs=[repair("repetition", text, said), *found.repairs])
    return None


def _in_loop(text: str, offer: Offer) -> Decision:
    """The decision that a reply without an end begins with, if it is whole there."""
    head = beginning(text)
    found = read_text(head, "length", offer)
    if isinstance(found, DecodeError):
        return error("malformed", f"{len(text)} characters that say the same again and again.", offer)
    return replace(found, repairs=[repair("repetition", text, head), *found.repairs])


def _keeps(found: Decision, text: str) -> bool:
    """Whether what was read in the respelled text is what the model wrote."""
    if isinstance(found, ToolCalls):
        plain = html.unescape(text)
        said = (part for call in found.calls for part in (*texts(call.args), *keys(call.args)))
        return all(stands_in(value, text) or stands_in(value, plain) for value in said)
    return isinstance(found, Final) and found.answer in text


def _read_as_written(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    data = Data(text, offer.allowance)
    own = own_turn(data)
    said = spoken(data.of(own))
    source = Source(without_end_of_turn(said.text), finish_reason == "length", offer)
    found = _unquoted(source) or _first(source)
    if said.text not in own:
        whole = replace(source, text=without_end_of_turn(own).strip())
        found = kept(found, own, lambda: _first(whole) if len(own) <= _MAX_AGAIN else None, offer)
    if found is None and said.open_thought and not source.text:
        found = _after_open_thought(replace(source, text=said.open_thought))
    if found is not None:
        return found
    if source.cut_off:
        ending = f", ending in {source.text[-40:]!r}" if source.text else " before the thinking ended" if text else ""
        return error("cut_off", f"A reply that the token limit cut off{ending}.", offer)
    answer, repairs = without_tokens(said.text, source.data)
    if answer:
        return Final(answer, repairs, prose=True)
    if finish_reason == "content_filter":
        return error("refused", "Nothing: the content filter of the server stopped the reply.", offer)
    return error("empty", "Thinking and no decision after it." if text.strip() else "An empty reply.", offer)


def _objects(source: Source) -> Decision | None:
    """The decision in the JSON of the text, next to special tokens and to markup that is only quoted."""
    text, _ = without_tokens(source.text, source.data)
    found = json_strings.read(source if text == source.text else replace(source, text=text))
    if found is None:
        return None
    unquoted = without_quoted_markup(text)
    if unquoted != text and json_strings.read(replace(source, text=unquoted)) is None:
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
    whole = source.data.pieces[0].text == source.text if source.text.startswith("{") and source.data.pieces else False
    readers = (*dialects.READERS, _objects) if whole else dialects.READERS
    found = next((found for reader in readers if (found := reader(source)) is not None), None)
    if not isinstance(found, ToolCalls) or len(found.calls) > 1:
        return None
    before = found.repairs[0].before if found.repairs else source.text
    return replace(found, repairs=[repair("unclosed_thinking", source.text, before), *found.repairs])

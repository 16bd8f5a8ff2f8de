"""A decision in plain text: the readers claim stretches of it, one judge decides; what nobody claims is prose."""

import html
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from micro_agent.decoding.answers import checked
from micro_agent.decoding.attempts import unmade
from micro_agent.decoding.claims import Claim
from micro_agent.decoding.clearing.loops import MAX_READ, beginning, once
from micro_agent.decoding.clearing.thinking import spoken
from micro_agent.decoding.clearing.tokens import own_turn, without_end_of_turn, without_tokens
from micro_agent.decoding.clearing.values_kept import are_said
from micro_agent.decoding.decision import Decision, DecodeError, Final, ToolCalls
from micro_agent.decoding.judge import judged
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.page import Page
from micro_agent.decoding.reading import (
    argument_blocks,
    delimited,
    labels,
    lines,
    marked,
    objects,
    options,
    python,
    tags,
)
from micro_agent.decoding.repair.mending import Unreadable, exact, repair, unescaped
from micro_agent.decoding.scan.data import Data
from micro_agent.decoding.settle import error

READERS = (
    delimited.read,
    options.read,
    argument_blocks.read,
    tags.read,
    marked.read,
    labels.read,
    objects.read,
    python.read,
)
"""In any order: where two claim the same place, the rank of the dialect decides (see `rows.RANKS`)."""


def read_text(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    """The decision in ``text``; prose is the final answer."""
    if (head := beginning(text)) is not None and not _is_json(text):
        return _in_loop(text, head, offer)
    repeated = _repeated(text, offer) if finish_reason == "length" else None
    found = repeated or _read(text, finish_reason, offer)
    if not isinstance(found, Final):
        return found
    if finish_reason == "content_filter":
        return error("refused", "An answer that the content filter of the server cut off.", offer)
    return checked(found, text, lambda answer: _first(Page(answer, cut_off=False, offer=offer)), offer)


def _is_json(text: str) -> bool:
    try:
        exact(text)
    except Unreadable:
        return False
    return True


def _repeated(text: str, offer: Offer) -> Decision | None:
    """The decision that a reply repeats until the token limit."""
    left = MAX_READ
    for said in once(text):
        left -= len(said)
        found = _read(said, "length", offer) if left >= 0 else None
        if isinstance(found, ToolCalls | Final):
            return replace(found, repairs=[repair("repetition", text, said), *found.repairs])
    return None


def _in_loop(text: str, head: str, offer: Offer) -> Decision:
    """The decision that a reply without an end begins with, if it is whole there."""
    found = read_text(head, "length", offer)
    if isinstance(found, DecodeError):
        return error("malformed", f"{len(text)} characters that say the same again and again.", offer)
    return replace(found, repairs=[repair("repetition", text, head), *found.repairs])


def _read(text: str, finish_reason: str | None, offer: Offer) -> Decision:
    data = Data(text, offer.allowance)
    own = own_turn(data)
    said = spoken(data.of(own))
    page = Page(without_end_of_turn(said.text), finish_reason == "length", offer)
    found = _first(page)
    if isinstance(found, ToolCalls) and said.text not in own and not are_said(found, own):
        return error("malformed", "A call with the markup of a thought inside a value.", offer)
    if found is None and said.open_thought and not page.text:
        found = _after_open_thought(Page(said.open_thought, page.cut_off, offer))
    if found is not None:
        return found
    if page.cut_off:
        ending = f", ending in {page.text[-40:]!r}" if page.text else " before the thinking ended" if text else ""
        return error("cut_off", f"A reply that the token limit cut off{ending}.", offer)
    answer, repairs = without_tokens(said.text, page.data)
    if (lost := unmade(page, answer)) is not None:
        return lost
    if answer:
        return Final(answer, repairs, prose=True)
    if finish_reason == "content_filter":
        return error("refused", "Nothing: the content filter of the server stopped the reply.", offer)
    return error("empty", "Thinking and no decision after it." if text.strip() else "An empty reply.", offer)


def _first(page: Page, levels: int = 2) -> Decision | None:
    """The decision in a text as it stands; else in what it encodes, if it does."""
    found = _decided(page)
    if isinstance(found, ToolCalls) or page.cut_off or not levels:
        return found
    lost = None
    for kind, text in _encoded(page.text):
        inner = _first(replace(page, text=text), levels - 1)
        if kind == "tags" and isinstance(inner, ToolCalls) and not are_said(inner, page.text):
            continue  # a bracket that was put in is part of a value
        if isinstance(inner, ToolCalls) or (isinstance(inner, Final) and found is None):
            return replace(inner, repairs=[repair(kind, page.text, text), *inner.repairs])
        lost = lost or (inner if kind == "double_encoding" else None)
    return found or lost


def _decided(page: Page) -> Decision | None:
    return judged(page, _claims(page))


def _claims(page: Page) -> list[Claim]:
    """What the readers claim; where the name of a tool is in none of it, what stands around that is looked at too."""
    claims = [claim for read in READERS for claim in read(page)]
    whole = sorted((one.start, one.end) for one in claims if one.shapes and one.sure and not one.is_lost)
    reach = at = 0
    for name in page.mentions:
        while at < len(whole) and whole[at][0] <= name.start:
            reach, at = max(reach, whole[at][1]), at + 1
        if name.start >= reach:
            return [*claims, *lines.read(page)]
    return claims


_QUOTED = re.compile(r'"(?<!["\']:")(?<!["\']: ")(?=\s{0,9}[\[{]\s{0,9}[{\\])[^"\\]*+(?>(?:\\.[^"\\]*+)*)(?P<end>")?')
_HALF_ESCAPED = re.compile(r"""\s*+(?:```\w*\s*+)?"?\s*+\{\s*+\\+\"""")


def _encoded(text: str) -> Iterator[tuple[str, str]]:
    """What ``text`` is when it is taken for a string of JSON, for HTML, or for an object that lacks its first brace."""
    if (inner := unescaped(text)) is not None:
        yield "double_encoding", inner
        return
    if text.startswith('"') and text.endswith('"'):
        with suppress(Unreadable):
            yield "double_encoding", str(exact(text)).strip()
    if '"{' in text or '"[' in text:
        try:
            bare = _QUOTED.sub(_bare, text, 100)
        except Unreadable:
            bare = text
        if bare != text:
            yield "double_encoding", bare
    if ("&lt;" in text and "<" not in text) or ("&quot;" in text and '"' not in text):
        yield "html", html.unescape(text)
    if "｛" in text or "＂" in text:
        yield "full_width", text.translate(_NARROW).replace('"，', '",').replace('"：', '":').replace("}，", "},")
    if "{“" in text:  # they stand for JSON's own, so those are part of a text
        yield "typographic_quotes", text.replace('\\"', '"').replace('"', '\\"').translate(_STRAIGHT)
    if ("▁" in text or "Ġ" in text) and "｜" not in text:
        yield "tokenizer_marks", text.translate(_BLANKS)
    if any(not tag["inline"] for tag in _FORMAT.finditer(text)):
        yield "html", html.unescape(_FORMAT.sub(lambda tag: "" if tag["inline"] else "\n", text)).replace("\xa0", " ")
    if "[>[" in text:
        yield "tags", _SENTINEL.sub("", text)
    if ("invoke name=" in text and "<invoke" not in text) or ("function=" in text and "<function" not in text):
        yield "tags", _BARE_TAG.sub(_bracketed, text)
    if _HALF_ESCAPED.match(text):
        bare = text.replace('\\"', '"')
        yield "double_encoding", bare.replace("\\\\", "\\") if text.lstrip().startswith('"') else bare


_FORMAT = re.compile(r"</?(?:(?P<inline>code|b|strong|i|em|span)|p|br|div|pre|li|ul|ol|h\d)\s?/?>")
"""Tags of HTML that only format."""
_NARROW = str.maketrans("｛｝［］＂", '{}[]"')
_STRAIGHT = str.maketrans("“”", '""')
_BLANKS = str.maketrans("▁ĠĊ", "  \n")
"""What SentencePiece and the byte-level tokenizers write for blanks."""
# MiniMax' tokens before each tag, and its tags without their brackets.
_SENTINEL = re.compile(r"\]<\]\w{1,20}\[>\[(?=\s?<)")
_BARE_TAG = re.compile(
    r"^(?P<blank>[ \t]{0,20})"
    r"(?P<open>(?:(?:invoke|parameter) name=[\"'][^\"'\n]{1,128}[\"']|(?:function|parameter)=[\w.-]{1,128})>)"
    r"|(?<![<\w/])/?(?P<alone>invoke|function|parameter)>[ \t]*+$|(?<![</])/?(?P<close>parameter)>[ \t]*+$",
    re.MULTILINE,
)


def _bracketed(found: re.Match[str]) -> str:
    return f"{found['blank']}<{found['open']}" if found["open"] else f"</{found['alone'] or found['close']}>"


def _bare(quoted: re.Match[str]) -> str:
    """What is in the string; one that a quote ends in the middle of an object stays as it is."""
    inner = str(exact(quoted[0], strict=False)) if quoted["end"] else ""
    return inner if inner.rstrip().endswith(("}", "]")) else quoted[0]


def _after_open_thought(page: Page) -> Decision | None:
    """The one call that a thought without an end ends in; the parsers of Ollama and vLLM take it for one too.

    A call in the middle of a thought is only thought of, and so is one of several.
    """
    if page.cut_off or not re.search(r"[>}\])]\W*\Z", page.text[-80:]):
        return None
    found = _decided(page)
    if not isinstance(found, ToolCalls) or len(found.calls) > 1:
        return None
    alone = page.text.startswith("{") and page.data.pieces and page.data.pieces[0].text == page.text
    if not alone and (
        not found.repairs
        or not found.repairs[0].kind.startswith("dialect:")
        or found.repairs[0].kind == "dialect:pythonic"
    ):
        return None
    before = found.repairs[0].before if found.repairs else page.text
    return replace(found, repairs=[repair("unclosed_thinking", page.text, before), *found.repairs])

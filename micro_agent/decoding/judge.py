"""One judge over what the readers claim: which claims count, what they come to, and how the calls in them stand."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from micro_agent.decoding.attempts import began, cannot_be_read, in_sentence, is_shown, says, unread
from micro_agent.decoding.claims import Claim
from micro_agent.decoding.clearing.tokens import without_tokens
from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, Standing, ToolCalls
from micro_agent.decoding.page import WORD, Page
from micro_agent.decoding.quoting import has_placeholder, is_all, outside, quoted
from micro_agent.decoding.repair.mending import as_json, repair
from micro_agent.decoding.rows import RANKS
from micro_agent.decoding.settle import MAX_CALLS, error, settle

_PLAIN = frozenset({"", "pythonic", "named"})
"""What is not markup: objects, calls in Python's syntax, a command line."""
_WRONG = ("malformed", "bad_arguments")
_SAYS = re.compile(r"[\w✅✔☑❌✓✗]")
_PRINTED = re.compile(
    r"(?:\b[A-Za-z_]\w{0,40}\s?=\s*)?print\(\s*(?:[A-Za-z_]\w*)?\s*\)|\A\s*[A-Za-z_]\w{0,40}\s?=\s*\Z"
)


def judged(page: Page, claims: Iterable[Claim]) -> Decision | None:
    """The decision that the claims come to; ``None`` where the text is prose."""
    kept = _own(page, _apart(page, claims))
    around = bool(kept) and WORD.search(outside(page, kept)) is not None
    shown = quoted(page, kept, around=around)
    told = [claim for claim in kept if claim not in shown]
    same: dict[tuple[str, str], Decision | None] = {}
    settled = [(claim, found) for claim in told if (found := _settled(page, claim, same)) is not None]
    settled = _meant(settled, around=around)
    calls = [(claim, found) for claim, found in settled if isinstance(found, ToolCalls)]
    if (wrong := _wrong(page, settled, bool(calls))) is not None:
        return wrong
    lost = unread(page, kept, calls[0][0].end if calls else 0)
    if calls:
        return lost or _together(page, calls)
    answers = [claim for claim, found in settled if isinstance(found, Final)]
    if any(claim.shapes for claim in shown) and is_all(page, [*shown, *answers]):
        name = next((page.offer.resolve(claim.shapes[0].name) for claim in shown if claim.shapes), None)
        return error("quoted", "A call that is shown and not made.", page.offer, name)
    if not lost and not answers and (marked := _marked(page, shown)) is not None:
        return replace(error("quoted", "A call with a placeholder in it.", page.offer, marked), in_text=marked)
    return lost or _final(page, [(claim, found) for claim, found in settled if isinstance(found, Final)])


def _meant(settled: list[tuple[Claim, Decision]], *, around: bool) -> list[tuple[Claim, Decision]]:
    """The claims without those that only speak of a tool, where words stand around.

    A name with empty brackets is spoken of unless another call stands there, and so is what is told of a tool that is
    called elsewhere in the text.
    """
    loose = ((claim, {one.strength for one in claim.shapes}) for claim, _ in settled if claim.dialect == "named")
    told = [claim for claim, strengths in loose if strengths == {"loose"}]
    sure = [found for claim, found in settled if claim.sure and claim not in told and isinstance(found, ToolCalls)]
    called = {call.name for found in sure for call in found.calls}

    def counts(claim: Claim, found: Decision) -> bool:
        empty = claim.dialect in ("pythonic", "named") and not (claim.sure or claim.is_lost)
        mention = around and empty
        if not mention and claim not in told:
            return True
        alike = isinstance(found, ToolCalls) and called.isdisjoint(call.name for call in found.calls)
        return alike and (bool(called) or not mention)

    return [(claim, found) for claim, found in settled if counts(claim, found)]


def _apart(page: Page, claims: Iterable[Claim]) -> list[Claim]:
    """The claims that do not stand inside another one; of two at one place that of the lower rank."""
    kept: list[Claim] = []
    for claim in sorted(claims, key=lambda one: (one.start, one.is_lost, RANKS[one.dialect])):
        if kept and claim.start < kept[-1].end:
            told = kept[-1]
            lost = told.fault is not None and not _is_markup(told) and _is_markup(claim)  # braces around markup
            whole = not told.fault and any(page.offer.resolve(shape.name) for shape in told.shapes)
            again = told.fault and told.dialect == "react" and _tools(page, claim) & _tools(page, told)
            if (lost or again or not (told.sure or whole)) and claim.sure and not claim.fault:
                kept[-1] = claim
            continue
        kept.append(claim)
    return kept


def _tools(page: Page, claim: Claim) -> set[str]:
    return {name for shape in claim.shapes if page.offer.tools and (name := page.offer.resolve(shape.name))}


def _own(page: Page, claims: list[Claim]) -> list[Claim]:
    """The claims without those behind a result that the model imagines: they were decided without one."""
    first = next((claim for claim in claims if claim.shapes and not claim.fault), None)
    if first is None or len(claims) == 1:
        return claims
    stop, said = page.turn_after(first.end), page.text[first.start : first.end]
    again = [
        one
        for one in claims
        if one is not first and one.unfinished and said.startswith(page.text[one.start : one.end].rstrip())
    ]
    return [claim for claim in claims if claim.start < stop and claim not in again]


def _settled(page: Page, claim: Claim, same: dict[tuple[str, str], Decision | None]) -> Decision | None:
    """What one claim comes to, as one that says the same did before; ``None`` for data."""
    if claim.is_lost:
        return _decided(page, claim)
    said = (claim.dialect, page.text[claim.start : claim.end])
    if said not in same:
        same[said] = _decided(page, claim)
    return same[said]


def _decided(page: Page, claim: Claim) -> Decision | None:
    if claim.is_lost:
        if page.cut_off:
            return error("cut_off", f"{began(page, claim)} and was cut off by the token limit.", page.offer)
        if not claim.sure and page.says_more(claim.start, claim.end):
            return None
        why = claim.fault or "it ends before the call is complete"
        named = page.offer.resolve(claim.shapes[-1].name) if claim.shapes else None
        return error("malformed", cannot_be_read(page, claim, why), page.offer, named)
    if claim.answer is not None and not claim.shapes:
        return Final(claim.answer, _recorded(page, claim, Final(claim.answer)))
    found = (
        settle(claim.shapes, page.offer)
        if claim.shapes
        else error("malformed", cannot_be_read(page, claim, "it holds no call"), page.offer)
    )
    if found is None and any(one.kind == "closing_brackets" for one in claim.repairs):
        return error("malformed", cannot_be_read(page, claim, "its closing brackets are missing"), page.offer)
    if isinstance(found, ToolCalls | Final):
        found.repairs[:0] = _recorded(page, claim, found)
    return found


def _recorded(page: Page, claim: Claim, found: ToolCalls | Final) -> list[Repair]:
    if not claim.dialect:
        return claim.repairs
    before = page.text[claim.start : claim.end].rstrip()
    return [repair(f"dialect:{claim.dialect}", before, _rendered(found)), *claim.repairs]


def _rendered(found: ToolCalls | Final) -> str:
    """The decision as JSON, for the record."""
    if isinstance(found, Final):
        return as_json({"final": found.answer})
    calls = [{"name": call.name, "arguments": call.args} for call in found.calls]
    return as_json(calls[0] if len(calls) == 1 else calls)


def _wrong(page: Page, settled: Sequence[tuple[Claim, Decision]], calls: bool) -> DecodeError | None:
    """The error that spoils the reply: other calls in it may depend on the one that is wrong."""
    errors = [(claim, found) for claim, found in settled if isinstance(found, DecodeError)]
    if not errors:
        return None
    cut = next((found for _, found in errors if found.reason == "cut_off"), None)
    if cut is not None:
        return cut
    for claim, found in errors:
        described = all(shape.strength == "described" for shape in claim.shapes)
        named = not described and _names_tool(page, claim)
        example = found.reason in ("unknown_tool", "malformed") and not named and page.says_more(claim.start, claim.end)
        if not _is_markup(claim) and found.reason != "unknown_tool" and _is_in_code(page, claim):
            continue
        spoken = found.reason == "malformed" and in_sentence(page, claim.start, claim.end)
        beside = calls and (not _is_markup(claim) or _is_foreign(page, claim))
        if not (example and (beside or spoken or is_shown(page, claim))):
            return _amid_text(page, claim, found)
    return None


def _marked(page: Page, shown: Sequence[Claim]) -> str | None:
    """The tool of the first call in markup that is shown for a placeholder alone: a value may well look like one."""
    held = (one for one in shown if _is_markup(one) and has_placeholder(one))
    free = (one for one in held if not (page.in_code(one.start) or page.is_quoted(one.start)))
    return next((name for one in free for shape in one.shapes if (name := page.offer.resolve(shape.name))), None)


def _amid_text(page: Page, claim: Claim, found: DecodeError) -> DecodeError:
    """The error, with the tool whose call words stand around, if it is a call that is wrong."""
    named = page.mentioned(claim.start, claim.end)
    called = [name for shape in claim.shapes if (name := page.offer.resolve(shape.name))] or [one.tool for one in named]
    if claim.is_lost and claim.end == len(page.text):  # where it ends is not known
        follows = page.says_more(claim.start, page.line_end(claim.start))
    else:
        follows = _text_follows(page, claim.end)
    return replace(found, in_text=called[0]) if called and follows and found.reason in _WRONG else found


def _is_in_code(page: Page, claim: Claim) -> bool:
    """Whether other code stands beside a claim in its fence, and words around that."""
    fence = page.fence_at(claim.start)
    if fence is None or not WORD.search(page.text[: fence.start] + page.text[fence.end :]):
        return False
    return WORD.search(page.text[fence.inside : claim.start] + page.text[claim.end : fence.stop]) is not None


def _is_foreign(page: Page, claim: Claim) -> bool:
    """Whether an object or more is in a claim, and no word of a tool or of an argument: it is a result."""
    text = page.text[claim.start : claim.end]
    return "{" in text and page.own_words.isdisjoint(word.casefold() for word in re.findall(r"\w+", text))


def _names_tool(page: Page, claim: Claim) -> bool:
    """Whether a tool is called or written in a claim."""
    if page.offer.tools is None:
        return False
    return any(page.offer.resolve(one.name) for one in claim.shapes) or bool(page.mentioned(claim.start, claim.end))


def _together(page: Page, calls: Sequence[tuple[Claim, ToolCalls]]) -> Decision:
    """All calls, those that say the same once, and how they stand."""
    kept = _different(page, calls) if len(calls) > 1 else calls
    listed = [call for _, found in kept for call in found.calls]
    if len(listed) > MAX_CALLS:
        return error("ambiguous", f"{len(listed)} tool calls in one reply, more than {MAX_CALLS}.", page.offer)
    repairs = [one for _, found in kept for one in found.repairs]
    if len(kept) < len(calls):
        repairs.append(repair("repetition", page.text, f"{len(kept)} of {len(calls)}"))
    if len(kept) > 1:
        repairs.append(repair("side_by_side", page.text[kept[0][0].start : kept[-1][0].end], f"{len(listed)} calls"))
    if page.cut_off and _may_go_on(page, kept[-1][0], again=len(kept) < len(calls)):
        return error("cut_off", f"{began(page, kept[-1][0])} and more that the token limit cut off.", page.offer)
    standing = stands(page, [claim for claim, _ in calls])
    follows = standing == "embedded" and _text_follows(page, max(claim.end for claim, _ in calls))
    return ToolCalls([replace(call, standing=standing, text_follows=follows) for call in listed], repairs)


def _different(page: Page, calls: Sequence[tuple[Claim, ToolCalls]]) -> list[tuple[Claim, ToolCalls]]:
    """The calls without those that only say again what others before them say."""
    said: list[Any] = []
    kept: list[tuple[Claim, ToolCalls]] = []
    for claim, found in calls:
        same = [(call.name, page.offer.coerced(call.name, call.args)[0]) for call in found.calls]
        if not all(one in said for one in same):
            kept.append((claim, found))
        said += same
    return kept


def _may_go_on(page: Page, last: Claim, *, again: bool) -> bool:
    """Whether another call may have begun behind the last one, or a list that holds it has no end."""
    rest = page.text[last.end : page.turn_after(last.end)]
    while again and rest.lstrip().startswith(said := page.text[last.start : last.end].strip()):
        rest = rest.lstrip()[len(said) :]
    rest = rest.strip("` \n,;")
    if again and page.text[last.start : last.end].startswith(rest):
        return False  # the same once more
    if any(sign in rest for sign in "{<[("):
        return True
    if last.dialect != "pythonic":
        return False
    before = page.text[last.start : last.end] if last.marked else page.text[: last.start].rstrip(" \n\"'`")[-1:]
    return ("[" in before and "]" not in before + rest) or (not last.marked and bool(rest.strip("])} \n\"'")))


def stands(page: Page, claims: Sequence[Claim]) -> Standing:
    """How calls stand, by what is left of the text without them, their marks and fences."""
    if _says_more(page, claims) or any(claim.answer or claim.amid for claim in claims):
        return "embedded"
    return "markup" if any(map(_is_markup, claims)) else "alone"


def _says_more(page: Page, claims: Sequence[Claim]) -> bool:
    """Whether words stand around claims that are not those of marks or of a program that prints a result."""
    rest = outside(page, claims)
    return bool(_SAYS.search(rest) and _SAYS.search(_unprinted(without_tokens(rest, page.data)[0])))


def _text_follows(page: Page, end: int) -> bool:
    return says(_unprinted(page.text[end : page.turn_after(end)]))


def _unprinted(text: str) -> str:
    """The text without the lines of a program that print a result, or nothing but take it."""
    return _PRINTED.sub("", text) if "print(" in text or text.rstrip().endswith("=") else text


def _is_markup(claim: Claim) -> bool:
    return claim.marked or claim.dialect not in _PLAIN


def _final(page: Page, finals: Sequence[tuple[Claim, Final]]) -> Decision | None:
    """The one final answer. ``{"answer": …}`` counts only where nothing is around it."""
    counted = [found for claim, found in finals if claim.sure or not _says_more(page, [one for one, _ in finals])]
    if len({found.answer for found in counted}) > 1:
        return error("ambiguous", f"{len(counted)} different final answers.", page.offer)
    if not counted:
        return None
    return counted[0] if counted[0].answer else error("empty", "A final answer without a text.", page.offer)

"""One judge over what the readers claim: which claims count, what they come to, and how the calls in them stand."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.clearing.tokens import without_tokens
from micro_agent.decoding.decision import Decision, DecodeError, Final, Repair, Standing, ToolCalls
from micro_agent.decoding.keys import NAMES, NEAR_NAMES, plain
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.page import Page
from micro_agent.decoding.quoting import is_all, is_quoted, outside
from micro_agent.decoding.repair.mending import Unreadable, exact, repair
from micro_agent.decoding.rows import CALLS, OPENS, RANKS
from micro_agent.decoding.settle import MAX_CALLS, error, settle
from micro_agent.decoding.wording import shorten

_PLAIN = frozenset({"", "pythonic", "command_line", "named"})
"""What is not markup: objects, calls in Python's syntax, a command line."""
_WORD = re.compile(r"\w")
_TAG = re.compile(r"</?[^<>\n]{1,80}>|[`'\"]")
_GOES_ON = re.compile(r"\A\s?[.,;:!?)…]|\w")
_FILLED = re.compile(r"[^<\n]*\w\s+\w[^<\n]*</")
_FIRST = re.compile(r"[\w.-]{1,128}+")
_ABOUT = re.compile(r"\s+[^\W\d_A-Z]+\s+\w")
_BLANK = re.compile(r"""[:={\[,("'>]\s?(?:\.{3}|…)|\{\s?[A-Za-z_ ]{2,30}\}|[:=>"]\s?<[\w -]{2,40}>""")
"""What stands in an example where a call has a name or a value."""
_NAME_KEYS = frozenset({*NAMES, *NEAR_NAMES})
_NAMED = re.compile(r"(?:=|\s{1,9}name\s?=)\s?[\"']?[\w.:-]{1,128}[\"']?\s?")
_BEGUN = re.compile(
    r"\bto=(?:functions[.:])?(?!(?:assistant|user|system|all)\b)(?P<name>[\w./-]{1,128}+)[^\n<]{0,20}+"
    r"(?:<\|(?:channel|constrain)\|>[^\n<]{0,40}+){0,2}<\|message\|>|>>>(?!all\b)\w{1,64}+\s*+(?=\{|\Z)",
)
_CLOSED = re.compile(
    r"</[\w:|]{1,40}>|<[|｜](?:call|return|/[\w ]{1,40}|[^<>|｜\n]{0,30}(?:end|END|eot|eom|stop)[^<>|｜\n]{0,20})[|｜]>"
    r"|\[/[A-Z_]{1,30}\]|<\w{1,20}\|>"
)
_MAX_SPOKEN_OF = 60
"""More marks of calls than this in one text are no explanation of them."""
_REACH, _NEAR = 2000, 300
"""Characters around a mark that are looked at to tell whether it opens a call or a sentence speaks of it."""
_ENDS = re.compile(r"\A\s*(?:```\w*\s*|[`'\"])?|[\s`'\";.]+\Z")
_ATTEMPT = re.compile(r"(?:(?P<name>[A-Za-z_][\w.-]{0,127}+)[\"'`]?\s?)?(?P<bracket>[\[{(<])")
_NAMED_IN = re.compile(
    r"""(?:["'](?P<key>[\w -]{1,40})["']\s?:\s?)?["'](?P<quoted>[A-Za-z_][\w.-]{0,127}+)["'](?P<is_key>\s?:)?"""
    r"""|(?<=[(<\["'])(?P<bare>[A-Za-z_][\w.-]{0,127}+)(?=[ ]?[( =])"""
)
_COINED = re.compile(r"[a-z][a-z0-9]*+[_.A-Z-]")
"""How the name of a tool begins that is not a word of a language."""
_PARTNER = {"[": "]", "{": "}", "(": ")", "<": ">"}
_SAYS = re.compile(r"[\w✅✔☑❌✓✗]")
_PRINTED = re.compile(
    r"(?:\b[A-Za-z_]\w{0,40}\s?=\s*)?print\(\s*(?:[A-Za-z_]\w*)?\s*\)|\A\s*[A-Za-z_]\w{0,40}\s?=\s*\Z"
)


def judged(page: Page, claims: Iterable[Claim]) -> Decision | None:
    """The decision that the claims come to; ``None`` where the text is prose."""
    kept = _own(page, _apart(page, claims))
    around = bool(kept) and _WORD.search(outside(page, kept)) is not None
    quoted = [claim for claim in kept if is_quoted(page, claim, kept, around=around)]
    told = [claim for claim in kept if claim not in quoted]
    settled = [(claim, found) for claim in told if (found := _settled(page, claim)) is not None]
    settled = _meant(settled, around=around)
    calls = [(claim, found) for claim, found in settled if isinstance(found, ToolCalls)]
    if (wrong := _wrong(page, settled, bool(calls))) is not None:
        return wrong
    lost = _unread(page, kept, calls[0][0].end if calls else 0)
    if calls:
        return lost or _together(page, calls)
    answers = [claim for claim, found in settled if isinstance(found, Final)]
    if any(claim.shapes for claim in quoted) and is_all(page, [*quoted, *answers]):
        name = next((page.offer.resolve(claim.shapes[0].name) for claim in quoted if claim.shapes), None)
        return error("quoted", "A call that is shown and not made.", page.offer, name)
    return lost or _final(page, [(claim, found) for claim, found in settled if isinstance(found, Final)])


def unmade(page: Page) -> DecodeError | None:
    """An error for a text that nobody claims and that is more likely an attempt at a call than an answer.

    It is as a whole a list or an object with the name of a tool in it, the arguments of one, or its name and brackets.
    """
    text = _ENDS.sub("", page.text)
    if not page.offer.tools or len(text) > _REACH:
        return None
    begun = _ATTEMPT.match(text)
    if begun is None or not text.endswith(_PARTNER[begun["bracket"]]):
        return None
    named = [begun["name"]] if begun["name"] else list(filter(None, map(_name_in, _NAMED_IN.finditer(text))))
    known = next((name for name in map(page.offer.resolve, named) if name), None) or _takes(page, text)
    if known is None:
        return None
    return error("malformed", f"{shorten(text, 60)!r}, which is in no form of a tool call.", page.offer, known)


def _name_in(found: re.Match[str]) -> str | None:
    """What may be the name of a tool in data: a key, under a key for a name, before arguments, or no usual word."""
    quoted = found["quoted"]
    named = quoted and (found["is_key"] or plain(found["key"] or "") in _NAME_KEYS or _COINED.match(quoted))
    return quoted if named else found["bare"]


def _takes(page: Page, text: str) -> str | None:
    """The only tool whose arguments an object is, all that it requires among them."""
    try:
        value = exact(text)
    except Unreadable:
        return None
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    names = [tool.name for tool in page.offer.tools or () if given and tool.parameters.get("required")]
    fitting = [
        name for name in names if given.keys() <= page.offer.properties(name) and not page.offer.faults(name, given)
    ]
    return fitting[0] if len(fitting) == 1 else None


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
        empty = claim.dialect in ("pythonic", "named") and not (claim.sure or claim.fault or claim.unfinished)
        mention = around and empty
        if not mention and claim not in told:
            return True
        alike = isinstance(found, ToolCalls) and called.isdisjoint(call.name for call in found.calls)
        return alike and (bool(called) or not mention)

    return [(claim, found) for claim, found in settled if counts(claim, found)]


def _apart(page: Page, claims: Iterable[Claim]) -> list[Claim]:
    """The claims that do not stand inside another one; of two at one place that of the lower rank."""
    kept: list[Claim] = []
    for claim in sorted(claims, key=lambda one: (one.start, bool(one.fault or one.unfinished), RANKS[one.dialect])):
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
    if first is None:
        return claims
    stop, said = page.turn_after(first.end), page.text[first.start : first.end]
    again = [
        one
        for one in claims
        if one is not first and one.unfinished and said.startswith(page.text[one.start : one.end].rstrip())
    ]
    return [claim for claim in claims if claim.start < stop and claim not in again]


def _settled(page: Page, claim: Claim) -> Decision | None:
    """What one claim comes to; ``None`` for data."""
    if claim.unfinished or claim.fault:
        if page.cut_off:
            return error("cut_off", f"{_began(page, claim)} and was cut off by the token limit.", page.offer)
        if not claim.sure and _WORD.search(outside(page, [claim])):
            return None
        why = claim.fault or "it ends before the call is complete"
        named = page.offer.resolve(claim.shapes[-1].name) if claim.shapes else None
        return error("malformed", _said(page, claim, why), page.offer, named)
    if claim.answer is not None and not claim.shapes:
        return Final(claim.answer, _recorded(page, claim, Final(claim.answer)))
    found = (
        settle(claim.shapes, page.offer)
        if claim.shapes
        else error("malformed", _said(page, claim, "it holds no call"), page.offer)
    )
    if found is None and any(one.kind == "closing_brackets" for one in claim.repairs):
        return error("malformed", _said(page, claim, "its closing brackets are missing"), page.offer)
    if isinstance(found, ToolCalls | Final):
        return replace(found, repairs=[*_recorded(page, claim, found), *found.repairs])
    return found


def _began(page: Page, claim: Claim) -> str:
    kind = "Markup" if claim.dialect else "Text"
    return f"{kind} that starts with {shorten(page.text[claim.start : claim.end], 40)!r}"


def _said(page: Page, claim: Claim, why: str) -> str:
    return f"{_began(page, claim)} and cannot be read: {why}."


def _recorded(page: Page, claim: Claim, found: ToolCalls | Final) -> list[Repair]:
    if not claim.dialect:
        return claim.repairs
    before = page.text[claim.start : claim.end].rstrip()
    return [repair(f"dialect:{claim.dialect}", before, _rendered(found)), *claim.repairs]


def _rendered(found: ToolCalls | Final) -> str:
    """The decision as JSON, for the record."""
    if isinstance(found, Final):
        return json.dumps({"final": found.answer}, ensure_ascii=False)
    calls = [{"name": call.name, "arguments": call.args} for call in found.calls]
    return json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)


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
        example = found.reason in ("unknown_tool", "malformed") and not named and _WORD.search(outside(page, [claim]))
        if not _is_markup(claim) and found.reason != "unknown_tool" and _is_in_code(page, claim):
            continue
        spoken = found.reason == "malformed" and _in_sentence(page, claim.start, claim.end)
        if not (example and ((calls and not _is_markup(claim)) or spoken or _is_shown(page, claim))):
            return found
    return None


def _unread(page: Page, claims: Sequence[Claim], at: int) -> DecodeError | None:
    """An error where markup of a call is there that no reader took: an answer full of markup is not one."""
    stop, spoken_of = page.turn_after(at) if at else len(page.text), 0
    for mark in page.marks:
        if mark.closing or not at <= mark.start < stop or not _opens(page, mark):
            continue
        inside = page.inside(mark)
        if any(claim.start <= mark.start < claim.end or claim.start == inside for claim in claims):
            continue
        spoken_of += 1
        after = page.text[mark.end : mark.end + _NEAR].partition("\n")[0]
        said = mark.rest + " " + after
        names = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said) for name in page.offer.names or ())
        if (
            not at
            and spoken_of < _MAX_SPOKEN_OF
            and not names
            and not _FILLED.match(after)
            and (_in_sentence(page, mark.start, mark.end) or _ABOUT.match(after))
        ):
            continue  # a sentence speaks of it
        if page.is_quoted(mark.start):
            continue
        claim = Claim(mark.start, len(page.text), (), "unread", fault="it is in no form of a tool call")
        if spoken_of >= _MAX_SPOKEN_OF or not (page.fence_at(mark.start) and _is_shown(page, claim)):
            return error("cut_off" if page.cut_off else "malformed", _said(page, claim, claim.fault or ""), page.offer)
    for begun in _BEGUN.finditer(page.text, at, stop):
        inside = any(claim.start <= begun.start() < claim.end for claim in claims) or page.in_code(begun.start())
        known = page.offer.resolve(begun["name"] or "") is not None
        if not inside and (known or not _in_sentence(page, begun.start(), begun.end())):
            claim = Claim(begun.start(), len(page.text), (), "unread", fault="it is in no form of a tool call")
            return error("cut_off" if page.cut_off else "malformed", _said(page, claim, claim.fault or ""), page.offer)
    return None


def _opens(page: Page, mark: Mark) -> bool:
    """Whether a mark opens a call: a token does, a tag only with something behind it that may be one."""
    if mark.name not in OPENS and mark.name not in CALLS:
        return False
    rest = page.text[mark.end : mark.end + _REACH].lstrip()
    if mark.name == "recipient" and rest.startswith("all"):
        return False
    if mark.token or _NAMED.fullmatch(mark.rest):
        return True
    word = _FIRST.match(rest)
    named = word is not None and page.offer.tools is not None and page.offer.resolve(word[0]) is not None
    return mark.name.startswith(("tool_c", "function_c")) and (rest[:1] in ("", *"{[<\"'") or "</" in rest or named)


def _is_shown(page: Page, claim: Claim) -> bool:
    """Whether what names no tool is an example, where words stand around it."""
    text = page.text[claim.start : claim.end]
    if any(shape.strength == "described" or plain(shape.name) in _NAME_KEYS for shape in claim.shapes):
        return True
    if _BLANK.search(text[:_REACH]) or page.in_code(claim.start):
        return True
    fence = page.fence_at(claim.start)
    if fence is not None:
        more = page.text[fence.inside : claim.start] + page.text[claim.end : fence.stop]
        around = _WORD.search(page.text[: fence.start]) and _WORD.search(page.text[fence.end :])
        return bool(around or _WORD.search(_TAG.sub("", more)))
    return False


def _is_in_code(page: Page, claim: Claim) -> bool:
    """Whether other code stands beside a claim in its fence, and words around that."""
    fence = page.fence_at(claim.start)
    if fence is None or not _WORD.search(page.text[: fence.start] + page.text[fence.end :]):
        return False
    return _WORD.search(page.text[fence.inside : claim.start] + page.text[claim.end : fence.stop]) is not None


def _names_tool(page: Page, claim: Claim) -> bool:
    """Whether a tool is called or written in a claim."""
    if page.offer.tools is None:
        return False
    written = page.text[claim.start : claim.end]
    called = any(page.offer.resolve(one.name) for one in claim.shapes)
    return called or any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", written) for name in page.offer.names or ())


def _in_sentence(page: Page, start: int, end: int) -> bool:
    """Whether words stand before and behind in the same line."""
    before = page.text[max(0, start - _REACH) : start].rpartition("\n")[2]
    after = page.text[end : end + _NEAR].partition("\n")[0]
    return bool(_WORD.search(_TAG.sub("", before)) and _GOES_ON.search(_TAG.sub("", after)))


def _together(page: Page, calls: Sequence[tuple[Claim, ToolCalls]]) -> Decision:
    """All calls, those that say the same once, and how they stand."""
    said: list[Any] = []
    kept: list[tuple[Claim, ToolCalls]] = []
    for claim, found in calls:
        same = [(call.name, page.offer.coerced(call.name, call.args)[0]) for call in found.calls]
        if not all(one in said for one in same):
            kept.append((claim, found))
        said += same
    listed = [call for _, found in kept for call in found.calls]
    if len(listed) > MAX_CALLS:
        return error("ambiguous", f"{len(listed)} tool calls in one reply, more than {MAX_CALLS}.", page.offer)
    repairs = [one for _, found in kept for one in found.repairs]
    if len(kept) < len(calls):
        repairs.append(repair("repetition", page.text, f"{len(kept)} of {len(calls)}"))
    if len(kept) > 1:
        repairs.append(repair("side_by_side", page.text[kept[0][0].start : kept[-1][0].end], f"{len(listed)} calls"))
    if page.cut_off and _may_go_on(page, kept[-1][0], again=len(kept) < len(calls)):
        return error("cut_off", f"{_began(page, kept[-1][0])} and more that the token limit cut off.", page.offer)
    standing = stands(page, [claim for claim, _ in calls])
    follows = standing == "embedded" and _text_follows(page, max(claim.end for claim, _ in calls))
    return ToolCalls([replace(call, standing=standing, text_follows=follows) for call in listed], repairs)


def _may_go_on(page: Page, last: Claim, *, again: bool) -> bool:
    """Whether another call may have begun behind the last one, or a list that holds it has no end."""
    rest = page.text[last.end : page.turn_after(last.end)]
    while again and rest.lstrip().startswith(said := page.text[last.start : last.end].strip()):
        rest = rest.lstrip()[len(said) :]
    rest = _CLOSED.sub("", rest).strip("` \n,;")
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
    return _SAYS.search(_PRINTED.sub("", without_tokens(outside(page, claims), page.data)[0])) is not None


def _text_follows(page: Page, end: int) -> bool:
    rest = page.text[end : page.turn_after(end)]
    return _WORD.search(_TAG.sub("", _PRINTED.sub("", rest))) is not None


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

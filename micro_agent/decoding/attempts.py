"""What may be an attempt at a call that nobody could read, told from what only speaks of one or shows it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.decision import DecodeError
from micro_agent.decoding.keys import NAMES, plain
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.page import WORD, Mention, Page
from micro_agent.decoding.quoting import HOLE
from micro_agent.decoding.repair.mending import Unreadable, exact
from micro_agent.decoding.rows import CALLS, OPENS, PAIRS, PARTS, WRAPPERS
from micro_agent.decoding.settle import error
from micro_agent.decoding.wording import shorten

_SAID = re.compile(r"</?[^<>\n]{1,80}>|[`'\"]|(?P<word>\w)")
"""A tag or a sign of quotation, which says nothing, or what does."""
_BEGUN = re.compile(
    r"\bto=(?:functions[.:])?(?!(?:assistant|user|system|all)\b)[\w./-]{1,128}+[^\n<]{0,60}+"
    r"(?:<\|(?:channel|constrain)\|>[^\n<]{0,40}+){0,2}<\|message\|>|>>>(?!all\b)\w{1,64}+\s*+(?=\{|\Z)",
)
_BEHIND = re.compile(
    r"""[\"'`*_»”\]\\}]{0,4}(?:(?P<apart>[ ])?[(\[{「『（｛]|：(?=[“"「]))"""
    r"""(?P<inside>(?P<value>["'“‘„«「{\d])?[^\n]{0,200})""",
)
_WORDS = re.compile(r"[\w-]{1,64}+")
_GLUED = re.compile(r"[/.:>|]{1,3}(?P<key>\w{1,64})[=:>]|[ ](?:--)?(?P<pair>\w{1,64}=[\"'])")
_ARGUMENT = re.compile(r"""(\w{1,64})[\"'`*}]{0,3}\s?[:=→＝：]""")
_LINE_WORD = re.compile(r"^[^\w\n]{0,16}(\w{1,64})", re.MULTILINE)
_MAX_SPOKEN_OF = 60
"""More marks of calls than this in one text are no explanation of them."""
_REACH, _NEAR, _FEW = 2000, 300, 60
"""Characters around a mark that are looked at to tell whether it opens a call or a sentence speaks of it."""
_OPENING = re.compile(r"\A(?:```\w*\s*+|[`'\"])")
_ATTEMPT = re.compile(r"(?:(?P<name>[A-Za-z_][\w.-]{0,127}+)[\"'`]?\s?)?(?P<bracket>[\[{(<｛])")
_NAMED_IN = re.compile(
    r"""(?:["'«»“”](?P<key>[\w -]{1,40})["'«»“”]\s?[:：]\s?)?["'«»“”](?P<quoted>[A-Za-z_][\w.-]{0,127}+)["'«»“”]"""
    r"""(?P<is_key>\s?[:：])?|(?<=[({<\["'])(?P<bare>[A-Za-z_][\w.-]{0,127}+)(?=[ ]?[( =,}\]])"""
    r"""|(?<=[\w\s]:)\s?(?P<value>[A-Za-z_][\w.-]{0,127}+)(?=\s?[,}\]])"""
)
_COINED = re.compile(r"[a-z][a-z0-9]*+[_.A-Z-]")
"""How the name of a tool begins that is not a word of a language."""
_ELEMENT = re.compile(r"<([A-Za-z_][\w.-]{0,127}+)>\s*+(?P<inside><.*>)\s*</\1>", re.DOTALL)
_TAG = re.compile(r"<([\w.-]{1,128}+)>")
_PARTNER = {"[": "]", "{": "}", "(": ")", "<": ">", "｛": "｝"}


def unread(page: Page, claims: Sequence[Claim], at: int) -> DecodeError | None:
    """An error where a call begins at ``at`` or later that no reader took: what looks like one is not an answer."""
    stop = page.turn_after(at) if at else len(page.text)
    sure = [claim for claim in claims if claim.sure or not (claim.unfinished or claim.dialect == "named")]

    def free(begin: int) -> bool:
        return begin < stop and not any(claim.start <= begin < claim.end for claim in sure)

    marked = (one for one in chain(_opened(page, claims, at, stop), _begun(page)) if one[0] >= at)
    for begin, named in chain(marked, _in_position(page, free)):
        if free(begin):
            seen = cannot_be_read(page, _unread(page, begin), "it is in no form of a tool call")
            found = error("cut_off" if page.cut_off else "malformed", seen, page.offer, named)
            around = named and not page.cut_off and page.says_more(begin, page.line_end(begin))  # no end is known
            return replace(found, in_text=named) if around else found
    return None


def _unread(page: Page, begin: int) -> Claim:
    return Claim(begin, len(page.text), (), "unread")


def _opened(page: Page, claims: Sequence[Claim], at: int, stop: int) -> Iterator[tuple[int, None]]:
    """The marks that open a call, but for those that a sentence speaks of or a fence shows; or the end of a call."""
    spoken_of = 0
    if (torn := _torn(page)) is not None:
        yield torn, None
    for mark in page.marks:
        if mark.closing or not at <= mark.start < stop or not _opens(page, mark):
            continue
        if any(claim.start in (mark.start, page.inside(mark)) for claim in claims):
            continue
        spoken_of += 1
        after = page.text[mark.end : mark.end + _NEAR].partition("\n")[0]
        names = spoken_of >= _MAX_SPOKEN_OF or page.mentioned(mark.start, mark.end + len(after))
        if not names and in_sentence(page, mark.start, mark.end, since=at):
            continue  # a sentence speaks of it
        shown = page.fence_at(mark.start) and is_shown(page, _unread(page, mark.start))
        if spoken_of >= _MAX_SPOKEN_OF or not (shown or page.is_quoted(mark.start)):
            yield mark.start, None


def _torn(page: Page) -> int | None:
    """Where a call ends that has no beginning: the text is a closing tag of one, or ends in it right behind another."""
    *_, end = page.marks or [None]
    if end is None or not end.closing or end.name not in CALLS or page.in_code(end.start) or says(page.text[end.end :]):
        return None
    before = page.marks[-2] if len(page.marks) > 1 else None
    if before is None:
        return None if page.text[: end.start].strip() else end.start
    own = before.name in PARTS | PAIRS | WRAPPERS | CALLS or before.said.casefold() in page.own_words
    return end.start if before.closing and own and not says(page.text[before.end : end.start]) else None


def _begun(page: Page) -> Iterator[tuple[int, None]]:
    """The headers of gpt-oss and Functionary for a call."""
    for begun in _BEGUN.finditer(page.text) if "to=" in page.text or ">>>" in page.text else ():
        if not page.in_code(begun.start()):
            yield begun.start(), None


def _in_position(page: Page, free: Callable[[int], bool]) -> Iterator[tuple[int, str]]:
    """The names of tools with a value or a named argument in brackets, or lines of arguments, right behind them."""
    for one in page.mentions[:_MAX_SPOKEN_OF]:
        if not free(one.start) or page.in_code(one.start) or page.is_quoted(one.start):
            continue
        behind = _BEHIND.match(page.text, one.end)
        if (glued := _GLUED.match(page.text, one.end)) is not None:
            line = page.text[page.text.rfind("\n", 0, one.start) + 1 : one.start]
            own = map(str.casefold, page.offer.properties(one.tool))
            called = glued["key"].casefold() in own if glued["key"] else not line.strip("`$> \t")
        elif behind is None or HOLE.search(behind[0]):
            called = any(told(page, one) for told in _TOLD)
        else:
            said = {found[1].casefold() for found in _ARGUMENT.finditer(behind["inside"])}
            own = {key.casefold() for key in page.offer.properties(one.tool)}
            called = (behind["value"] and not behind["apart"]) or not said.isdisjoint(own)
        if called:
            yield one.start, one.tool


def _is_told_in_lines(page: Page, one: Mention) -> bool:
    """Whether all arguments that the tool requires, two at least, begin lines behind its name."""
    wanted = (tool.parameters.get("required") if (tool := page.offer.tool(one.tool)) else None) or ()
    begun = {found[1]: found.start() for found in _LINE_WORD.finditer(page.text, one.end, one.end + _REACH)}
    near = min((begun.get(key, _REACH) for key in wanted), default=0) - one.end < _FEW
    return len(wanted) > 1 and near and begun.keys() >= set(wanted)


def _is_in_brackets(page: Page, one: Mention) -> bool:
    """Whether a line is in brackets, and in it the tool is named behind a colon or with one of its arguments."""
    line = page.text[page.text.rfind("\n", 0, one.start) + 1 : page.line_end(one.end)].strip(" \t*_`")
    if not (line.startswith("[") and line.endswith("]")) or HOLE.search(line):
        return False
    before = page.text[max(0, one.start - _FEW) : one.start].rstrip("`\"'* ")
    return before.endswith(":") or not page.offer.properties(one.tool).isdisjoint(_WORDS.findall(line))


def _is_in_torn_tag(page: Page, one: Mention) -> bool:
    """Whether a name stands in a tag that lacks its bracket, ``f>`` or ``name="f">``, or behind Gemma's ``call:``."""
    before = page.text[page.text.rfind("\n", 0, one.start) + 1 : one.start].strip()
    after = page.text[one.end : page.line_end(one.end)].strip()
    return (
        (not before and after == ">") or (before[-6:-1] == "name=" and after[:2] in ('">', "'>")) or before == "call:"
    )


def _is_command(page: Page, one: Mention) -> bool:
    """Whether a name stands as chat bots have commands, ``!name``."""
    return page.text[max(0, one.start - 2) : one.start].lstrip() == "!"


_TOLD = (_is_told_in_lines, _is_in_brackets, _is_in_torn_tag, _is_command)


def _opens(page: Page, mark: Mark) -> bool:
    """Whether a mark opens a call: a token does, a tag only with something behind it that may be one."""
    if mark.name not in OPENS and mark.name not in CALLS:
        return mark.name in PARTS | WRAPPERS and not mark.token and _speaks(page, mark)
    rest = page.text[mark.end : mark.end + _REACH].lstrip()
    if mark.name == "recipient" and rest.startswith("all"):
        return False
    if mark.token or _speaks(page, mark):
        return True
    named = bool(page.mentioned(mark.end, mark.end + _FEW))
    call = mark.name.startswith(("tool_c", "function_c"))
    return (named and rest[:1] == "<") or (call and (named or rest[:1] in ("", *"{[<\"'") or "</" in rest))


def _speaks(page: Page, mark: Mark) -> bool:
    """Whether the name of a tool or of an argument stands in a tag."""
    return any(word.casefold() in page.own_words for word in _WORDS.findall(mark.rest))


def unmade(page: Page, answer: str) -> DecodeError | None:
    """An error for a text that nobody claims and that is more likely an attempt at a call than an answer.

    It is as a whole a list or an object with the name of a tool in it, the arguments of one, or its name and brackets;
    or an element whose tags are all arguments of one.
    """
    text = answer.strip()
    if not page.offer.tools or len(text) > _REACH:
        return None
    text = _OPENING.sub("", text).rstrip("`'\";. \n")
    begun = _ATTEMPT.match(text)
    if begun is None or not text.endswith(_PARTNER[begun["bracket"]]):
        return None
    named = filter(None, chain([begun["name"]], map(_name_in, _NAMED_IN.finditer(text))))
    known = next(filter(None, map(page.offer.resolve, named)), None) or _takes(page, text) or _tagged(page, text)
    if known is None:
        return None
    return error("malformed", f"{shorten(text, 60)!r}, which is in no form of a tool call.", page.offer, known)


def _name_in(found: re.Match[str]) -> str | None:
    """What may be the name of a tool in data: a key, under a key for a name, before arguments, or no usual word."""
    quoted = found["quoted"]
    named = quoted and (found["is_key"] or plain(found["key"] or "") in NAMES or _COINED.match(quoted))
    return quoted if named else found["bare"] or found["value"]


def _takes(page: Page, text: str) -> str | None:
    """The first tool whose arguments an object is, all that it requires among them."""
    try:
        value = exact(text)
    except Unreadable:
        return None
    given = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    names = [tool.name for tool in page.offer.tools or () if given and tool.parameters.get("required")]
    fitting = [
        name for name in names if given.keys() <= page.offer.properties(name) and not page.offer.faults(name, given)
    ]
    return fitting[0] if fitting else None


def _tagged(page: Page, text: str) -> str | None:
    """The first tool that has all the tags of an element, whose own name is not a tool's, as arguments."""
    element = _ELEMENT.fullmatch(text)
    tags = set(_TAG.findall(element["inside"])) if element is not None else set[str]()
    return next(
        (tool.name for tool in page.offer.tools or () if tags and tags <= page.offer.properties(tool.name)), None
    )


def is_shown(page: Page, claim: Claim) -> bool:
    """Whether what names no tool is an example, where words stand around it."""
    text = page.text[claim.start : claim.end]
    if any(shape.strength == "described" or plain(shape.name) in NAMES for shape in claim.shapes):
        return True
    if HOLE.search(text[:_REACH]) or page.in_code(claim.start):
        return True
    fence = page.fence_at(claim.start)
    if fence is not None:
        more = page.text[fence.inside : claim.start] + page.text[claim.end : fence.stop]
        around = WORD.search(page.text[: fence.start]) and WORD.search(page.text[fence.end :])
        return bool(around or says(more))
    return False


def in_sentence(page: Page, start: int, end: int, since: int = 0) -> bool:
    """Whether words stand before, from ``since`` on, and behind in the same line."""
    before = page.text[max(since, start - _REACH) : start].rpartition("\n")[2]
    after = page.text[end : end + _NEAR].partition("\n")[0]
    return says(before) and (says(after) or after.lstrip("`'\" ")[:1] in (*".,;:!?)…",))


def says(text: str) -> bool:
    """Whether a word stands in a text, outside tags."""
    return any(found["word"] for found in _SAID.finditer(text))


def cannot_be_read(page: Page, claim: Claim, why: str) -> str:
    """What to say of a claim with a fault."""
    return f"{began(page, claim)} and cannot be read: {why}."


def began(page: Page, claim: Claim) -> str:
    """How a claim begins, for an error."""
    kind = "Markup" if claim.dialect else "Text"
    return f"{kind} that starts with {shorten(page.text[claim.start : claim.end], 40)!r}"

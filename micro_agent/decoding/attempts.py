"""What may be an attempt at a call that nobody could read, told from what only speaks of one or shows it."""

import re
from collections.abc import Sequence
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.decision import DecodeError
from micro_agent.decoding.keys import NAMES, NEAR_NAMES, plain
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.mending import Unreadable, exact
from micro_agent.decoding.rows import CALLS, OPENS
from micro_agent.decoding.settle import error
from micro_agent.decoding.wording import shorten

_WORD = re.compile(r"\w")
TAG = re.compile(r"</?[^<>\n]{1,80}>|[`'\"]")
"""A tag or a sign of quotation, which says nothing."""
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
_MAX_SPOKEN_OF = 60
"""More marks of calls than this in one text are no explanation of them."""
_REACH, _NEAR = 2000, 300
"""Characters around a mark that are looked at to tell whether it opens a call or a sentence speaks of it."""
_OPENING = re.compile(r"\A(?:```\w*\s*+|[`'\"])")
_ATTEMPT = re.compile(r"(?:(?P<name>[A-Za-z_][\w.-]{0,127}+)[\"'`]?\s?)?(?P<bracket>[\[{(<])")
_NAMED_IN = re.compile(
    r"""(?:["'](?P<key>[\w -]{1,40})["']\s?:\s?)?["'](?P<quoted>[A-Za-z_][\w.-]{0,127}+)["'](?P<is_key>\s?:)?"""
    r"""|(?<=[(<\["'])(?P<bare>[A-Za-z_][\w.-]{0,127}+)(?=[ ]?[( =])"""
)
_COINED = re.compile(r"[a-z][a-z0-9]*+[_.A-Z-]")
"""How the name of a tool begins that is not a word of a language."""
_PARTNER = {"[": "]", "{": "}", "(": ")", "<": ">"}


def unread(page: Page, claims: Sequence[Claim], at: int) -> DecodeError | None:
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
            and (in_sentence(page, mark.start, mark.end) or _ABOUT.match(after))
        ):
            continue  # a sentence speaks of it
        if page.is_quoted(mark.start):
            continue
        claim = Claim(mark.start, len(page.text), (), "unread", fault="it is in no form of a tool call")
        if spoken_of >= _MAX_SPOKEN_OF or not (page.fence_at(mark.start) and is_shown(page, claim)):
            return error(
                "cut_off" if page.cut_off else "malformed", cannot_be_read(page, claim, claim.fault or ""), page.offer
            )
    for begun in _BEGUN.finditer(page.text, at, stop):
        inside = any(claim.start <= begun.start() < claim.end for claim in claims) or page.in_code(begun.start())
        known = page.offer.resolve(begun["name"] or "") is not None
        if not inside and (known or not in_sentence(page, begun.start(), begun.end())):
            claim = Claim(begun.start(), len(page.text), (), "unread", fault="it is in no form of a tool call")
            return error(
                "cut_off" if page.cut_off else "malformed", cannot_be_read(page, claim, claim.fault or ""), page.offer
            )
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


def unmade(page: Page) -> DecodeError | None:
    """An error for a text that nobody claims and that is more likely an attempt at a call than an answer.

    It is as a whole a list or an object with the name of a tool in it, the arguments of one, or its name and brackets.
    """
    text = page.text.strip()
    if not page.offer.tools or len(text) > _REACH:
        return None
    text = _OPENING.sub("", text).rstrip("`'\";. \n")
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


def is_shown(page: Page, claim: Claim) -> bool:
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
        return bool(around or _WORD.search(TAG.sub("", more)))
    return False


def in_sentence(page: Page, start: int, end: int) -> bool:
    """Whether words stand before and behind in the same line."""
    before = page.text[max(0, start - _REACH) : start].rpartition("\n")[2]
    after = page.text[end : end + _NEAR].partition("\n")[0]
    return bool(_WORD.search(TAG.sub("", before)) and _GOES_ON.search(TAG.sub("", after)))


def cannot_be_read(page: Page, claim: Claim, why: str) -> str:
    """What to say of a claim with a fault."""
    return f"{began(page, claim)} and cannot be read: {why}."


def began(page: Page, claim: Claim) -> str:
    """How a claim begins, for an error."""
    kind = "Markup" if claim.dialect else "Text"
    return f"{kind} that starts with {shorten(page.text[claim.start : claim.end], 40)!r}"

"""Calls that a text shows and does not make, told by structure: quotations, examples, programs, placeholders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.page import WORD, Page
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.rows import KNOWN

_PLACEHOLDER = re.compile(
    r"\.{3}|…|<[^\W\d_](?:[^\W\d]|[ .-]){1,60}>|\{[\w .-]{1,60}\}|\{\{[\w .-]{1,60}\}\}"
    r"|\[(?!(?i:/?tool_|/?think|args\]))[A-Za-z_ ]{2,40}\]|YOUR_\w{1,40}|[A-Z_]{2,40}_HERE"
)
HOLE = re.compile(r"[:=(,\[]\s?(\.{3}|…|<[^<>\n]{1,60}>|\{[\w .-]{1,60}\})(?=\s?[,)}\]])")
"""A placeholder where a call has a value."""
_STATEMENT = re.compile(
    r"[ \t]*+(?:(?:async[ ])?def[ ]\w|class[ ]\w|import[ ]\w|from[ ][\w.]+[ ]import\b|assert\b|@\w|raise[ ]\w"
    r"|(?:async[ ])?for[ ][\w, ()]+[ ]in\b|(?:el)?if[ ][^\n]*:[ \t]*(?:#|$)|else[ ]?:|while[ ][^\n]*:|with[ ][^\n]*:"
    r"|try[ ]?:|except\b[^\n]*:|function[ ]\w+[ ]?\()"
)
_CODE = re.compile(rf"{_STATEMENT.pattern}|[ \t]+\S|#|[A-Za-z_][\w.]*(?:[ ]?:[ ]?\w+)?[ ]?(?:=|\()|[\])}}]")
_ASSIGNED = re.compile(
    r"[ \t]*+(?:(?:const|let|var)[ ])?(?P<name>[A-Za-z_]\w{0,40})(?:[ ]?:[ ]?\w+)?[ ]?=[ ]?(?:await[ ])?\Z"
)
_LOGGED = re.compile(
    r"[ \t]*+[\[(]?(?:\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d)?\b|\d\d/\d\d/\d{2,4})"
    r"|[ \t]*+(?:>>>[ ]|In \[\d+\]:)"
)
_OPERATOR = re.compile(r"[ \t]*+(?:==|!=|<=|>=|\.\w|\?|=>)")
_WRITTEN = re.compile(r"[\s\"'`]{0,9}(?P<name>(?>(?:[\w.-]|\\_)+))")
_THOUGHTS = frozenset({"think", "thinking", "thought", "reasoning"})
_RECEIVER = frozenset({
    "functions", "function", "tools", "tool", "default_api", "api", "functions_api", "self", "this", "agent",
})  # fmt: skip
_MAX_TEXTS = 400
"""Texts of a call that are looked at for a placeholder."""
_REACH = 2_000
"""Characters around a call in which quotation marks are looked for."""
_PAIRS = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}


def placeholder(text: str) -> bool:
    """Whether a value stands for one that is still to be put in."""
    bare = text.strip()
    return _PLACEHOLDER.fullmatch(bare) is not None and bare.strip("<>/|[] ").lower() not in KNOWN | _THOUGHTS


def has_placeholder(claim: Claim) -> bool:
    """Whether a value of a call is one."""
    return any(placeholder(text) for shape in claim.shapes for text in islice(texts(shape.args), _MAX_TEXTS))


def outside(page: Page, claims: Sequence[Claim]) -> str:
    """The text without these claims, without marks, and without the lines of fences."""
    parts: list[str] = []
    at = 0
    for start, end in sorted([*page.markup, *((claim.start, claim.end) for claim in claims)]):
        if start > at:
            parts.append(page.text[at:start])
        at = max(at, end)
    return " ".join([*parts, page.text[at:]])


def quoted(page: Page, claims: Sequence[Claim], *, around: bool) -> list[Claim]:
    """The claims that are shown: in a quotation, an example, a log or a program, or with a placeholder as a value."""
    blocks: dict[tuple[int, int], _Block] = {}
    if page.cut_off:
        return []
    return [claim for claim in claims if _is_quoted(page, claim, claims, blocks, around=around)]


@dataclass(frozen=True, slots=True)
class _Block:
    """What is said of all calls of a block of code at once: whether other statements or only set in lines are there."""

    program: bool
    set_in: bool


def _is_quoted(
    page: Page, claim: Claim, claims: Sequence[Claim], blocks: dict[tuple[int, int], _Block], *, around: bool
) -> bool:
    if has_placeholder(claim):
        return True
    holes = HOLE.finditer(page.text, claim.start, claim.end) if claim.fault and around else ()
    if any(placeholder(hole[1]) for hole in holes):
        return True
    if not claim.shapes:
        return False
    line = page.text[page.text.rfind("\n", 0, claim.start) + 1 : claim.start]
    place = _place(page, claim) if claim.dialect in ("", "pythonic") else None
    if place is not None and place not in blocks:
        blocks[place] = _block(page.text, *place, claims)
    if place is not None and claim.dialect and not claim.marked:
        known = blocks[place].program or _STATEMENT.match(line) is not None
        if known or _is_used(page, claim, line, place[1]) or (around and _received(page, claim)):
            return True
    return around and (
        (page.is_quoted(claim.start) and not page.text.startswith(">", claim.start))  # a prompt is part of a command
        or _is_transcript(page, claim)
        or (place is not None and blocks[place].set_in and _is_example(page, claim, *place))
        or _LOGGED.match(line) is not None
        or _between_quotes(page, claim)
    )


def is_all(page: Page, quoted: Sequence[Claim]) -> bool:
    """Whether the text is nothing but these calls, or the programs that they stand in."""
    if not WORD.search(outside(page, quoted)):
        return True
    rest = list(page.text)
    for claim in quoted:
        start, end = _place(page, claim)
        lines = page.text[start:end].strip().split("\n")
        if claim.dialect == "pythonic" and all(_CODE.match(line) for line in (lines[0], lines[-1])):
            rest[start:end] = " " * (end - start)
    for fence in page.fences:
        rest[fence.start : fence.inside] = " " * (fence.inside - fence.start)
    return not WORD.search("".join(rest))


def _is_transcript(page: Page, claim: Claim) -> bool:
    """Whether the fence around a call holds its result as well."""
    fence = page.fence_at(claim.start)
    return fence is not None and page.turn_after(claim.start) < fence.stop


def _is_example(page: Page, claim: Claim, start: int, end: int) -> bool:
    """Whether words stand before and after the paragraph of a call, which is not a fence."""
    words = WORD.search(page.text, 0, start) and WORD.search(page.text, end)
    return bool(words) and page.fence_at(claim.start) is None


def _is_used(page: Page, claim: Claim, line: str, end: int) -> bool:
    """Whether the code around a call does something with its result."""
    if not line.lstrip().startswith("[") and _OPERATOR.match(page.text, claim.end):
        return True
    assigned = _ASSIGNED.match(line)
    if assigned is None:
        return False
    used = rf"(?<!\w)(?<!print\(){re.escape(assigned['name'])}(?!\w)(?!\))"
    return re.search(used, page.text[claim.end : end]) is not None


def _received(page: Page, claim: Claim) -> bool:
    """Whether the call is a method of something that is not offered, in a text that says more."""
    written = _WRITTEN.match(page.text, claim.start)
    name = written["name"].replace("\\", "") if written else ""
    if "." not in name or any(name == known for known in page.offer.names or ()):
        return False
    called = page.offer.resolve(name) or ""
    before = name[: -len(called)] if called and name.endswith(called) else name.rpartition(".")[0] + "."
    return before.rstrip(".") not in _RECEIVER


def _place(page: Page, claim: Claim) -> tuple[int, int]:
    """Where the code around a claim begins and ends: its fence, or the lines around it up to blank ones."""
    fence = page.fence_at(claim.start)
    if fence is not None:
        return fence.inside, fence.stop
    return page.paragraph(claim.start, claim.end)


def _block(text: str, start: int, end: int, claims: Sequence[Claim]) -> _Block:
    parts: list[str] = []
    at = start
    for claim in claims:
        if start <= claim.start < end and not claim.fault:
            parts.append(text[at : claim.start])
            at = claim.end
    program = any(_STATEMENT.match(line) for line in "".join([*parts, text[at:end]]).split("\n"))
    set_in = all(line.startswith(("    ", "\t")) for line in text[start:end].split("\n") if line.strip())
    return _Block(program, set_in)


def _between_quotes(page: Page, claim: Claim) -> bool:
    """Whether a call stands between quotation marks that hold more words than it."""
    before = page.text[max(0, claim.start - _REACH) : claim.start].rpartition("\n\n")[2]
    after = page.text[claim.end : claim.end + _REACH].partition("\n\n")[0]
    for opening, closing in _PAIRS.items():
        opens = before.count(opening) % 2 if opening == closing else before.count(opening) > before.count(closing)
        inside = f"{before.rpartition(opening)[2]} {after.partition(closing)[0]}" if opens and closing in after else ""
        if WORD.search(inside):
            return True
    return False

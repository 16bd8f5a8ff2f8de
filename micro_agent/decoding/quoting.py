"""Calls that a text shows and does not make, told by structure: quotations, examples, programs, placeholders."""

import re
from collections.abc import Sequence

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.page import Page
from micro_agent.decoding.repair.guessing import texts
from micro_agent.decoding.rows import KNOWN, ROLES

_PLACEHOLDER = re.compile(
    r"\.{3}|…|<[^\W\d_](?:[^\W\d]|[ .-]){1,60}>|\{[\w .-]{1,60}\}|\{\{[\w .-]{1,60}\}\}"
    r"|\[(?!(?i:/?tool_|/?think|args\]))[A-Za-z_ ]{2,40}\]|YOUR_\w{1,40}|[A-Z_]{2,40}_HERE"
)
_HOLE = re.compile(r"[:=(,\[]\s?(\.{3}|…|<[^<>\n]{1,60}>|\{[\w .-]{1,60}\})(?=\s?[,)}\]])")
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
_HEADERS = frozenset({"channel", "constrain", "start", "im_start", "start_header_id", "start_of_turn"})
_HEADER = re.compile(rf"\s{{0,9}}(?:{'|'.join(ROLES)})\b")
_THOUGHTS = frozenset({"think", "thinking", "thought", "reasoning"})
_RECEIVER = frozenset({
    "functions", "function", "tools", "tool", "default_api", "api", "functions_api", "self", "this", "agent",
})  # fmt: skip
_PAIRS = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}


def placeholder(text: str) -> bool:
    """Whether a value stands for one that is still to be put in."""
    bare = text.strip()
    return _PLACEHOLDER.fullmatch(bare) is not None and bare.strip("<>/|[] ").lower() not in KNOWN | _THOUGHTS


def outside(page: Page, claims: Sequence[Claim]) -> str:
    """The text without these claims, without marks, and without the lines of fences."""
    cut = sorted([(claim.start, claim.end) for claim in claims])
    for mark in page.every_mark:
        header = _HEADER.match(page.text, mark.end) if mark.name in _HEADERS else None
        cut.append((mark.start, header.end() if header else mark.end))
    for fence in page.fences:
        cut += [(fence.start, fence.head), (fence.stop, fence.end)]
    parts: list[str] = []
    at = 0
    for start, end in sorted(cut):
        if start > at:
            parts.append(page.text[at:start])
        at = max(at, end)
    return " ".join([*parts, page.text[at:]])


def is_quoted(page: Page, claim: Claim, claims: Sequence[Claim], *, around: bool) -> bool:
    """Whether a claim is shown: in a quotation, an example, a log or a program, or with a placeholder as a value."""
    if page.cut_off:
        return False
    if any(placeholder(text) for shape in claim.shapes for text in texts(shape.args)):
        return True
    if (
        claim.fault
        and around
        and any(placeholder(hole[1]) for hole in _HOLE.finditer(page.text, claim.start, claim.end))
    ):
        return True
    if not claim.shapes:
        return False
    line = page.text[page.text.rfind("\n", 0, claim.start) + 1 : claim.start]
    if _in_program(page, claim, claims, line, around=around):
        return True
    return around and (
        page.is_quoted(claim.start)
        or _is_transcript(page, claim)
        or _is_indented(page, claim)
        or _LOGGED.match(line) is not None
        or _between_quotes(page, claim)
    )


def is_all(page: Page, quoted: Sequence[Claim]) -> bool:
    """Whether the text is nothing but these calls, or the programs that they stand in."""
    if not re.search(r"\w", outside(page, quoted)):
        return True
    rest = list(page.text)
    for claim in quoted:
        start, end = _block(page, claim)
        lines = page.text[start:end].strip().split("\n")
        if claim.dialect == "pythonic" and all(_CODE.match(line) for line in (lines[0], lines[-1])):
            rest[start:end] = " " * (end - start)
    for fence in page.fences:
        rest[fence.start : fence.inside] = " " * (fence.inside - fence.start)
    return not re.search(r"\w", "".join(rest))


def _is_transcript(page: Page, claim: Claim) -> bool:
    """Whether the fence around a call holds its result as well."""
    fence = page.fence_at(claim.start)
    return fence is not None and page.turn_after(claim.start) < fence.stop


def _is_indented(page: Page, claim: Claim) -> bool:
    """Whether a call stands in a paragraph set in as an example, with words before and after it."""
    start, end = _block(page, claim)
    if claim.dialect not in ("", "pythonic") or page.fence_at(claim.start) is not None:
        return False
    inside = [line for line in page.text[start:end].split("\n") if line.strip()]
    words = re.search(r"\w", page.text[:start]) and re.search(r"\w", page.text[end:])
    return bool(words) and all(line.startswith(("    ", "\t")) for line in inside)


def _in_program(page: Page, claim: Claim, claims: Sequence[Claim], line: str, *, around: bool) -> bool:
    """Whether other code than calls stands around a call in Python's syntax."""
    if claim.dialect != "pythonic" or claim.marked:
        return False
    start, end = _block(page, claim)
    inside = _without(page.text, start, end, [one for one in claims if not one.fault])
    if any(_STATEMENT.match(one) for one in inside.split("\n")):
        return True
    if not line.lstrip().startswith("[") and _OPERATOR.match(page.text, claim.end):
        return True
    assigned = _ASSIGNED.match(line)
    if assigned and re.search(
        rf"(?<!\w)(?<!print\(){re.escape(assigned['name'])}(?!\w)(?!\))", page.text[claim.end : end]
    ):
        return True
    return _STATEMENT.match(line) is not None or (around and _received(page, claim))


def _received(page: Page, claim: Claim) -> bool:
    """Whether the call is a method of something that is not offered, in a text that says more."""
    written = _WRITTEN.match(page.text, claim.start)
    name = written["name"].replace("\\", "") if written else ""
    if "." not in name or any(name == known for known in page.offer.names or ()):
        return False
    called = page.offer.resolve(name) or ""
    before = name[: -len(called)] if called and name.endswith(called) else name.rpartition(".")[0] + "."
    return before.rstrip(".") not in _RECEIVER


def _block(page: Page, claim: Claim) -> tuple[int, int]:
    """Where the code around a claim begins and ends: its fence, or the lines around it up to blank ones."""
    fence = page.fence_at(claim.start)
    if fence is not None:
        return fence.inside, fence.stop
    start = page.text.rfind("\n\n", 0, claim.start)
    end = page.text.find("\n\n", claim.end)
    return start + 2 if start >= 0 else 0, end if end >= 0 else len(page.text)


def _without(text: str, start: int, end: int, claims: Sequence[Claim]) -> str:
    parts: list[str] = []
    at = start
    for claim in claims:
        if start <= claim.start < end:
            parts.append(text[at : claim.start])
            at = claim.end
    return "".join([*parts, text[at:end]])


def _between_quotes(page: Page, claim: Claim) -> bool:
    """Whether a call stands between quotation marks that hold more words than it."""
    start = page.text.rfind("\n\n", 0, claim.start) + 1
    stop = page.text.find("\n\n", claim.end)
    before, after = page.text[start : claim.start], page.text[claim.end : stop if stop >= 0 else len(page.text)]
    for opening, closing in _PAIRS.items():
        opens = before.count(opening) % 2 if opening == closing else before.count(opening) > before.count(closing)
        inside = f"{before.rpartition(opening)[2]} {after.partition(closing)[0]}" if opens and closing in after else ""
        if re.search(r"\w", inside):
            return True
    return False

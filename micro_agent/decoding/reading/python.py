r"""Calls in Python's syntax: in markup, in lists, in quotes, on lines of their own, in the midst of words.

    [get_weather(city="Rome"), now()]   ['get_weather(city="Rome")']   ['now'()]   [get\_weather(city="Rome")][0]
    print(get_weather(city="Rome"))     x = get_weather(city="Rome")   get_weather(city="Rome"), now()

A name that is a tool's and a bracket behind it are looked for, whatever stands around them. Nothing is evaluated.
"""

import re
from itertools import islice

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.calls import extent
from micro_agent.decoding.pythonic.positional import is_told, python_shape
from micro_agent.decoding.repair.mending import Unreadable, repair
from micro_agent.decoding.shapes import Shape

_WRAPPER = r"(?:await|return|print\(|python\(|[A-Za-z_]\w{0,40}+[ ]?=[ ]?)"
_CALL = re.compile(
    r"""(?<![A-Za-z0-9_.\\-])(?P<quote>["'`]{0,3})(?P<name>[A-Za-z_](?>(?:[\w.-]|\\+_){0,127}))["'`]{0,3}(?P<bracket>[(（])"""
)
_NEXT = re.compile(rf"""[\s,;|()\[\]"'`\\]*+(?:{_WRAPPER}[\s(\["'`]{{0,3}}){{0,3}}{_CALL.pattern}""")
_TITLE = re.compile(
    r"(?:^|>)[ \t]*+(?P<name>[A-Za-z_][\w.-]{0,127}+)[ \t]*+\n\s{0,9}```(?:python|py)?[ \t]*+\n\s{0,9}\Z", re.MULTILINE
)
"""ChatGLM's line above ``tool_call(…)``, which names the tool."""
_LISTED = re.compile(r"""["'`]?\s*,\s*["'`]?""")
_SIGNS = re.compile(r"(?>(?:```\w*|\W)*)")
"""Text that says nothing."""
_ITEM = re.compile(rf"^\s*(?:\d{{1,2}}[.)]\s+)?(?:{_WRAPPER}\s?)*")
_SIGNATURE = re.compile(r"[^()]*+\([\w\s,:.=*|?\[\]]*+\)")
"""A call whose arguments are names, and their types: it says how a tool is called."""
_ESCAPED = re.compile(r"\\+([_*\[\]#`()])")
_ESCAPED_NAME = re.compile(r"(?:\A|[(,]\s*+)[\w.-]*+\\+_")
_SPACES = ("default_api.", "functions.")
"""What models put before the names of tools, and nobody else does."""
_MAX_FOUND, _MAX_READ, _MAX_CLAIMS = 2_000, 100, 120
"""So many names before brackets are looked at, behind so many calls only different ones, and so many calls in all."""
_MAX_CALLS = 40


def calls_at(page: Page, at: int) -> Claim | None:
    """The calls that stand at ``at``, one or a list or one behind the other; ``None`` when none begins there."""
    found = _NEXT.match(page.text, at)
    claim = _claim(page, found) if found else None
    if claim is None:
        return None
    claim.start = at
    while not claim.is_lost and len(claim.shapes) < _MAX_CALLS and (found := _NEXT.match(page.text, claim.end)):
        more = _claim(page, found)
        _join(claim, more)
        claim.fault, claim.unfinished = more.fault, more.unfinished
    return claim


def read(page: Page) -> list[Claim]:
    """The calls of tools anywhere in the text, a list in one; at its beginning also what is not a tool."""
    claims: list[Claim] = []
    end, said, last, foreign = 0, "", None, None
    for found in islice(_CALL.finditer(page.text), _MAX_FOUND) if "(" in page.text or "（" in page.text else ():
        listed = last is not None and _LISTED.fullmatch(page.text, last.end, found.start()) is not None
        known = listed or _is_tool(page, found)
        if found.start() < end or not (known or _begins(page, found)):
            continue
        if len(claims) >= _MAX_READ and page.text.startswith(said, found.start()):
            continue  # the last one again
        known = known or page.offer.tools is None
        claim = _claim(page, found)
        claim.sure = listed or found["bracket"] == "（" or _is_sure(page, claim) if known else _is_listed(page, claim)
        if claim.fault and not known:
            foreign = claim  # it counts where no call follows it
            continue
        end, foreign = claim.end, foreign if claim.fault else None
        if last is not None and listed and not claim.is_lost:
            _join(last, claim)
            last.sure = True
            if len(last.shapes) > _MAX_CALLS:
                break  # more than may be called in one reply
            continue
        claims.append(claim)
        said = page.text[claim.start : claim.end]
        if claim.unfinished or len(claims) == _MAX_CLAIMS:
            break
        last = last if claim.fault else claim
    return [*claims, foreign] if foreign is not None else claims


def _join(claim: Claim, more: Claim) -> None:
    claim.shapes, claim.end = [*claim.shapes, *more.shapes], more.end
    claim.repairs += more.repairs


def _is_tool(page: Page, found: re.Match[str]) -> bool:
    name = _unescaped(found["name"])
    if page.offer.tools is None:
        return _titled(page, found) is not None
    return is_told(name) or page.offer.resolve(name) is not None or _titled(page, found) is not None


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _begins(page: Page, found: re.Match[str]) -> bool:
    """Whether what is no tool may be called as one: at the beginning of the text."""
    return found["bracket"] == "(" and not page.text[: found.start()].strip("`'\"[ \n")


def _titled(page: Page, found: re.Match[str]) -> re.Match[str] | None:
    if found["name"] != "tool_call":
        return None
    return _TITLE.search(page.text, max(0, found.start() - 200), found.start())


def _claim(page: Page, found: re.Match[str]) -> Claim:
    """The call that begins with this name, or why it cannot be read, or that it has no end."""
    name, at, title = _unescaped(found["name"]), found.start("bracket"), _titled(page, found)
    claim = Claim(found.start("quote"), len(page.text), [Shape(name, None, "explicit")], "pythonic")
    if title is not None:
        name, claim.start, claim.dialect = title["name"], title.start(), "chatglm"
    stop, closers = extent(page.text, at, page.offer.allowance)
    torn = stop is None and (stop := extent(page.text, at, page.offer.allowance, loose=True)[0]) is not None
    if stop is None and (not closers or page.cut_off or page.offer.tools is None):
        claim.unfinished = True
        return claim
    said = page.text[at:stop]
    if stop is None:
        said = said.rstrip("` \n") + closers
        claim.repairs = [repair("closing_brackets", page.text[at:], said)]
    if "\\" in (written := found["name"] + said) and _ESCAPED_NAME.search(written):
        bare = _unescaped(said)
        claim.repairs, said = [*claim.repairs, repair("escapes", said, bare)], bare
    try:
        claim.shapes = [python_shape(name, said, page)]
    except Unreadable as why:
        try:
            claim.shapes = [python_shape(name, said, page, loose=True)]
            claim.repairs = [*claim.repairs, repair("inner_quotes", said, str(claim.shapes[0].args))]
        except Unreadable:
            claim.fault, claim.unfinished = (None, True) if torn else (str(why), False)
    claim.end = claim.end if torn and claim.unfinished else stop or claim.end
    return claim


def _is_sure(page: Page, claim: Claim) -> bool:
    """Whether a call is no mention of one: it has arguments or a quote before it, or stands alone in its line.

    One that cannot be read has to be all there is, or the last line and no signature; one without an end begins a line.
    """
    text, line, end = page.text, page.text.rfind("\n", 0, claim.start) + 1, page.line_end(claim.end)
    before, after = text[line : claim.start], text[claim.end : end]
    if claim.unfinished:
        return not before.strip(" \t`[")
    if claim.fault:
        alone = _SIGNS.fullmatch(text, 0, claim.start) and _SIGNS.fullmatch(text, claim.end)
        said = text[claim.start : claim.end]
        last = _SIGNS.fullmatch(text, claim.end) and _SIGNS.fullmatch(_ITEM.sub("", before))
        meant = last and not _SIGNATURE.fullmatch(said) and page.fence_at(claim.start) is None
        return bool(alone or meant or claim.dialect == "chatglm" or _is_listed(page, claim))
    if any(shape.args for shape in claim.shapes) or text[claim.start] in "\"'`":
        return True
    announced = before.rstrip(" `*\"'").endswith((":", "：")) and _SIGNS.fullmatch(after)
    return bool(announced or _SIGNS.fullmatch(_ITEM.sub("", before) + after) or text.startswith(_SPACES, claim.start))


def _is_listed(page: Page, claim: Claim) -> bool:
    """Whether the text begins with a list, and that with the call."""
    first = _SIGNS.fullmatch(page.text, 0, claim.start)
    return first is not None and page.text[: claim.start].rstrip("` \n").endswith("[")

"""Gemma: ``<|tool_call>call:name{city:<|"|>Rome<|"|>,days:3}<tool_call|>``.

FunctionGemma writes ``<start_function_call>call:name{city:<escape>Rome<escape>}<end_function_call>``. What stands
between the string markers is text as it is, without any escapes; keys are bare.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.decision import MAX_DEPTH
from micro_agent.decoding.page import Page
from micro_agent.decoding.pythonic.positional import python_shapes
from micro_agent.decoding.repair.mending import Unreadable, mend
from micro_agent.decoding.scan.values import Unfinished
from micro_agent.decoding.shapes import Shape

_MAX_TOKENS = 4_000
_MAX_MARKS = 40
_SIGNS = ("<|tool_call", "<｜tool_call", "<start_function_call>", "call:", "<call>")
_OPENING = re.compile(r"<[|｜]tool_call[|｜]?>|<start_function_call>")
_NAME = r"(?P<name>[A-Za-z_](?>(?:[\w.-]|:(?=\w)){0,127}))"
_BEGIN = re.compile(
    rf"(?=[<:c])(?:(?:{_OPENING.pattern}|<call>)\s*+:?(?:call:\s*+)?|(?P<bare>^:?call:|(?<=\|>)call:)){_NAME}\s*+(?={{|\([^()]{{0,80}}(?:<\|\"\|>|<escape>))",
    re.MULTILINE,
)
_TAGS = re.compile(r"<(?:parameter|param|arg|argument|arg_value|function|invoke|tool_call)\b(?!\|)")
"""Between these a line may begin like that and be part of a value."""
_ENDING = r"<tool_call[|｜]>|<end_function_call>|<\|/?tool_call\|>|</?tool_call>|</call>|<turn\|>"
_CLOSED = re.compile(_ENDING)
_END = re.compile(rf"\s*+(?:{_ENDING})")
_DELIMITER = r'(?:<[|｜]"[|｜]>|<escape>)'
_TOKEN = re.compile(
    r'\s*+(?:<[|｜]"[|｜]>(?P<text>.*?)<[|｜]"[|｜]>|<escape>(?P<escape>.*?)<escape>|(?P<json>"[^"\\]*(?>(?:\\.[^"\\]*)*)")'
    r"|'(?P<single>[^'\\\n]*+)'(?=\s*+[,:=}\]])|`(?P<tick>[^`]*+)`(?=\s*+[,}\]])"
    rf"|(?P<mark>[{{}}\[\],:])|(?P<end>{_ENDING})|(?P<bare>[^\s{{}}\[\],:\"'<][^{{}}\[\],:\"<]*))",
    re.DOTALL,
)
# Models leave out the opening delimiter of a text; a key in it would be the next argument.
_UNOPENED = re.compile(rf'\s*+(?P<text>[^\s{{}}\[\]<>"][^{{}}\[\]<>"]{{0,2000}}+){_DELIMITER}(?=\s*+[,}}\]])')
# Or they take a quote for it.
_HALF_QUOTED = re.compile(rf"\s*+'(?P<text>[^'\n]{{0,2000}}+)'{_DELIMITER}(?=\s*+[,}}\]])")
_KEY = re.compile(r",\s*+\w++\s*+[:=]")
_ASSIGNED = re.compile(r"\s*+[\"']?(?P<key>[A-Za-z_][\w-]{0,63}+)[\"']?\s*+=(?![=>])")
# Or the closing one of the last text: what closes the call says where it ends.
_UNCLOSED = re.compile(rf"\s*+{_DELIMITER}(?P<text>[^<]{{1,4000}}+)(?={_ENDING})")
_TEXT = re.compile(rf"{_DELIMITER}(?P<text>.*?){_DELIMITER}", re.DOTALL)
_STRING = re.compile(r'\s*+(?:<[|｜]"[|｜]>|<escape>|"|\Z)')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_PARTNER = {"{": "}", "[": "]"}


def read(page: Page) -> Iterator[Claim]:
    """The calls in the markers, or ``call:name{…}`` at the start of a line."""
    if not any(sign in page.text for sign in _SIGNS):
        return
    end = 0
    found = [mark for mark in islice(_BEGIN.finditer(page.text), _MAX_MARKS) if not page.in_code(mark.start())]
    for mark in page.data.outside(found):
        if mark.start() < end or (mark["bare"] is not None and _TAGS.search(page.text, 0, mark.start())):
            continue
        claim = Claim(mark.start(), mark.end(), [Shape(mark["name"], None, "explicit")], "gemma")
        try:
            if page.text.startswith("(", mark.end()):
                claim.shapes, claim.end = _bracketed(page, mark)
            else:
                args, claim.end = _arguments(page, mark.end())
                claim.shapes = [Shape(_tool(page, mark["name"]), args, "explicit")]
        except Unreadable as why:
            claim.fault = str(why)
        except Unfinished:
            claim.unfinished, claim.end = True, len(page.text)
        end = claim.end
        yield claim


def _tool(page: Page, name: str) -> str:
    """The name, or the end of a path such as ``google:mcp:name`` that a tool has."""
    parts = name.split(":")
    ends = (":".join(parts[at:]) for at in range(len(parts)))
    return next((end for end in ends if page.offer.resolve(end)), name)


def _arguments(page: Page, start: int) -> tuple[Any, int]:
    """The object at ``start`` and where the call ends.

    Raises:
        Unreadable: It makes no sense.
        Unfinished: The text ends inside it.
    """
    parts, missing, at, whole = _translated(page.text, start)
    ended = _END.match(page.text, at)
    if missing and not ended and (page.text[at:].strip() or not whole or page.cut_off or page.offer.tools is None):
        raise Unfinished if _STRING.match(page.text, at) else Unreadable("its arguments are not a list of values")
    value, _ = mend("".join(parts) + missing, page.offer.allowance, guess=False)
    return value, ended.end() if ended else at


def _translated(text: str, start: int) -> tuple[list[str], str, int, bool]:
    """The object at ``start`` as pieces of JSON, its missing brackets, where it ends, and whether its last value does.

    A marked text and a bracket are whole; what is bare may go on.
    """
    parts: list[str] = []
    missing: list[str] = []
    at, whole = start, False
    while len(parts) < _MAX_TOKENS:
        if parts[-1:] == [":"] and (half := _HALF_QUOTED.match(text, at)) is not None:
            parts.append(json.dumps(half["text"]))
            at, whole = half.end(), True
        if (token := _TOKEN.match(text, at)) is None or token["end"] is not None:
            break
        assigned = _ASSIGNED.match(text, at) if missing[-1:] == ["}"] and parts[-1] in "{," else None
        if assigned is not None:
            parts += [json.dumps(assigned["key"]), ":"]
            at = assigned.end()
            continue
        if token["bare"] is not None and parts[-1:] == [":"] and (unopened := _unopened(text, at)) is not None:
            parts.append(json.dumps(unopened["text"]))
            at, whole = unopened.end(), True
            continue
        at = token.end()
        parts.append(_as_json(token, text, parts))
        whole = token["bare"] is None and token["mark"] not in (*_PARTNER, ":", ",")
        if token["mark"] in _PARTNER:
            missing.append(_PARTNER[token["mark"]])
        elif token["mark"] in _PARTNER.values():
            missing.pop()
        if not 0 < len(missing) <= MAX_DEPTH:
            break
    if missing and parts[-1] == ":" and (unclosed := _UNCLOSED.match(text, at)) is not None:
        said = _without_closers(unclosed["text"], len(missing))
        if said is not None:
            return [*parts, json.dumps(said), *reversed(missing)], "", unclosed.end(), True
    return parts, "".join(reversed(missing)), at, whole


def _without_closers(text: str, depth: int) -> str | None:
    """A text without the brackets behind it, which are as many as are open; ``None`` where more may be behind it."""
    for _ in range(depth):
        text = text.rstrip()
        if not text.endswith(("}", "]")):
            return None
        text = text[:-1]
    return None if _KEY.search(text) or text.count("{") != text.count("}") else text


def _bracketed(page: Page, mark: re.Match[str]) -> tuple[list[Shape], int]:
    """``call:name(city:<|"|>Rome<|"|>)``: a call in the syntax of Python but for its delimiters, and where it ends.

    Raises:
        Unreadable: It makes no sense.
        Unfinished: The text ends inside it.
    """
    stop = _CLOSED.search(page.text, mark.end())
    end = stop.start() if stop else len(page.text)
    said = _TEXT.sub(lambda found: json.dumps(found["text"]), page.text[mark.start("name") : end].strip())
    if not said.endswith(")"):
        raise Unfinished
    return python_shapes(said, page), stop.end() if stop else end


def _unopened(text: str, at: int) -> re.Match[str] | None:
    """The text at ``at`` that lacks its opening delimiter, if it is one."""
    found = _UNOPENED.match(text, at)
    return found if found is not None and not _KEY.search(found["text"]) else None


def _as_json(token: re.Match[str], text: str, parts: list[str]) -> str:
    given = next((token[kind] for kind in ("text", "escape", "single", "tick") if token[kind] is not None), None)
    if given is not None:
        return json.dumps(given)
    if token["bare"] is None:
        return token["json"] or token["mark"]
    word = token["bare"].strip()
    is_value = parts[-1:] in ([":"], ["["]) or not text.startswith(":", token.end())
    return word if is_value and (word in ("true", "false", "null") or _NUMBER.fullmatch(word)) else json.dumps(word)

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
from micro_agent.decoding.lexer import Mark
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.pythonic.positional import python_shape
from micro_agent.decoding.repair.mending import Unreadable, exact, mend
from micro_agent.decoding.scan.values import Unfinished
from micro_agent.decoding.shapes import Shape

_MAX_TOKENS = 4_000
_MAX_CALLS = 40
_DELIMITER = r'(?:<[|｜]"[|｜]>|<escape>)'
_BEGIN = re.compile(
    r"(?=[<:c])(?:(?:<[|｜]tool_call[|｜]?>|<start_function_call>|<call>)\s*+:?(?:call:\s*+)?|^:?call:|(?<=\|>)call:)"
    rf"(?P<name>[A-Za-z_](?>(?:[\w.-]|:(?=\w)){{0,127}}))\s*+(?={{|\([^()]{{0,80}}{_DELIMITER})",
    re.MULTILINE,
)
_ENDS = frozenset({"tool_call", "function_call", "call", "turn"})
_TEXT = re.compile(rf"{_DELIMITER}(?P<text>.*?){_DELIMITER}", re.DOTALL)
_TOKEN = re.compile(
    rf"\s*+(?:{_TEXT.pattern}|'(?P<single>[^'\\\n]*+)'(?=\s*+[,:=}}\]])|`(?P<tick>[^`]*+)`(?=\s*+[,}}\]])"
    r'|(?P<json>"[^"\\]*(?>(?:\\.[^"\\]*)*)"|[{}\[\],:])|(?P<bare>[^\s{}\[\],:\"\'<][^{}\[\],:\"<]*))',
    re.DOTALL,
)
# Models leave out the opening delimiter of a text, or take a quote for it, or leave out the closing one of the last.
_UNOPENED = re.compile(
    rf"\s*+(?:'(?P<quoted>[^'\n]{{0,2000}}+)'|(?P<text>[^\s'{{}}\[\]<>\"][^{{}}\[\]<>\"]{{0,2000}}+)){_DELIMITER}"
    r"(?=\s*+[,}\]])"
)
_SAID = re.compile(r"\s*+(?P<bare>[^\s{}\[\]<>\"'`,:][^{}\[\]<>\n]{0,2000}?)(?=\s*+(?:\}|,\s*+[\"']?\w++[\"']?\s*+:))")
"""A bare text up to the next key or the end of the object, with commas, colons and quotes in it."""
_UNCLOSED = re.compile(rf"\s*+{_DELIMITER}(?P<text>[^<]{{1,4000}}+)")
_KEY = re.compile(r",\s*+\w++\s*+[:=]")
_ASSIGNED = re.compile(r"\s*+[\"']?(?P<key>[A-Za-z_][\w-]{0,63}+)[\"']?\s*+=(?![=>])")
_CLOSER = {"{": "}", "[": "]"}


def read(page: Page) -> Iterator[Claim]:
    """The calls in the markers, or ``call:name{…}`` at the start of a line."""
    end = 0
    found = islice(_BEGIN.finditer(page.text), _MAX_CALLS) if "call" in page.text else ()
    for mark in page.data.outside([one for one in found if not page.in_code(one.start())]):
        if mark.start() < end:
            continue
        claim = Claim(mark.start(), mark.end(), [Shape(mark["name"], None, "explicit")], "gemma")
        try:
            if page.text.startswith("(", mark.end()):
                claim.shapes, claim.end = _bracketed(page, mark)
            else:
                args, claim.end = _arguments(page, mark.end())
                claim.shapes = [Shape(mark["name"], args, "explicit")]
        except Unreadable as why:
            claim.fault = str(why)
        except Unfinished:
            claim.unfinished, claim.end = True, len(page.text)
        end = claim.end
        yield claim


def _ending(page: Page, mark: Mark | None) -> Mark | None:
    """``mark`` if it closes a call; models close one with an opening mark as well."""
    ends = mark is not None and mark.name in _ENDS and not _BEGIN.match(page.text, mark.start)
    return mark if ends else None


def _arguments(page: Page, start: int) -> tuple[Any, int]:
    """The object at ``start`` and where the call ends.

    Raises:
        Unreadable: It makes no sense.
        Unfinished: The text ends inside it.
    """
    parts, missing, at = _translated(page, start)
    ended = _ending(page, page.mark_at(skip_blanks(page.text, at)))
    if missing and not ended:
        whole = page.text[at - 1] in "\"'`>}]"  # what is bare may go on
        if page.text[at:].strip() or not whole or page.cut_off or page.offer.tools is None:
            raise Unfinished
    value, _ = mend("".join(parts) + missing, page.offer.allowance, guess=False)
    return value, ended.end if ended else at


def _translated(page: Page, start: int) -> tuple[list[str], str, int]:
    """The object at ``start`` as pieces of JSON, the brackets that it lacks, and where it ends."""
    text, at = page.text, start
    parts: list[str] = []
    missing = ""
    while len(parts) < _MAX_TOKENS and (not parts or 0 < len(missing) <= MAX_DEPTH):
        value = _UNOPENED.match(text, at) if parts[-1:] == [":"] else None
        said = _SAID.match(text, at) if parts[-1:] == [":"] and missing[:1] == "}" and value is None else None
        key = _ASSIGNED.match(text, at) if missing[:1] == "}" and parts[-1] in "{," else None
        if value is not None and not _KEY.search(value["text"] or ""):
            parts.append(json.dumps(value["text"] or value["quoted"]))
            at = value.end()
        elif said is not None:
            parts.append(_as_json(said))
            at = said.end()
        elif key is not None:
            parts += [json.dumps(key["key"]), ":"]
            at = key.end()
        elif (token := _TOKEN.match(text, at)) is not None:
            parts.append(_as_json(token))
            at = token.end()
            missing = _CLOSER[parts[-1]] + missing if parts[-1] in _CLOSER else missing[parts[-1] in ("}", "]") :]
        else:
            break
    last = _UNCLOSED.match(text, at) if parts[-1:] == [":"] else None
    ended = _ending(page, page.mark_at(last.end())) if last else None
    if last and ended and (said := _without_closers(last["text"], len(missing))) is not None:
        return [*parts, json.dumps(said), missing], "", ended.start
    return parts, missing, at


def _as_json(token: re.Match[str]) -> str:
    kind = token.lastgroup or ""
    said = token[kind].strip() if kind == "bare" else token[kind]
    return said if kind == "json" or (kind == "bare" and _is_json(said)) else json.dumps(said)


def _is_json(word: str) -> bool:
    try:
        exact(word)
    except Unreadable:
        return False
    return True


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
    marks = page.marks[page.after(mark.end()) :]
    stop = next((one for one in marks if _ending(page, one)), None)
    said = page.text[mark.end("name") : stop.start if stop else len(page.text)].strip()
    if not said.endswith(")"):
        raise Unfinished
    python = _TEXT.sub(lambda found: json.dumps(found["text"]), said)
    return [python_shape(mark["name"], python, page)], stop.end if stop else len(page.text)

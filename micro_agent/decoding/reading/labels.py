"""ReAct: ``Action: name``, ``Action Input: {…}`` on the next line, or ``Action: name({…})``, or ``Final Answer: …``.

The first action counts: what follows it was thought without its result. Other words do as well: ``Tool:`` and
``Parameters:``, ``name:`` and ``arguments:``, with numbers and Markdown around them, and Qwen's ``✿FUNCTION✿: name``
and ``✿ARGS✿: {…}``.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.plain_input import bracketed, input_at
from micro_agent.decoding.page import Page, skip_blanks
from micro_agent.decoding.reading.python import calls_at
from micro_agent.decoding.repair.mending import Unreadable
from micro_agent.decoding.rows import STOPS
from micro_agent.decoding.scan.values import Unfinished
from micro_agent.decoding.shapes import Shape

_BULLET = r"(?:\d{1,2}[.)][ \t]{1,3})?(?:[-#>*•]{1,4}[ \t]{1,3})?\**"
_NUMBER = r"(?:[ \t]?\d{1,2})?"
_COLON = r"[ \t]{0,3}\**[ \t]{0,3}[:：]\**[ \t]*+"
_BELOW = rf"(?:{_COLON}(?:\n\s*+)?|\**[ \t]*+\n\s*+)"
_CALLED = r"(?:[ _](?:name|call|to[ _](?:use|call)))?"
_LABEL = (
    rf"(?P<key>✿FUNCTION✿|(?:(?:next|selected|chosen|us(?:e|ing))[ _])?(?:action|tool|function){_CALLED}|call|name)"
    rf"{_NUMBER}(?=[ \t]{{0,3}}\**[ \t]{{0,3}}[:：\n])"
)
_FIRST_HEAD = re.compile(rf"(?P<before>[ \t]{{0,8}}{_BULLET}){_LABEL}", re.IGNORECASE)
# With a sign that is looked for, and a set of what may follow it, `re` skips fast.
_HEAD = re.compile(rf"\n(?=[- \t\d#>*•✿ATFCNSUatfcnsu])(?P<before>[ \t]{{0,8}}+{_BULLET})(?i:{_LABEL})")
_INLINE_HEAD = re.compile(rf"(?P<key>[Aa](?i:ction(?: name)?)){_NUMBER}(?=[ \t]{{0,3}}\**[ \t]{{0,3}}[:：])")
_ACTION = ("action", "action name", "✿function✿")
_MAX_MARKS = 40
_ALONE = (*_ACTION, "tool", "tool name", "function", "function name")
"""Labels of an action and of nothing else, and those behind which a name alone is a call."""
_SENTENCE_END = re.compile(r"[.!?:;…][\s*]{1,5}\Z")
_WORD = r"[A-Za-z_](?>(?:[\w.-]|\\_){0,127})"
_NAME = (
    rf"(?:(?:use|using|call|calling|run|invoke)[ ](?:the[ ])?)?[\[`\"'*]*+(?P<name>{_WORD}(?: Answer)?)[\]`\"'*]*+"
    r"(?:\(\))?(?:[ ](?:tool|function))?(?:[ ]with)?"
)
_INPUT = (
    r"(?:✿ARGS✿|(?:Next[ _])?(?:(?:Action|Tool|Function|Call)[ _]?)?(?:Inputs?|Arg(?:ument)?s|Param(?:eter)?s|Kwargs))"
)
_LABELLED = rf"[ \t]*+[,;]?[ \t]*+(?:\n\s*+)?{_BULLET}{_INPUT}{_NUMBER}"
_FLAGS = re.MULTILINE | re.IGNORECASE
_CALL = re.compile(rf"{_BELOW}{_NAME}(?:{_LABELLED}{_BELOW}|[ \t]*+(?:\(|->|=>|:)?[ \t]*+(?=\{{))", _FLAGS)
_INLINE = re.compile(rf"{_COLON}{_NAME}{_LABELLED}{_COLON}", _FLAGS)
_BARE = re.compile(rf"{_COLON}{_NAME}[ \t]*+(?=\n\s*+(?:Observation|Thought)|\s*+\Z)", _FLAGS)
_DESCRIBED = re.compile(
    rf"{_BELOW}{_NAME}(?:\([^()\"'\n]{{0,200}}\)(?:[ \t]*+->[ \t]*+\w{{1,20}})?)?"
    rf"(?:[ \t]*+(?:[-–—:,.(]|\b(?:to|for|because|since)\b)[^\n]{{0,300}})?"
    rf"[ \t]*+\n\s*+{_BULLET}{_INPUT}{_NUMBER}{_BELOW}",
    _FLAGS,
)
"""The name as the prompt describes the tool, or with the reason behind it, and the input on a line of its own."""
_SPACED = re.compile(
    rf"{_COLON}[\[`\"'*]*+(?P<name>[A-Za-z]\w{{0,40}}(?>(?:[ ]\w{{1,40}}){{1,4}}))[\]`\"'*]*+{_LABELLED}{_BELOW}",
    _FLAGS,
)
"""The name of a tool in words: ``Docs Search``."""
_NAMED = re.compile(rf"{_COLON}(?P<name>{_WORD})(?P<said>[^\n]*+)", _FLAGS)
_STOP = re.compile(
    r"^[ \t]*+(?:[#*]{1,3}[ \t]*+)?(?:(?:Observation|Thought|Final Answer|Action)\b|✿RESULT✿|✿RETURN✿)", _FLAGS
)
_TYPE = re.compile(r"<?(?:str(?:ing)?|int(?:eger)?|number|float|bool(?:ean)?|object|array)>?")
_TYPE_IN_PROSE = re.compile(
    rf"\A{_TYPE.pattern}(?=[,;:(])|\((?:{_TYPE.pattern}|optional|required)(?:, ?(?:optional|required))?\)",
    re.IGNORECASE,
)
_SCRATCHPAD = re.compile(
    rf"[ \t]{{0,8}}{_BULLET}(?:Thought|Action|Question|Final Answer){_NUMBER}{_COLON}", re.IGNORECASE
)
_FINAL = re.compile(
    rf"(?:\A|\n(?=[- \t\d#>*•Ff]))[ \t]{{0,8}}{_BULLET}(?i:Final Answer){_COLON}(?P<answer>.*)", re.DOTALL
)
_FINISH = re.compile(rf"{_COLON}(?:finish|final[ _]answer)\[(?P<answer>[^\n]*)\][ \t]*+$", _FLAGS)


@dataclass(frozen=True, slots=True)
class _Head:
    """A label that may begin a call: where it begins with what is before it, and where it ends."""

    key: str
    start: int
    end: int


def read(page: Page) -> Iterator[Claim]:
    """The first action, else the final answer."""
    claim = _first(page)
    if claim is not None:
        yield claim


def _first(page: Page) -> Claim | None:
    lines, inline = _heads(page)
    alone = [head for head in lines if head.key in _ALONE]
    for head, mark in (*_marks(page, _CALL, lines), *_marks(page, _INLINE, inline), *_marks(page, _BARE, alone)):
        known = page.offer.tools is not None and page.offer.resolve(mark["name"]) is not None
        if known or (mark.re is not _BARE and head.key in _ACTION):
            return _call(page, head, mark)
    described = _marks(page, _DESCRIBED, [head for head in alone if head.key in _ACTION])
    for head, mark in (*_marks(page, _SPACED, lines), *described):
        if page.offer.tool(page.offer.resolve(mark["name"])):
            return _call(page, head, mark)
    for head, mark in _marks(page, _NAMED, alone)[:1]:
        if page.offer.tool(page.offer.resolve(mark["name"])):
            return _said(page, head, mark)
    return _answer(page, alone)


def _heads(page: Page) -> tuple[list[_Head], list[_Head]]:
    """The labels that begin a line, and those of an action behind a sentence: ``Thought: I look. Action: x``."""
    text = page.text
    first = _FIRST_HEAD.match(text)
    lines = [*([first] if first else []), *_outside(page, _HEAD)]
    inline = [
        mark
        for mark in _outside(page, _INLINE_HEAD)
        if _SENTENCE_END.search(text[max(0, mark.start() - 6) : mark.start()])
    ]
    return [_head(mark, mark.start("before")) for mark in lines], [_head(mark, mark.start()) for mark in inline]


def _outside(page: Page, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    found = page.data.outside(list(islice(pattern.finditer(page.text), _MAX_MARKS)))
    return [mark for mark in found if not page.in_code(mark.start())]


def _begin(page: Page, head: _Head) -> int:
    """Where the call begins: with the thought before it, if the text begins with one."""
    return 0 if _SCRATCHPAD.match(page.text) else head.start


def _head(mark: re.Match[str], start: int) -> _Head:
    return _Head(mark["key"].casefold().replace("_", " "), start, mark.end())


def _marks(page: Page, body: re.Pattern[str], heads: Iterable[_Head]) -> list[tuple[_Head, re.Match[str]]]:
    return [(head, mark) for head in heads if (mark := body.match(page.text, head.end))]


def _answer(page: Page, heads: list[_Head]) -> Claim | None:
    if not _SCRATCHPAD.match(page.text) or page.cut_off:
        return None
    finals = [_FINAL.search(page.text), *(mark for _, mark in _marks(page, _FINISH, heads))]
    answer = next((final["answer"].strip() for final in finals if final), "")
    return Claim(0, len(page.text), dialect="react", answer=answer) if answer else None


def _said(page: Page, head: _Head, mark: re.Match[str]) -> Claim | None:
    """``Action: name[text]``; with anything else behind the name the action cannot be read."""
    if mark["said"].lstrip().startswith("(") and (calls := calls_at(page, mark.start("name"))) and not calls.fault:
        return Claim(
            _begin(page, head), calls.end, calls.shapes, "react", repairs=calls.repairs, unfinished=calls.unfinished
        )
    args, fault = None, None
    try:
        args = bracketed(page, mark["name"], mark["said"].strip())
    except Unreadable as why:
        fault = str(why)
    unfinished = page.cut_off and mark.end() == len(page.text)
    shape = Shape(mark["name"], args, "explicit")
    sure = head.key in _ACTION
    return Claim(_begin(page, head), mark.end(), [shape], "react", fault=fault, unfinished=unfinished, sure=sure)


def describes(args: Any, said: str = "", labels: str = "input") -> bool:
    """Whether a tool is described and not called: its parameters in prose, or types where values would stand.

    Args:
        args: What was read.
        said: The text that it was read in.
        labels: What stands before that.
    """
    held = list(cast("dict[str, Any]", args).values()) if isinstance(args, dict) else [args]
    values = [value for value in held if isinstance(value, str)]
    if any(_TYPE.fullmatch(value) for value in values):
        return True
    if said.lstrip("` \n").startswith("{"):
        return False
    in_prose = "input" not in labels.casefold() and said.strip() in values
    return in_prose or any(_TYPE_IN_PROSE.search(value) for value in values)


def _call(page: Page, head: _Head, mark: re.Match[str]) -> Claim | None:
    args: Any = {}
    end, unfinished, fault = mark.end(), mark.re is _BARE and page.cut_off, None
    inner = page.mark_at(skip_blanks(page.text, end))
    if mark.re is not _BARE and inner is not None and not inner.closing and inner.name in STOPS:
        return None  # the call of another dialect
    if mark.re is not _BARE:
        try:
            args, end = input_at(page, mark["name"], mark.end(), _STOP)
            if head.key not in _ACTION and describes(args, page.text[mark.end() : end], mark[0]):
                return None
        except Unfinished:
            unfinished = True
        except Unreadable as why:
            fault = str(why)
    sure = fault is None or head.key in _ACTION
    shape = Shape(mark["name"], args, "explicit")
    return Claim(_begin(page, head), end, [shape], "react", fault=fault, unfinished=unfinished, sure=sure)

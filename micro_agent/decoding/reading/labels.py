"""ReAct: ``Action: name``, ``Action Input: {…}`` on the next line, or ``Action: name({…})``, or ``Final Answer: …``.

The first action counts: what follows it was thought without its result. Other words do as well: ``Tool:`` and
``Parameters:``, ``name:`` and ``arguments:``, with numbers and Markdown around them, and Qwen's ``✿FUNCTION✿: name``
and ``✿ARGS✿: {…}``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from micro_agent.decoding.claims import Claim
from micro_agent.decoding.markup.plain_input import bracketed, input_at, plain_input
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
_MAX_MARKS = 40
_ALONE = ("tool", "tool name", "function", "function name")
"""Labels behind which the name of a tool alone is a call, as behind those of an action."""
_WORD = r"[A-Za-z_](?>(?:[\w.-]|\\_){0,127})"
_NAME = (
    rf"(?:(?:use|using|call|calling|run|invoke)[ ](?:the[ ])?)?[\[`\"'*]*+(?P<name>{_WORD}(?: Answer)?)[\]`\"'*]*+"
    r"(?:\(\))?(?:[ ](?:tool|function))?(?:[ ]with)?"
)
_INPUT = (
    r"(?:✿ARGS✿|(?:Next[ _])?(?:(?:Action|Tool|Function|Call)[ _]?)?(?:Inputs?|Arg(?:ument)?s|Param(?:eter)?s|Kwargs))"
)
_FLAGS = re.MULTILINE | re.IGNORECASE
_NAMED = re.compile(rf"{_BELOW}{_NAME}", _FLAGS)
_IN_WORDS = re.compile(
    rf"{_COLON}[\[`\"'*]*+(?P<name>[A-Za-z]\w{{0,40}}(?>(?:[ ]\w{{1,40}}){{1,4}}))[\]`\"'*]*+", _FLAGS
)
"""The name of a tool in words: ``Docs Search``."""
_LABELLED = re.compile(rf"[ \t]*+[,;]?[ \t]*+(?:\n\s*+)?{_BULLET}{_INPUT}{_NUMBER}{_BELOW}", _FLAGS)
_OBJECT = re.compile(r"[ \t]*+(?:\(|->|=>|:)?[ \t]*+(?=\{)")
_NOTHING = re.compile(r"[ \t]*+(?=\n\s*+(?:Observation|Thought)|\s*+\Z)", re.IGNORECASE)
_STOP = re.compile(
    r"^[ \t]*+(?:[#*]{1,3}[ \t]*+)?(?:(?:Observation|Thought|Final Answer|Action)\b|✿RESULT✿|✿RETURN✿|Obs[a-z]{0,7}\Z)",
    _FLAGS,
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
    rf"(?:\A|\n(?=[- \t\d#>*•AFaf]))[ \t]{{0,8}}{_BULLET}(?i:Final Answer{_COLON}(?P<answer>.*)"
    rf"|Action{_NUMBER}{_COLON}(?:finish|final[ _]answer)\[(?P<finish>[^\n]*)\][ \t]*+(?=\n|\Z))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Head:
    """A label that may begin a call: its word, where it begins with what is before it, and where it ends."""

    key: str
    start: int
    end: int
    inline: bool = False

    @property
    def sure(self) -> bool:
        """Whether it is the label of an action and of nothing else."""
        return self.key in ("action", "action name", "✿function✿")


def read(page: Page) -> Iterator[Claim]:
    """The first action, else the final answer."""
    claim = _first(page)
    if claim is not None:
        yield claim


def _first(page: Page) -> Claim | None:
    heads = _heads(page)
    for read in (_with_input, _alone, _with_reason, _in_brackets):
        for head in heads:
            named = _NAMED.match(page.text, head.end)
            claim = read(page, head, named) if named else None
            if claim is not None:
                return claim
    return _answer(page)


def _with_input(page: Page, head: _Head, named: re.Match[str]) -> Claim | None:
    """``Action: name`` with a label behind it and the input, or with an object."""
    said = _LABELLED.match(page.text, named.end()) or (None if head.inline else _OBJECT.match(page.text, named.end()))
    if said is None or not (head.sure or _is_tool(page, named["name"])):
        return None
    return _call(page, head, named["name"], said)


def _alone(page: Page, head: _Head, named: re.Match[str]) -> Claim | None:
    """``Action: name`` and nothing else."""
    said = _NOTHING.match(page.text, named.end()) if (head.sure or head.key in _ALONE) and not head.inline else None
    if said is None or not _is_tool(page, named["name"]):
        return None
    return Claim(
        _begin(page, head), said.end(), [Shape(named["name"], {}, "explicit")], "react", unfinished=page.cut_off
    )


def _with_reason(page: Page, head: _Head, named: re.Match[str]) -> Claim | None:
    """The name as the prompt describes the tool, in words, or with a reason behind it; the input on its own line."""
    words = _IN_WORDS.match(page.text, head.end)
    below = _LABELLED.match(page.text, words.end()) if words else None
    if words and page.offer.tool(page.offer.resolve(words["name"])):
        return _call(page, head, words["name"], below) if below else None
    line = page.text.find("\n", named.end())
    said = _LABELLED.match(page.text, line) if line >= 0 and head.sure and not head.inline else None
    if said is not None and page.offer.tool(page.offer.resolve(named["name"])):
        return _call(page, head, named["name"], said)
    return _call(page, head, words["name"], below) if words and below and head.sure else None  # of no tool


def _in_brackets(page: Page, head: _Head, named: re.Match[str]) -> Claim | None:
    """``Action: name[text]``, ``Action: name, text``; with anything else behind the name it cannot be read."""
    name, start = named["name"], named.start("name")
    if head.inline or not (head.sure or head.key in _ALONE) or not page.offer.tool(page.offer.resolve(name)):
        return None
    end = page.text.find("\n", start)
    end = end if end >= 0 else len(page.text)
    said = page.text[start + len(name) : end]
    if not said.strip("`*\"' "):
        return None
    claim = Claim(_begin(page, head), end, [Shape(name, None, "explicit")], "react", sure=head.sure)
    claim.unfinished = page.cut_off and end == len(page.text)
    if said.lstrip().startswith("(") and (calls := calls_at(page, start)) and not calls.fault:
        return replace(calls, start=claim.start, dialect="react")
    try:
        bare = said.lstrip().removeprefix(",").strip()
        args = bracketed(page, name, said.strip()) if bare == said.strip() else plain_input(page, name, bare)
        claim.shapes = [Shape(name, args, "explicit")]
    except Unreadable as why:
        claim.fault = str(why)
    return claim


def _heads(page: Page) -> list[_Head]:
    """The labels that begin a line, and those of an action behind a sentence: ``Thought: I look. Action: x``."""
    text = page.text
    first = _FIRST_HEAD.match(text)
    lines = [(mark, mark.start("before")) for mark in (*([first] if first else ()), *_outside(page, _HEAD))]
    inline = [
        (mark, mark.start())
        for mark in (_outside(page, _INLINE_HEAD) if "action" in page.lowered else ())
        if _ends_sentence(text[max(0, mark.start() - 6) : mark.start()])
    ]
    marks = [*((*one, False) for one in lines), *((*one, True) for one in inline)]
    return [_Head(mark["key"].casefold().replace("_", " "), start, mark.end(), within) for mark, start, within in marks]


def _ends_sentence(before: str) -> bool:
    said = before.rstrip("* \t\n")
    return said != before and said.endswith((".", "!", "?", ":", ";", "…"))


def _outside(page: Page, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    found = page.data.outside(list(islice(pattern.finditer(page.text), _MAX_MARKS)))
    return [mark for mark in found if not page.in_code(mark.start())]


def _begin(page: Page, head: _Head) -> int:
    """Where the call begins: with the thought before it, if the text begins with one."""
    return 0 if _SCRATCHPAD.match(page.text) else head.start


def _is_tool(page: Page, name: str) -> bool:
    return page.offer.tools is not None and page.offer.resolve(name) is not None


def _answer(page: Page) -> Claim | None:
    final = _FINAL.search(page.text) if _SCRATCHPAD.match(page.text) and not page.cut_off else None
    answer = (final["answer"] or final["finish"] or "").strip() if final else ""
    return Claim(0, len(page.text), dialect="react", answer=answer) if answer else None


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


def _call(page: Page, head: _Head, name: str, label: re.Match[str]) -> Claim | None:
    """The call of a tool whose input begins where ``label`` ends."""
    inner = page.mark_at(skip_blanks(page.text, label.end()))
    if inner is not None and not inner.closing and inner.name in STOPS:
        return None  # the call of another dialect
    claim = Claim(_begin(page, head), label.end(), [Shape(name, {}, "explicit")], "react")
    try:
        args, claim.end = input_at(page, name, label.end(), _STOP)
    except Unfinished:
        claim.unfinished = True
        return claim
    except Unreadable as why:
        claim.fault, claim.sure = str(why), head.sure
        return claim
    if not head.sure and describes(args, page.text[label.end() : claim.end], label[0]):
        return None
    if "\\_" in name and isinstance(args, dict):  # all of it is escaped as Markdown
        said = cast("dict[str, Any]", args)
        args = {key: one.replace("\\_", "_") if isinstance(one, str) else one for key, one in said.items()}
    claim.shapes = [Shape(name, args, "explicit")]
    return claim

"""What a model thinks aloud, set aside: never the decision, never part of the answer."""

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import islice

from micro_agent.decoding.repair.mending import Allowance
from micro_agent.decoding.scan.data import Data

# What stands behind the first sign. That is one of a set, to which `re` skips fast.
_OPENING = (
    r"(?:(?<=<)(?:(?:think|thinking|thought|reasoning|seed:think)\s{0,9}>|\|START_THINKING\|>"
    r"|\|(?:begin_of_thought|inner_prefix|think:start|open\|>think<\|sep)\|>|\|channel>(?:thought\b)?)|(?<=\[)THINK\]|(?<=◁)think▷)"
)
_CLOSING = (
    r"(?:(?<=<)(?:/(?:think|thinking|thought|reasoning|seed:think)\s{0,9}>|\|END_THINKING\|>"
    r"|\|(?:end_of_thought|inner_suffix|think:end|close\|>think<\|sep)\|>|channel\|>)"
    r"|(?<=\[)(?:/THINK|BEGIN FINAL RESPONSE)\]|(?<=◁)/think▷)"
)
# Between backticks an answer speaks about the tag; that form is matched first and names no group.
_TAG = re.compile(
    rf"[`<\[◁](?i:(?<=`)[<\[◁](?:{_OPENING}|{_CLOSING})`"
    rf"|(?=[/|bcorst])(?:(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})))"
)

_MAX_TAGS = 1000
_SIGNS = ("think", "thought", "reasoning", "inner_", "channel", "final response]")

_CALL_TAG = re.compile(
    r"<(?P<slash>/?)(?:(?:\w{1,20}:)?tool_calls?|function_calls?|function|invoke|parameter|arg_value)\b[^<>\n]{0,200}>"
)

_SENTENCE = re.compile(r"(?:\n|[.!?:\]])[^\w\n]{0,12}\Z|\A[^\w\n]*\Z")
_CALL_END = re.compile(r"</[\w:]{1,40}>\s{0,40}\Z")

_OBJECT = re.compile(r"""\s*+(?:\[\s*+)?\{\s*+(?:["'“‘]|\w+\s*+[:=])""")

# gpt-oss: the analysis channel up to the next message. With a recipient it is a call and no thought.
_ANALYSIS = re.compile(
    r"(?=<\||to=)(?P<call>\bto=[\w.-]{1,128}\s*+)?(?:<\|start\|>\s*+assistant\s*+)?<\|channel\|>\s*+analysis(?P<header>[^<]{0,200})"
    r"<\|message\|>[^<]*+(?>(?:<(?!\|(?:end|start|channel|call|return)\|>)[^<]*+)*)(?:<\|end\|>)?"
)
# The same where the server dropped the special tokens.
_BARE_ANALYSIS = re.compile(r"analysis(?=[A-Z]).*?assistant(?:final|(?=commentary))", re.DOTALL)

# Granite 3.2 thinks in plain words.
_WORDS = re.compile(r"\s*+(?:Here is|Here's) my thought process:.*?(?:Here is|Here's) my response:", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A reply without what was thought, trimmed, and the last thought if nothing closes it or nothing opened it."""

    text: str
    open_thought: str | None = None


def without_thinking(text: str) -> str:
    """`spoken`, the text alone."""
    return spoken(Data(text, Allowance())).text


def spoken(data: Data) -> Spoken:
    """The text without ``<think>…</think>`` and what other models write for it.

    Without a closing tag everything after the opening one is thought, without an opening tag everything before the
    closing one. A tag inside a string of a JSON object, or in an argument of a call in tags, is data.
    """
    text = _without_start(_WORDS, data.text)
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return Spoken(_without_start(_BARE_ANALYSIS, text).strip())
    data = _without_analysis(data.of(text))
    text = data.text
    kept: list[str] = []
    thought = ""
    at, inside, paired, held = 0, False, False, 0
    end = len(text.rstrip())
    calls, begun = _Calls.of(text), _Begun.of(data)
    for tag in _outside_data(_TAG, data):
        said = paired or tag["opening"] or held  # what a value opens it closes as well
        if not inside and (calls.hold(at, tag.start(), said=said) or begun.hold(tag.start())):
            held = held + 1 if tag["opening"] else max(0, held - 1)
            continue
        if tag["opening"]:
            if not inside:
                kept.append(text[at : tag.start()])
            at, inside = tag.end(), True
            continue
        if not inside:
            if paired and tag.end() >= end:
                kept.append(text[at : tag.start()])  # a closing tag too many at the very end closes nothing
            elif not paired and tag.end() >= end:
                return Spoken("", text[at : tag.start()].strip())  # nothing opened it, and nothing follows it
            else:
                kept.clear()
        else:
            thought = "" if paired else text[at : tag.start()]
        at, inside, paired = tag.end(), False, True
    if not inside:
        kept.append(text[at:])
    said = "".join(kept).strip()
    last = text[at:] if inside else thought if not said and _ends_in_call(thought) else None
    return Spoken(said, None if last is None else last.strip())


def _ends_in_call(thought: str) -> bool:
    """Whether a call in tags that begins a line or a sentence ends the thought, as where it was to be made."""
    first = _CALL_TAG.search(thought) if _CALL_END.search(thought[-80:]) else None
    return first is not None and _SENTENCE.search(thought[max(0, first.start() - 16) : first.start()]) is not None


@dataclass(frozen=True, slots=True)
class _Calls:
    """Where tags of calls open and close, and where the text begins."""

    opened: list[int]
    closed: list[int]
    start: int

    @classmethod
    def of(cls, text: str) -> "_Calls":
        found = list(_CALL_TAG.finditer(text))
        opened = [tag.start() for tag in found if not tag["slash"]]
        closed = [tag.start() for tag in found if tag["slash"]]
        return cls(opened, closed, len(text) - len(text.lstrip()))

    def hold(self, at: int, tag: int, *, said: object) -> bool:
        """Whether ``tag`` is in a call that opens after ``at`` and is closed behind the tag.

        What stands before the first closing tag of a thought was thought, calls too, unless the text begins with one.
        """
        last = bisect(self.opened, tag) - 1
        if last < 0 or self.opened[last] < at or not (said or self.opened[0] == self.start):
            return False
        following = bisect(self.closed, self.opened[last])
        return following < len(self.closed) and self.closed[following] > tag


@dataclass(frozen=True, slots=True)
class _Begun:
    """The object that a text begins with: no thought begins like that, so a tag inside it is data, readable or not."""

    end: int

    @classmethod
    def of(cls, data: Data) -> "_Begun":
        first = data.pieces[0] if _OBJECT.match(data.text) and data.pieces else None
        return cls(first.end if first and not data.text[: first.start].strip() else 0)

    def hold(self, tag: int) -> bool:
        return tag < self.end


def _without_start(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.match(text)
    return text[found.end() :] if found else text


def _without_analysis(data: Data) -> Data:
    text = data.text
    kept: list[str] = []
    at = 0
    for thought in _outside_data(_ANALYSIS, data):
        if not thought["call"] and "to=" not in thought["header"]:
            kept.append(text[at : thought.start()])
            at = thought.end()
    return data.of(_without_start(_BARE_ANALYSIS, "".join(kept) + text[at:]))


def _outside_data(pattern: re.Pattern[str], data: Data) -> list[re.Match[str]]:
    """The first matches that mean something and are not part of an argument."""
    found = (match for match in pattern.finditer(data.text) if match.lastgroup)
    return data.outside(list(islice(found, _MAX_TAGS)))

"""What a model thinks aloud, set aside: never the decision, never part of the answer."""

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import islice

from micro_agent.decoding.repair.mending import Allowance
from micro_agent.decoding.scan.data import Data

_OPENING = (
    r"<(?:seed:)?(?:think|thinking|thought|reasoning)\s{0,9}>|<\|(?:start_thinking|begin_of_thought|inner_prefix"
    r"|think:start|open\|>think<\|sep)\|>|<\|channel>(?:thought\b)?|\[think\]|◁think▷"
)
_CLOSING = (
    r"</(?:seed:)?(?:think|thinking|thought|reasoning)\s{0,9}>|<\|(?:end_thinking|end_of_thought|inner_suffix"
    r"|think:end|close\|>think<\|sep)\|>|<channel\|>|\[(?:/think|begin final response)\]|◁/think▷"
)
# Between backticks an answer speaks about the tag; that form is matched first and names no group.
_TAG = re.compile(rf"(?=[`<\[◁])(?i:`(?:{_OPENING}|{_CLOSING})`|(?P<opening>{_OPENING})|(?P<closing>{_CLOSING}))")
_MAX_TAGS = 1000
_SIGNS = ("think", "thought", "reasoning", "inner_", "channel", "final response]")

_CALL_TAG = re.compile(
    r"<(?P<slash>/?)(?:(?:\w{1,20}:)?tool_calls?|function_calls?|function|invoke|parameter|arg_value)\b[^<>\n]{0,200}>"
)
_OBJECT = re.compile(r"""\s*+(?:\[\s*+)?\{\s*+(?:["'“‘]|\w+\s*+[:=])""")

# gpt-oss: the analysis channel up to the next message. With a recipient it is a call and no thought.
_ANALYSIS = re.compile(
    r"(?=<\||to=)(?P<call>\bto=[\w.-]{1,128}\s*+)?(?:<\|start\|>\s*+assistant\s*+)?<\|channel\|>\s*+analysis(?P<header>[^<]{0,200})"
    r"<\|message\|>[^<]*+(?>(?:<(?!\|(?:end|start|channel|call|return)\|>)[^<]*+)*)(?:<\|end\|>)?"
)
# The same where the server dropped the special tokens. Granite 3.2 thinks in plain words.
_PLAIN = re.compile(
    r"\s*+(?:analysis(?=[A-Z]).*?assistant(?:final|(?=commentary))"
    r"|Here(?: is|'s) my thought process:.*?Here(?: is|'s) my response:)",
    re.DOTALL,
)


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
    plain = _PLAIN.match(data.text)
    text = data.text[plain.end() :] if plain else data.text
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return Spoken(text.strip())
    data = _without_analysis(data.of(text))
    text = data.text
    kept: list[str] = []
    thought = ""
    at, inside, paired, held = 0, False, False, 0
    end = len(text.rstrip())
    values = _Values(data)
    for tag in _outside_data(_TAG, data):
        opens = bool(tag["opening"])
        if not inside and values.hold(tag.start(), at, said=paired or opens or held > 0):
            held = held + 1 if opens else max(0, held - 1)  # what a value opens it closes as well
        elif opens:
            if not inside:
                kept.append(text[at : tag.start()])
            at, inside = tag.end(), True
        elif not inside and paired and tag.end() >= end:
            kept.append(text[at : tag.start()])  # a closing tag too many at the very end closes nothing
            at = tag.end()
        elif not inside and tag.end() >= end:
            return Spoken("", text[at : tag.start()].strip())  # nothing opened it, and nothing follows it
        else:
            if not inside:
                kept.clear()
            thought = text[at : tag.start()] if inside and not paired else ""
            at, inside, paired = tag.end(), False, True
    if not inside:
        kept.append(text[at:])
    said = "".join(kept).strip()
    last = text[at:] if inside else thought if not said and _may_end_in_call(thought) else None
    return Spoken(said, None if last is None else last.strip())


def _may_end_in_call(thought: str) -> bool:
    """Whether the first call in tags begins a line or a sentence, as where it was to be made."""
    first = _CALL_TAG.search(thought)
    before = thought[: first.start()].rstrip(" \t`*") if first else "-"
    return not before.strip() or before.endswith(("\n", ".", "!", "?", ":", "]"))


class _Values:
    """Where a tag is part of a value: in the object that a text begins with, readable or not, or in a call in tags."""

    def __init__(self, data: Data) -> None:
        first = data.pieces[0] if _OBJECT.match(data.text) and data.pieces else None
        self.object = first.end if first and not data.text[: first.start].strip() else 0
        self.tags = list(_CALL_TAG.finditer(data.text))
        self.starts = [tag.start() for tag in self.tags]
        self.closed = max((tag.start() for tag in self.tags if tag["slash"]), default=0)
        self.begins = bool(self.tags) and not data.text[: self.starts[0]].strip()

    def hold(self, tag: int, at: int, *, said: bool) -> bool:
        """Whether ``tag`` is in the object, or in a call that opens after ``at`` and is closed behind the tag.

        What stands before the first closing tag of a thought was thought, calls too, unless the text begins with one.
        """
        if tag < self.object:
            return True
        last = bisect(self.starts, tag) - 1
        if last < 0 or self.tags[last]["slash"] or self.starts[last] < at:
            return False
        return tag < self.closed and (said or self.begins)


def _without_analysis(data: Data) -> Data:
    kept: list[str] = []
    at = 0
    for thought in _outside_data(_ANALYSIS, data):
        if not thought["call"] and "to=" not in thought["header"]:
            kept.append(data.text[at : thought.start()])
            at = thought.end()
    return data.of("".join(kept) + data.text[at:])


def _outside_data(pattern: re.Pattern[str], data: Data) -> list[re.Match[str]]:
    """The first matches that mean something and are not part of an argument."""
    found = (match for match in pattern.finditer(data.text) if match.lastgroup)
    return data.outside(list(islice(found, _MAX_TAGS)))

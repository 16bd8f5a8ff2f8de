"""The objects in a text that may be a decision, each with its value or with why it has none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.decoding.decision import Repair
from micro_agent.decoding.keys import THOUGHTS, plain
from micro_agent.decoding.repair.mending import Unreadable, exact, mend, repair
from micro_agent.decoding.scan.scanner import Piece
from micro_agent.decoding.scan.words import any_case
from micro_agent.decoding.source import Source

_MAX_OBJECTS = 50
"""So many different objects are looked at; a text with more is a table."""
_HEAD = 2000
"""Characters of an object without an end that say what it begins like."""

_QUOTE = r"""["'“”‘’]?"""
_KEYED = re.compile(
    any_case(
        "tool",
        "name",
        "func",
        "fn",
        "action",
        "final",
        "answer",
        "call",
        "method",
        "command",
        "api",
        "recipient",
        "intent",
        "operation",
        "type",
        "service",
        "skill",
        "capability",
    )
    + rf"[\w -]{{0,40}}+{_QUOTE}{_QUOTE}\s*+[:：=]"
)
_TOOL_KEY = re.compile(rf"[{{\[,\"'“‘]\s*+(?:tool|tool_?name|tool_?calls?|function_?call){_QUOTE}\s*+[:：]")
_FINAL_KEY = re.compile(rf"^\{{\s*+{_QUOTE}final(?:_answer)?{_QUOTE}\s*+[:：]")
_NAME_VALUE = re.compile(
    any_case("name", "tool", "func", "function", "action", "method", "command", "call")
    + rf"(?i:_?name|_?id|_?choice)?{_QUOTE}{_QUOTE}\s*+[:：]\s*+{_QUOTE}{_QUOTE}([^\"'“”‘’,{{}}]{{1,128}})"
)
_ASSIGNED_NAME = re.compile(
    any_case("name", "tool", "function", "action") + r"""(?i:_?name)?["']?\s{0,9}=>?\s{0,9}["']?([^"'“”,{}=]{1,128})"""
)
"""The same in what is not JSON: it is as often code, and so a call only where it names a tool that is known."""
_ACTIONS = re.compile(rf"{_QUOTE}actions?{_QUOTE}\s*+:\s*+\[\s*+\{{\s*+{_QUOTE}([\w.-]{{1,64}}){_QUOTE}\s*+:\s*+\{{")
"""A list of ``{tool: args}`` under the key that only calls have, whatever stands beside it."""
_ARGUMENTS_KEY = re.compile(
    any_case(
        "args?",
        "arguments?",
        "params?",
        "parameters?",
        r"\bkwargs",
        r"\binputs?",
        r"\baction_?inputs?",
        r"\btool_?inputs?",
        r"\binput_?data",
    )
    + rf"{_QUOTE}\s*+[:：]"
)
_FIRST_KEY = re.compile(rf"(?>(?:[\[{{\s]|(?://|#)[^\n]*+\n){{1,40}}){_QUOTE}([\w.\\-]{{1,64}}){_QUOTE}\s*+[:：]")

_LISTED_KEY = re.compile(
    rf"\{{\s*+{_QUOTE}[\w .-]{{1,64}}+{_QUOTE}\s*+:\s*+\[\s*+\{{\s*+{_QUOTE}([\w.-]{{1,64}}){_QUOTE}\s*+:"
)


@dataclass(frozen=True, slots=True)
class Found:
    """An object in the text, what it says, and what was mended to read it."""

    piece: Piece
    value: Any
    repairs: Sequence[Repair] = ()


@dataclass(frozen=True, slots=True)
class Survey:
    """What the text holds that may be a decision: each different object once, and one that never closes."""

    values: list[Found]
    broken: list[tuple[Piece, Unreadable | None]]
    tail: Piece | None
    repeated: list[Repair]


def survey_of(source: Source) -> Survey:
    """Look at the objects of the text, up to `_MAX_OBJECTS` different ones that may be a decision."""
    values: dict[str, Found] = {}
    broken: dict[str, tuple[Piece, Unreadable | None]] = {}
    tail: Piece | None = None
    repeated: list[Repair] = []
    names = {plain(name) for name in source.offer.names or ()}
    keys = names | THOUGHTS
    passed: set[str] = set()
    for piece in source.data.pieces:
        if len(values) + len(broken) == _MAX_OBJECTS:
            break
        if piece.text in passed or not _may_decide(piece, keys):
            passed.add(piece.text)
            continue
        if not piece.closed:
            if _looks_decided(piece, source, names):
                tail = piece
                break  # what follows is inside it
        elif piece.text in values or piece.text in broken:
            repeated = repeated or [repair("repetition", source.text, piece.text)]
        else:
            try:
                values[piece.text] = Found(piece, exact(piece.text))
            except Unreadable:
                if _looks_decided(piece, source, names):
                    found = _mended(piece, source)
                    if isinstance(found, Found):
                        values[piece.text] = found
                    else:
                        broken[piece.text] = piece, found
    return Survey(list(values.values()), list(broken.values()), tail, repeated)


def _may_decide(piece: Piece, keys: set[str]) -> bool:
    """Whether one of the keys is worth a closer look."""
    text = piece.text if piece.closed else piece.text[:_HEAD]
    if ":" not in text and "=" not in text and "：" not in text:
        return False
    return _KEYED.search(text) is not None or _first_key(piece) in keys or _listed_key(text) in keys


def _listed_key(text: str) -> str:
    key = _LISTED_KEY.match(text)
    return plain(key[1]) if key else ""


def _first_key(piece: Piece) -> str:
    key = _FIRST_KEY.match(piece.text)
    return plain(key[1].replace("\\", "")) if key else ""


def _mended(piece: Piece, source: Source) -> "Found | Unreadable | None":
    """The object, mended; why it cannot be; ``None`` in a reply that was cut off, of which nothing is mended."""
    if source.cut_off:
        return None
    try:
        return Found(piece, *mend(piece.text, source.offer.allowance))
    except Unreadable as why:
        return why


def _looks_decided(piece: Piece, source: Source, names: set[str]) -> bool:
    """Whether an object that cannot be read begins like a call or a final answer and not like data."""
    text = (piece.text if piece.closed else piece.text[:_HEAD]).replace("\\_", "_")
    if _TOOL_KEY.search(text) or _FINAL_KEY.match(text) or _first_key(piece) in names:
        return True
    if (given := _ASSIGNED_NAME.search(text)) and source.offer.tool(source.offer.resolve(given[1])) is not None:
        return True
    if (listed := _ACTIONS.search(text)) and plain(listed[1]) in names:
        return True
    named = _NAME_VALUE.search(text)
    return named is not None and bool(_ARGUMENTS_KEY.search(text) or source.offer.resolve(named[1]))


def tool_meant(piece: Piece, source: Source) -> str | None:
    """The tool that an unreadable object names, for the example in the error."""
    named = _NAME_VALUE.search(piece.text)
    return source.offer.resolve(named[1]) if named else None

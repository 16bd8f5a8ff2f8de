"""Whether a text holds the calls that were read from it. This knows nothing of how the decoder reads."""

import html
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast

from micro_agent.decoding import ToolCall, ToolCalls
from micro_agent.tools import Ready, Tool, prepare

ESCAPE = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4})\}?|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
JSON_ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:\d[\d_]*\.?[\d_]*|\.\d+)(?:[eE][-+]?\d+)?")
VALUES_CHECKED = 3000  # characters of a text: the decoder checks a limited number of values against schemas


def unescaped(text: str) -> str:
    """``text`` without one level of the escapes that JSON and Python have."""

    def character(found: re.Match[str]) -> str:
        coded = found[1] or found[2] or found[3]
        if coded or found[4]:
            code = int(coded, 16) if coded else int(found[4], 8)
            return chr(code) if code < sys.maxunicode else found[0]
        return LETTERS.get(found[5], found[5])

    return whole(ESCAPE.sub(character, text))


def json_unescaped(text: str) -> str:
    """The same for those that JSON has; any other backslash is one."""
    return whole(
        JSON_ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else LETTERS.get(found[2], found[2]), text)
    )


def whole(text: str) -> str:
    """``text`` with each pair of surrogates as the character that they are."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


CHANGES = (unescaped, json_unescaped, html.unescape)


@cache
def noise() -> dict[int, None]:
    """Characters that a repair may add, drop or change: quotes, backslashes, blanks, controls, lone surrogates."""
    quotes = "\"'`“”‘’„‟‚‛«»\\\ufffd"
    return dict.fromkeys(
        [ord(c) for c in quotes]
        + [c for c in range(0x3100) if unicodedata.category(chr(c))[0] in "CZ"]
        + [*range(0xD800, 0xE000), 0xFEFF]
    )


def bare(text: str) -> str:
    return text.translate(noise())


def numbers(text: str) -> Iterator[float]:
    for token in NUMBER.findall(text):
        yield int(token, 16) if token[:2] in ("0x", "0X") else number(token.replace("_", ""))


def number(token: str) -> float:
    return int(token) if token.isdecimal() and len(token) < 4000 else float(token)


def leaves(value: Any) -> Iterator[Any]:
    """The keys and values of what is inside an argument."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from leaves(item)
    else:
        yield value


@dataclass
class Readings:
    """A text with up to three levels of escapes undone, and what is compared of it."""

    text: str

    @cached_property
    def texts(self) -> list[str]:
        found = level = [self.text]
        for _ in range(3):
            level = [change(part) for part in level for change in CHANGES]
            level = [part for part in dict.fromkeys(level) if part not in found]
            found = found + level
        return found

    @cached_property
    def bare(self) -> list[str]:
        return [bare(text) for text in self.texts]

    @cached_property
    def names(self) -> list[str]:
        return [spelling(text) for text in self.texts]

    @cached_property
    def numbers(self) -> set[float]:
        return {value for text in self.texts for value in numbers(text)}

    def hold(self, value: Any) -> bool:
        """Whether the text holds a value, by what it means."""
        if isinstance(value, str):
            wanted = bare(value)
            return any(wanted in text for text in self.bare)
        if isinstance(value, bool) or value is None:
            word = "null|none|nil" if value is None else str(value)
            return any(re.search(word, text, re.IGNORECASE) for text in self.texts)
        return abs(value) in self.numbers

    def call(self, name: str) -> bool:
        """Whether the text holds a spelling of a name, or of what stands behind its namespace."""
        return any(spelling(name.rpartition(".")[2]) in text for text in self.names)


def spelling(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def not_held(text: str, decision: ToolCalls, offered: Sequence[Tool]) -> str | None:
    """What is in the calls and not in the text."""
    known, said = {tool.name: tool for tool in offered}, Readings(text)
    for call in decision.calls:
        if call.name not in known or not said.call(call.name):
            return "a name that is not in the text"
        for key, value in call.args.items():
            if key not in known[call.name].parameters["properties"] and not said.hold(key):
                return "a key that is not in the text"
            for leaf in leaves(value):
                if not said.hold(leaf):
                    return f"a {type(leaf).__name__} that is not in the text"
        if len(text) < VALUES_CHECKED and not fits(known, call):
            return "arguments that do not fit"
    return None


def fits(known: dict[str, Tool], call: ToolCall) -> bool:
    """Whether the loop would run the call, or refuse it for arguments alone that the tool does not have."""
    named = {key: value for key, value in call.args.items() if key in known[call.name].parameters["properties"]}
    return any(isinstance(prepare(known, replace(call, args=args)), Ready) for args in (call.args, named))

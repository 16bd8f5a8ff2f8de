"""The arguments of a call in Python's syntax, read token by token and never evaluated.

The slips of models are read as well: JSON's words and its signs, ``f(city: "Rome")``; names that are keywords or have a
dash; the signs and quotation marks of other languages; with ``loose`` also quotes in a text that nothing escapes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import isinf
from typing import Any

from micro_agent.decoding.decision import MAX_DEPTH
from micro_agent.decoding.repair.mending import Allowance, Unreadable
from micro_agent.decoding.schema_types import JSON_TYPES
from micro_agent.text.numbers import number


def _patterns(end: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """All brackets with the texts between them, and all that a call consists of; what counts is in a group.

    ``end`` has to follow the quote that ends a text. A text that nothing closes reaches to the end: were the closing
    quote wanted, the time would be quadratic.
    """
    texts = (
        rf"""\#[^\n]*+|(?P<value>(?<==)|(?<==[ ]))?(?P<quote>"{{3}}|'{{3}}|["'])"""
        rf"""(?P<text>(?>(?:[^"'\\]++|\\.|(?!(?P=quote){end}).)*))(?P<end>(?P=quote))?"""
        r"""|[«„“「『](?P<foreign>[^«»„“”「」『』]*+)[»“”」』]"""
    )
    number = r"[-+]?(?:\d(?>(?:_?\d)*)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
    return (
        re.compile(rf"""[^][(){{}}（）"'\#«„“「『]*+(?:{texts}|(?P<sign>.)|\Z)""", re.DOTALL),
        re.compile(
            rf"""\s++|(?P<raw>\b[rR](?=["']))?(?:{texts})|(?P<number>{number})|(?P<name>[^\W\d][\w.-]*+)|(?P<sign>\*\*|.)""",
            re.DOTALL,
        ),
    )


_STRICT = _patterns("")
_LOOSE = _patterns(
    r"""(?=\s*+(?:(?(value),\s*+[A-Za-z_]\w{0,63}+\s*+=(?!=)|[],:}])|,?\s*+\)(?:[ \t]*+\n|\s*+(?:[\]),;`<]|\Z))))"""
)
"""A text with quotes in it ends before the next argument or the end of the call; one in a list before a comma too."""
_PAIRED = re.compile(
    r"""\\.|(?<=\w)'(?=\w)|(?<=[\s=(\[{,:>])(?P<quote>["'])(?=[^\s,)]).{1,200}?(?<=\S)(?P=quote)(?!\w)""", re.DOTALL
)
"""What a quote in a text is where nothing escapes it: an apostrophe, or one of two around something."""
_PLACE = re.compile(
    r"(?:(?!(?:True|False|None)\b)[A-Z][^\W\d_]{0,40}+(?<=[^\WA-Z])|(?![a-z])[^\W\dA-Z_]{1,40}+)"
    r"(?:[ -][^\W\d_]{1,30}+){0,4}"
)
"""A name of a place or of a person; a word in small letters may as well be a variable."""
_CLOSERS = {"(": ")", "（": ")", "[": "]", "{": "}"}
_CLOSING = {")": ")", "）": ")", "]": "]", "}": "}"}
_NARROW = str.maketrans("（），：＝", "(),:=")
_MAX_TOKENS = 15_000
_MAX_MARKS = 2_000
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": ""}
_ESCAPE = re.compile(r"\\(?:[\\'\"abfnrtv\n]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U00[01][0-9a-fA-F]{5}|[0-7]{1,3})|\\")


def extent(text: str, start: int, allowance: Allowance, *, loose: bool = False) -> tuple[int | None, str]:
    """Where the first bracket behind ``start`` is closed; ``None`` when nothing closes it, or only after too much.

    With ``None`` comes what lacks where only brackets do, at the very end, behind another one or a whole text.
    """
    stack: list[str] = []
    whole, size = False, min(_MAX_MARKS, allowance.left)
    for token in islice((_LOOSE if loose else _STRICT)[0].finditer(text, start), size):
        mark = token["sign"]
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark in _CLOSING and (not stack or stack.pop() != _CLOSING[mark]):
            return None, ""
        elif mark in _CLOSING and not stack:
            return token.end(), ""
        if token[0].strip("` \n"):
            whole = mark in _CLOSING or token.lastgroup in ("end", "foreign")
        allowance.left -= 1  # microseconds, as measured: many brackets that nothing closes would take long
    return None, "".join(reversed(stack)) if whole else ""


def arguments(text: str, allowance: Allowance, *, loose: bool = False) -> tuple[list[Any], dict[str, Any]]:
    """The arguments by place and by keyword in ``text``, which begins and ends with the brackets of a call.

    Raises:
        Unreadable: It is anything else, or would take too long.
    """
    found = islice((_LOOSE if loose else _STRICT)[1].finditer(text), _MAX_TOKENS + 1)
    tokens = [token for token in found if token.lastgroup]
    if len(tokens) > _MAX_TOKENS or not allowance.spend(2 * len(tokens) + len(text) // 50):
        raise Unreadable("it is too long")
    reading = _Reading(tokens, loose)
    try:
        given = reading.arguments()
    except Unreadable:
        raise
    except (IndexError, ValueError):
        raise Unreadable("it is not a plain Python call") from None
    if reading.at < len(tokens):
        raise Unreadable("it is more than a call")
    return given


def _number(written: str) -> Any:
    """A number; what Python has none for is a text, ``007``, and one again for an argument that is a number."""
    if written.lstrip("+-")[:1] == "0" and written.lstrip("+-")[1:].isdigit():
        return written
    if written.lstrip("+-").replace("_", "").isdigit():
        return int(written)
    if isinf(value := number(written)):
        raise Unreadable(f"{written} is not a finite number")
    return value


def _escaped(found: re.Match[str]) -> str:
    """What an escape stands for; one that Python does not know is a backslash that is meant as one."""
    sign, code = found[0][1:2], found[0][2:]
    if sign in _LETTERS:
        return _LETTERS[sign]
    if sign.isdigit():
        return chr(int(found[0][1:], 8))
    return chr(int(code, 16)) if code else sign or "\\"


@dataclass(slots=True)
class _Reading:
    """The tokens of a call, and how many of them are read."""

    tokens: list[re.Match[str]]
    loose: bool
    signs: list[str] = field(init=False)
    at: int = 0

    def __post_init__(self) -> None:
        self.signs = [(token["sign"] or "").translate(_NARROW) for token in self.tokens]

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for _ in self.items("(", ")"):
            if self.step("**"):
                self.add(keywords, self.value(MAX_DEPTH - 1))
            elif (key := self.key()) is not None:
                self.add(keywords, {key: self.place() or self.value(MAX_DEPTH - 1)})
            elif keywords:
                raise Unreadable("an argument without a name is behind one with a name")
            else:
                positional.append(self.value(MAX_DEPTH - 1))
        return positional, keywords

    def place(self) -> str | None:
        """A name of a place without quotes, up to the next argument."""
        first = self.tokens[self.at]
        end = next((at for at in range(self.at, len(self.tokens)) if not self.tokens[at]["name"]), self.at)
        said = first.string[first.start() : self.tokens[end - 1].end()] if end > self.at else ""
        if self.signs[end] not in (",", ")") or not _PLACE.fullmatch(said) or said.lower() in JSON_TYPES.values():
            return None
        self.at = end
        return said

    def value(self, depth: int) -> Any:
        if depth == 0:
            raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
        opening = self.ahead()
        if opening in ("[", "("):
            items = [self.value(depth - 1) for _ in self.items(opening, _CLOSERS[opening])]
            return items[0] if opening == "(" and len(items) == 1 and self.ahead(-2) != "," else items
        if opening == "{":
            given: dict[str, Any] = {}
            for _ in self.items("{", "}"):
                key = self.key()
                self.add(given, {key: self.value(depth - 1)})
            return given
        token = self.tokens[self.at]
        self.at += 1
        if token["name"] in _WORDS:
            return _WORDS[token["name"]]
        return _number(token["number"]) if token["number"] else self.text(token)

    def add(self, given: dict[str, Any], more: Any) -> None:
        if not isinstance(more, dict) or None in more:
            raise Unreadable("it is not a plain Python call")
        if given.keys() & more.keys():
            raise Unreadable("an argument is given twice")
        given |= more

    def key(self) -> str | None:
        """The name before a value, with its sign: ``city=``, ``"city":``."""
        if self.ahead(1) not in ("=", ":"):
            return None
        token = self.tokens[self.at]
        self.at += 2
        return token["name"] if token["name"] and token["name"] not in _WORDS else self.text(token)

    def text(self, token: re.Match[str]) -> str:
        if token["foreign"] is not None:
            return token["foreign"].strip()
        if token["quote"] is None:
            raise Unreadable("an argument is not a literal")
        text = token["text"]
        if token["end"] is None:
            raise Unreadable("a text in it has no end")
        if self.loose and token["quote"] in _PAIRED.sub("", text):
            raise Unreadable("a text in it has quotes that nothing escapes")
        return text if token["raw"] else _ESCAPE.sub(_escaped, text)

    def items(self, opening: str, closing: str) -> Iterator[None]:
        """From one bracket to the other, once before each item."""
        if not self.step(opening):
            raise Unreadable("it is not a plain Python call")
        while not self.step(closing):
            yield
            if not self.step(",") and self.ahead() != closing:
                raise Unreadable("an argument is not a literal")

    def step(self, sign: str) -> bool:
        """Step over the next token if it is this sign."""
        found = self.ahead() == sign
        self.at += found
        return found

    def ahead(self, place: int = 0) -> str:
        """The sign at the next token, or at one behind it; IndexError behind the last one."""
        return self.signs[self.at + place]

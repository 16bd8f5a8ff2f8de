"""What the mock understands of a question: the tool calls that it asks for, or nothing. No arithmetic is done here.

A question is understood as a whole or not at all: next to the expressions and words for the time only harmless words
(`_FILLER`) may be left over, so that "What does 24/7 mean?" is refused and not computed.
"""

import ast
import json
import re
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from itertools import accumulate
from typing import Any
from zoneinfo import available_timezones

from micro_agent.models.mock_everyday import as_sums

_MAX_CHARS = 500

_WORDS: dict[str, Any] = json.loads(files("micro_agent.models").joinpath("mock_words.json").read_text("utf-8"))
_FILLER = frozenset(" ".join(_WORDS["filler"]).split())
_PLACES: dict[str, str] = _WORDS["places"]
_SMALL = {word: value for value, word in enumerate(_WORDS["units"].split())} | {
    word: 10 * value for value, word in enumerate(_WORDS["tens"].split(), start=2)
}
_LARGE = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_WORD = "|".join([*_SMALL, *_LARGE])
_NUMBER_WORDS = re.compile(rf"\b(?:an? (?=hundred|thousand|million))?(?:{_WORD})(?:(?:[ -]| and )(?:{_WORD}))*\b")

_ONE = r"(?:(?:(?<![\w.)!])-)?\d+(?:\.\d+)?(?:e[+-]?\d+)?!*|\((?:[^()]|\([^()]*\))*\)!*)"
_N = f"({_ONE})"
_LIST = rf"({_ONE}(?:(?:, and |, | and |,){_ONE})+)"
_OF = r"(?:(?: of| between)?(?: the)?(?: numbers)?:? )"

_REWRITES: tuple[tuple[str, str], ...] = (
    (rf"{_N} ?(?:%|percent|per cent) of {_N}", "({0} * {1} / 100)"),
    (rf"(\d+/\d+) of {_N}", "(({0}) * {1})"),
    (rf"(?:difference|subtraction){_OF}{_N} (?:and|from) {_N}", "({0} - {1})"),
    (rf"quotient{_OF}{_N} and {_N}", "({0} / {1})"),
    (rf"remainder (?:of|when|if) {_N} (?:is )?(?:divided by|/) {_N}", "({0} % {1})"),
    (rf"add {_N} to {_N}", "({0} + {1})"),
    (rf"(?:subtract|take) {_N} (?:away )?from {_N}", "({1} - {0})"),
    (rf"multiply {_N} (?:by|with|and) {_N}", "({0} * {1})"),
    (rf"divide {_N} by {_N}", "({0} / {1})"),
    (rf"(?:a |one )?half (?:of )?(?:the )?{_N}", "({0} / 2)"),
    (rf"(?:a |one )?third of (?:the )?{_N}", "({0} / 3)"),
    (rf"(?:a |one )?quarter of (?:the )?{_N}", "({0} / 4)"),
    (rf"(?:double|twice) (?:the )?{_N}", "(2 * {0})"),
    (rf"triple (?:the )?{_N}", "(3 * {0})"),
    (rf"(?:square root of (?:the )?|sqrt ?){_N}", "({0} ^ 0.5)"),
    (rf"square of (?:the )?{_N}", "({0} ^ 2)"),
    (rf"cube of (?:the )?{_N}", "({0} ^ 3)"),
    (rf"{_N} squared", "({0} ^ 2)"),
    (rf"{_N} cubed", "({0} ^ 3)"),
    (rf"{_N} (?:raised )?to the power (?:of )?{_N}", "({0} ^ {1})"),
    (rf"factorial of (?:the )?{_N}", "{0}!"),
    (rf"{_N} factorial", "{0}!"),
)
_FOLDS: tuple[tuple[str, str, str], ...] = (
    (rf"(?:sum|total){_OF}{_LIST}", " + ", "({0})"),
    (rf"product{_OF}{_LIST}", " * ", "({0})"),
    (rf"(?:average|mean){_OF}{_LIST}", " + ", "(({0}) / {1})"),
    (rf"add(?: up)? {_LIST}", " + ", "({0})"),
    (rf"multiply {_LIST}", " * ", "({0})"),
)
_INFIX = {
    r"plus": "+",
    r"minus": "-",
    r"times|multiplied by|multiplied with|x": "*",
    r"divided by|over": "/",
    r"modulo|mod": "%",
}
_SYMBOLS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "’": "'", "$": "", "€": "", "£": ""}
)

_TIME = re.compile(
    r"\b(?:date and time|time and date|day of the week|time ?stamp|time|date|weekday|day|month|year|hour|clock)\b"
)
_NOW = re.compile(r"(?:what(?:'s| is) )?(?:today|now)[ .?!]*")
_WEEKDAY = re.compile(r"\b(?:weekday|day)\b")
_DAYS = {"day after tomorrow": 2, "tomorrow": 1, "yesterday": -1}
_DAY = re.compile(rf"\b(?:the )?({'|'.join(_DAYS)})(?:'s)?\b")
_PLACE = re.compile(rf"\b(?:{'|'.join(_PLACES)})\b|\b[a-z]+(?:/[a-z_+-]+[0-9]*)+")

_IN_EXPRESSION = re.compile(r" |\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%^()!]")
_TOKEN = re.compile(r" |@|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|//|[-+*/%^()!]|[^\W\d_]+(?:'[^\W\d_]+)?|[.,?:;='\"“”…]+|.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that the question asks for."""

    tool: str
    args: dict[str, Any]
    days: int = 0
    """Of `now`: the day that is asked for, counted from today."""
    weekday: bool = False
    """Of `now`: whether the day of the week is asked for."""


def understood(question: str) -> list[Wanted]:
    """The calls that ``question`` asks for, in its order; empty when it is not understood as a whole."""
    text = " ".join(question.translate(_SYMBOLS).lower().split())
    if len(text) > _MAX_CHARS or "@" in text:
        return []
    text = as_sums(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", _NUMBER_WORDS.sub(_number, text)))
    if re.search(r"\d{4}-\d\d-\d\d|\b(?:what|which) time ?zone\b", text):
        return []
    text, zones = _take_places(text)
    day = _DAY.search(text)
    clock = [
        Wanted("now", {"timezone": zone}, _DAYS[day[1]] if day else 0, bool(day or _WEEKDAY.search(text)))
        for zone in dict.fromkeys(zones or ["utc"])
    ]
    text = _TIME.sub("@", _DAY.sub("@", text))
    parts = _parts(_symbolic(text))
    if parts is None:
        return []
    if "@" not in parts and (_NOW.fullmatch(text) or (zones and "now" in text.split())):
        parts.append("@")
    return [call for part in dict.fromkeys(parts) for call in (clock if part == "@" else [_calculation(part)])]


def _calculation(expression: str) -> Wanted:
    return Wanted("calculator", {"expression": expression})


def _take_places(text: str) -> tuple[str, list[str]]:
    """``text`` without the places in it, and their time zones."""
    zones: list[str] = []

    def take(match: re.Match[str]) -> str:
        zone = _PLACES.get(match[0]) or _iana().get(match[0])
        if zone is None:
            return match[0]
        zones.append(zone)
        return ""

    return _PLACE.sub(take, text), zones


@cache
def _iana() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def _symbolic(text: str) -> str:
    """Worded operations as symbols, from the inside out."""
    before = ""
    while text != before:  # ends: each change below takes at least one word or percent sign away
        before = text
        for words, symbol in _INFIX.items():
            text = re.sub(rf"(?<=[\d)!])\s*(?:{words})\s*(?=[-(\d])", f" {symbol} ", text)
        for pattern, form in _REWRITES:
            text = re.sub(pattern, partial(_filled, form), text, count=1)
        for pattern, sign, form in _FOLDS:
            text = re.sub(pattern, partial(_folded, sign, form), text, count=1)
    return text


def _filled(form: str, match: re.Match[str]) -> str:
    return form.format(*map(_operand, match.groups()))


def _folded(sign: str, form: str, match: re.Match[str]) -> str:
    numbers = [_operand(number) for number in re.findall(_ONE, match[1])]
    return form.format(sign.join(numbers), len(numbers))


def _operand(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


def _number(match: re.Match[str]) -> str:
    """A run of number words in digits, such as 250 for "two hundred and fifty"."""
    total = group = 0
    for word in re.findall(r"[a-z]+", match[0]):
        if word in _SMALL:
            group += _SMALL[word]
        elif word == "hundred":
            group = (group or 1) * 100
        elif word in _LARGE:
            total, group = total + (group or 1) * _LARGE[word], 0
    return str(total + group)


def _parts(text: str) -> list[str] | None:
    """The expressions in ``text`` and ``@`` for the time, in order; ``None`` when anything else is left over."""
    parts: list[str] = []
    run: list[str] = []
    for token in [*_TOKEN.findall(text), "."]:
        if _IN_EXPRESSION.fullmatch(token):
            run.append(token)
            continue
        expression = "".join(run).strip()
        run = []
        if expression and not _is_expression(expression):
            return None
        if expression:
            parts.append(_bare(expression))
        if token == "@":
            parts.append(token)
        elif token.strip(".,?:;='\"“”…") and token not in _FILLER:
            return None
    return parts


def _bare(expression: str) -> str:
    """``expression`` without one pair of parentheses around all of it."""
    inner = expression[1:-1]
    depths = accumulate((char == "(") - (char == ")") for char in inner)
    wrapped = expression.startswith("(") and expression.endswith(")") and min(depths, default=0) >= 0
    return inner if wrapped else expression


def _is_expression(text: str) -> bool:
    """Whether the calculator could be asked: whole, with an operator, and no number called like a function."""
    try:
        tree = ast.parse(text.replace("!", "").replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    computes = "!" in text or any(isinstance(node, ast.BinOp) for node in nodes)
    return computes and not any(isinstance(node, ast.Call | ast.Tuple) for node in nodes)

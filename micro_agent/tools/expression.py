"""An arithmetic expression in text: a tokenizer and a recursive-descent parser that computes as it reads.

Grammar, loosest binding first (``^`` is ``**``, binds to the right, and tighter than a sign before it: -2^2 is -4)::

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | "//" | "%") signed)*
    signed  = ("+" | "-")* power
    power   = factor ("**" signed)?
    factor  = (number | "(" sum ")") "!"*
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from micro_agent.tools.arithmetic import Number, apply, as_float, bounded, factorial, limit, power
from micro_agent.tools.error import ToolError

MAX_CHARS = 1000
MAX_TOKENS = 300
MAX_DEPTH = 40
_MAX_POWER_OF_TEN = 999

ALLOWED = "use numbers and + - * / // % ** ^ ( ) ! only"
_NUMBER = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(,[0-9]{3})+(?![0-9])|[0-9]*)(?P<part>\.[0-9]*)?(?P<power>[eE][+-]?[0-9]+)?"
)
_OPERATORS = ("**", "//", "+", "-", "*", "/", "%", "^", "(", ")", "!")
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "⋅": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "∕": "/", "⁄": "/"})


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    value: Number | None = None
    spaced: bool = False
    """Whether a blank stands before it."""


def calculate(expression: str) -> tuple[int | float, str]:
    """The value of an arithmetic expression, and the expression as it was understood.

    Args:
        expression: Such as ``2*(3+4)``, ``9!/(3!*3!)``, ``1,234.5 ÷ 2 =``.

    Returns:
        An `int` when the value is whole and was reached exactly, else a `float` of 15 significant digits; and the
        expression with ``^`` as ``**`` and the same blanks everywhere.

    Raises:
        ToolError: ``INVALID_EXPRESSION``, ``DIVISION_BY_ZERO``, ``OUT_OF_DOMAIN`` or ``LIMIT_EXCEEDED``.
    """
    if len(expression) > MAX_CHARS:
        raise limit(f"the expression has {len(expression)} characters, {MAX_CHARS} are allowed; compute it in parts")
    tokens = _tokens(expression.translate(_SPELLINGS).strip().removesuffix("=").rstrip())
    value = _Parser(tokens).parse()
    return _shown(value), _normalised(tokens)


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if len(found) >= MAX_TOKENS:
            raise limit(f"the expression has more than {MAX_TOKENS} numbers and signs; compute it in parts")
        token, length = _token(text, at)
        found.append(replace(token, spaced=text[at - 1 : at].isspace()))
        at += length
    return found


def _token(text: str, at: int) -> tuple[_Token, int]:
    match = _NUMBER.match(text, at)
    if match and (match["whole"] or match["part"] not in (None, ".")):
        _check_end(text, match)
        return _number(match), len(match[0])
    for operator in _OPERATORS:
        if text.startswith(operator, at):
            return _Token("**" if operator == "^" else operator), len(operator)
    raise _invalid(f"{text[at]!r} is not allowed; {ALLOWED}")


def _check_end(text: str, match: re.Match[str]) -> None:
    rest = text[match.end() : match.end() + 2]
    if rest[:1] == "," and rest[1:].isdigit():
        raise _invalid(f"the comma after {match[0][:30]} is unclear; write 1234.5 or 1,234.5")
    if rest[:1] == "." or rest[:1].isalpha() or rest[:1] == "_":
        raise _invalid(f"{rest[0]!r} after {match[0][:30]} is not allowed; {ALLOWED}")


def _number(match: re.Match[str]) -> _Token:
    digits = match["whole"].replace(",", "") + (match["part"] or "")
    power = match["power"] or ""
    if power and (len(power) > 6 or abs(int(power[1:])) > _MAX_POWER_OF_TEN):
        raise limit(f"{power} is too large a power of ten; at most e{_MAX_POWER_OF_TEN} is allowed")
    value = Fraction(f"{digits.removesuffix('.')}{power}")
    return _Token(digits + power, bounded(value))


class _Parser:
    """Reads the tokens once, from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def parse(self) -> Number:
        if not self.tokens:
            raise _invalid(f"the expression is empty; {ALLOWED}")
        value = self.sum()
        if self.at < len(self.tokens):
            raise _invalid(self._unexpected())
        return value

    def sum(self) -> Number:
        value = self.product()
        while operator := self._take("+", "-"):
            value = apply(operator, value, self.product())
        return value

    def product(self) -> Number:
        value = self.signed()
        while operator := self._take("*", "/", "//", "%"):
            if operator == "%":
                self._check_percent()
            value = apply(operator, value, self.signed())
        return value

    def _check_percent(self) -> None:
        """Refuse "50%", "50% + 3" and "50% * 3", which mean percent; "12 % 5" and "12 % -5" are remainders."""
        percent, following = self.tokens[self.at - 1], [*self.tokens[self.at : self.at + 2], _Token("")]
        sign_of_number = following[0].text in ("+", "-") and percent.spaced and not following[1].spaced
        if following[0].value is None and following[0].text != "(" and not sign_of_number:
            raise _invalid("% is the remainder, as in 12 % 5; for 50 percent write 50/100, for 12%-5 write 12 % (-5)")

    def signed(self) -> Number:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        value = self.power()
        return -value if negative else value

    def power(self) -> Number:
        base = self.factor()
        return power(base, self._nested(self.signed)) if self._take("**") else base

    def factor(self) -> Number:
        token = self.tokens[self.at] if self.at < len(self.tokens) else _Token("")
        if token.value is not None:
            self.at += 1
            value = token.value
        elif self._take("("):
            value = self._nested(self.sum)
            if not self._take(")"):
                raise _invalid("a closing bracket ) is missing" if not self._peek() else self._unexpected())
        else:
            raise _invalid(self._unexpected())
        while self._take("!"):
            value = factorial(value)
        return value

    def _nested(self, read: Callable[[], Number]) -> Number:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise limit(f"more than {MAX_DEPTH} brackets or powers are nested; compute it in parts")
        value = read()
        self.depth -= 1
        return value

    def _peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def _take(self, *operators: str) -> str:
        text = self._peek()
        if text not in operators:
            return ""
        self.at += 1
        return text

    def _unexpected(self) -> str:
        text = self._peek()
        if not text:
            return "the expression ends too early; a number is missing"
        if self.at and (text == "(" or self.tokens[self.at].value is not None):
            return f"a sign is missing before {text[:30]}; write * to multiply"
        if text == ")":
            empty = self.at and self.tokens[self.at - 1].text == "("
            return "the brackets () are empty" if empty else "a bracket ) has no ( or follows a sign"
        return f"{text} stands where a number belongs; {ALLOWED}"


def _shown(value: Number) -> int | float:
    return value if isinstance(value, int) else float(f"{as_float(value):.15g}")


def _normalised(tokens: list[_Token]) -> str:
    """The expression with blanks around operators between two values and nowhere else."""
    text, after_value = "", False
    for token in tokens:
        between = after_value and token.text not in ("(", ")", "!")
        text += f" {token.text} " if between else token.text
        after_value = token.value is not None or token.text in (")", "!")
    return text


def _invalid(message: str) -> ToolError:
    return ToolError("INVALID_EXPRESSION", message)

"""The numbers, signs and names in the text of an expression, each in the one spelling that the parser knows."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal
from unicodedata import normalize

from micro_agent.tools.arithmetic import Number, bounded, invalid, limit
from micro_agent.tools.functions import CONSTANTS, FUNCTIONS

MAX_TOKENS = 300
_MAX_POWER_OF_TEN = 999

ALLOWED = "use numbers, + - * / // % ** ^ ( ) ! and functions such as sqrt(2)"
_PLAIN = r"[0-9]*"
_REST = r"(?P<part>\.[0-9]*)?(?P<power>[eE][+-]?[0-9]+)?(?P<share>\s?[¼-¾⅐-⅞])?"
_NUMBER = re.compile(rf"(?P<whole>[1-9][0-9]{{0,2}}(,[0-9]{{3}})+(?![0-9])|{_PLAIN}){_REST}")
_ARGUMENT = re.compile(rf"(?P<whole>{_PLAIN}){_REST}")
"""The same between the brackets of a function, where a comma separates arguments."""
_GROUP_OF_ZEROS = re.compile(r",0[0-9]{2}(?![0-9])")
_OPERATORS = ("**", "//", "+", "-", "*", "/", "%", "^", "(", ")", "!")
_SPELLINGS = str.maketrans(
    {
        **dict.fromkeys("×·⋅∙✕✖", "*"),
        **dict.fromkeys("÷∕⁄", "/"),
        **dict.fromkeys("−–", "-"),
        **{low: digit for digit, low in zip("0123456789", "₀₁₂₃₄₅₆₇₈₉", strict=True)},
        "π": " pi ",
    }
)
_SUPERSCRIPT = re.compile(r"(?P<sign>⁻?)(?P<digits>[⁰¹²³⁴-⁹]+)")
_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_ON_A_POWER = re.compile(r"\s*(?:\*\*|[\^!%⁻⁰¹²³⁴-⁹])")
_CURRENCY = "$€£¥"
_AMOUNT = re.compile(r"\s?-?\s?\.?[0-9]")
_WORD = re.compile(
    r"(?P<sign>x|mod|of|per\s?cent|pct)(?![a-z_])|(?:(?:math|numpy|np)\s?\.\s?)?(?P<name>[a-z_][a-z0-9_]*)",
    re.IGNORECASE | re.ASCII,
)
_SIGNS = {"x": "*", "percent": "percent", "pct": "percent", "mod": "mod", "of": "of"}
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]")

Kind = Literal["number", "sign", "constant", "function", "root"]


@dataclass(frozen=True, slots=True)
class Token:
    """One of them, as it is shown."""

    text: str
    kind: Kind = "sign"
    """``root`` is a function that needs no brackets, as in ``√2``."""
    value: Number = 0
    """That of a number or a constant."""
    spaced: bool = False
    """Whether a blank stands before it."""

    @property
    def ends_value(self) -> bool:
        """Whether what goes before an operator may end with it."""
        return self.kind in ("number", "constant") or self.text in (")", "!", "%", "percent")


def tokens_of(text: str) -> list[Token]:
    """The tokens of an expression.

    Raises:
        ToolError: ``INVALID_EXPRESSION`` or ``LIMIT_EXCEEDED``.
    """
    return _Reading(text.translate(_SPELLINGS)).tokens()


class _Reading:
    """Reads the text once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Token] = []
        self.calls: list[bool] = []
        """For each open bracket whether it is that of a function."""

    def tokens(self) -> list[Token]:
        while self.at < len(self.text):
            if self.text[self.at].isspace():
                self.at += 1
                continue
            spaced = self.text[self.at - 1 : self.at].isspace()
            read = self._next()
            self.found += [replace(token, spaced=spaced and token is read[0]) for token in read]
            if len(self.found) > MAX_TOKENS:
                raise limit(f"the expression has more than {MAX_TOKENS} numbers and signs; compute it in parts")
        return self.found

    def _next(self) -> list[Token]:
        """The token here; none for a currency sign, two or three for a raised number."""
        number = (_ARGUMENT if self._in_call() else _NUMBER).match(self.text, self.at)
        if number and (number["whole"] or number["share"] or number["part"] not in (None, ".")):
            self._check_number(number)
            self.at = number.end()
            return [_number(number)]
        if raised := _SUPERSCRIPT.match(self.text, self.at):
            return self._raised(raised)
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return [self._word(word)]
        return self._sign()

    def _in_call(self) -> bool:
        return bool(self.calls) and self.calls[-1]

    def _after_value(self) -> bool:
        return bool(self.found) and self.found[-1].ends_value

    def _check_number(self, number: re.Match[str]) -> None:
        shown, rest = number[0][:30], self.text[number.end() : number.end() + 2]
        if _HEXADECIMAL.match(self.text, self.at):
            raise invalid("0x looks like a hexadecimal number; write 0 * to multiply")
        if self._in_call() and _GROUP_OF_ZEROS.match(self.text, number.end()):
            raise invalid(f"the comma after {shown} is unclear in a function; write 1000 and not 1,000")
        if rest[:1] == "," and rest[1:].isdigit() and not self._in_call():
            raise invalid(f"the comma after {shown} is unclear; write 1234.5 or 1,234.5")
        if rest[:1] in (".", "_") or (rest[:1] in ("e", "E") and not rest[1:].isalpha()) or _is_foreign(rest[:1]):
            raise invalid(f"{rest[0]!r} after {shown} is not allowed; {ALLOWED}")

    def _raised(self, raised: re.Match[str]) -> list[Token]:
        self.at = raised.end()
        if _ON_A_POWER.match(self.text, self.at):
            raise invalid(f"what follows {raised[0][:30]} is unclear; put the power in brackets")
        digits = raised["digits"].translate(_LOWERED)
        sign = [Token("-")] if raised["sign"] else []
        return [Token("**"), *sign, Token(digits, "number", bounded(int(digits)))]

    def _word(self, word: re.Match[str]) -> Token:
        sign = "".join((word["sign"] or "").lower().split())
        if sign and (self._after_value() or (sign not in FUNCTIONS and sign != "x")):
            return Token(_SIGNS[sign])
        name = (sign or word["name"]).lower().replace("_", "")
        if name in CONSTANTS:
            return Token(name, "constant", CONSTANTS[name])
        if name in FUNCTIONS:
            return Token(name, "function")
        raise invalid(f"{(sign or word['name'])[:20]!r} is not known; there are {', '.join((*FUNCTIONS, *CONSTANTS))}")

    def _sign(self) -> list[Token]:
        char = self.text[self.at]
        if char in _CURRENCY and (self._after_value() or _AMOUNT.match(self.text, self.at + 1)):
            self.at += 1
            return []
        if char in "√∛" or (char == "," and self._in_call()):
            self.at += 1
            return [{"√": Token("sqrt", "root"), "∛": Token("cbrt", "root"), ",": Token(",")}[char]]
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                self._count_brackets(operator)
                return [Token("**" if operator == "^" else operator)]
        raise invalid(f"{char!r} is not allowed; {ALLOWED}")

    def _count_brackets(self, operator: str) -> None:
        if operator == "(":
            self.calls.append(bool(self.found) and self.found[-1].kind in ("function", "root"))
        elif operator == ")" and self.calls:
            self.calls.pop()


def _is_foreign(char: str) -> bool:
    return char.isalpha() and not char.isascii()


def _number(match: re.Match[str]) -> Token:
    power = match["power"] or ""
    if power and (len(power) > 6 or abs(int(power[1:])) > _MAX_POWER_OF_TEN):
        raise limit(f"{power} is too large a power of ten; at most e{_MAX_POWER_OF_TEN} is allowed")
    digits = match["whole"].replace(",", "") + (match["part"] or "")
    if match["share"]:
        return _mixed(digits + power, match["share"].strip())
    value = Fraction(f"{digits.removesuffix('.')}{power}")
    return Token(digits + power, "number", bounded(value))


def _mixed(whole: str, share: str) -> Token:
    """The token for ``½`` or ``3½``."""
    top, bottom = normalize("NFKC", share).split("⁄")
    if whole and not whole.isdigit():
        raise invalid(f"{share} after {whole[:30]} is unclear; write + or *")
    text = f"{whole} + {top} / {bottom}" if whole else f"{top} / {bottom}"
    return Token(f"({text})", "number", bounded(int(whole or 0) + Fraction(int(top), int(bottom))))

"""An arithmetic expression in text: a recursive-descent parser that computes as it reads.

Grammar, loosest binding first (``^`` is ``**``, binds to the right, and tighter than a sign before it: -2^2 is -4)::

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/" | "//" | "%" | "mod" | "of" | nothing) signed)*
    signed  = ("+" | "-")* power
    power   = factor ("**" signed)?
    factor  = atom ("!" | "%")*
    atom    = number | constant | "(" sum ")" | function "(" sum ("," sum)* ")" | "√" atom

What can be read in two ways is refused with the spellings that cannot.
"""

from collections.abc import Callable

from micro_agent.tools.arithmetic import Number, apply, as_float, factorial, invalid, limit, power
from micro_agent.tools.functions import call, known_as
from micro_agent.tools.tokens import ALLOWED, Token, tokens_of
from micro_agent.tools.wrappings import unwrapped

MAX_CHARS = 1000
MAX_DEPTH = 40
_DIVISIONS = ("/", "//", "%")
_END = Token("")


def calculate(expression: str) -> tuple[int | float, str]:
    """The value of an arithmetic expression, and the expression as it was understood.

    Args:
        expression: Such as ``2*(3+4)``, ``9!/(3!*3!)``, ``1,234.5 ÷ 2 =``, ``20% of 80``, ``x = math.sqrt(16)``.

    Returns:
        An `int` when the value is whole and was reached exactly, else a `float` of 15 significant digits; and the
        expression that was computed, with one spelling for each sign and the same blanks everywhere.

    Raises:
        ToolError: ``INVALID_EXPRESSION``, ``DIVISION_BY_ZERO``, ``OUT_OF_DOMAIN`` or ``LIMIT_EXCEEDED``.
    """
    if len(expression) > MAX_CHARS:
        raise limit(f"the expression has {len(expression)} characters, {MAX_CHARS} are allowed; compute it in parts")
    parser = _Parser(tokens_of(unwrapped(expression)))
    value = parser.parse()
    return _shown(value), _normalised(parser.read)


class _Parser:
    """Reads the tokens once, from left to right, and keeps what it understood in `read`."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.read: list[Token] = []
        self.product_from = 0
        """Where in `read` the product begins that was begun last."""
        self.percentage = (0, 0)
        """Where in `read` the last percentage begins and ends."""

    def parse(self) -> Number:
        if not self.tokens:
            raise invalid(f"the expression is empty; {ALLOWED}")
        value = self.sum()
        if self.at < len(self.tokens):
            raise invalid(self._unexpected())
        return value

    def sum(self) -> Number:
        start = len(self.read)
        value = self.product()
        percentages = self._is_percentage(start)
        while operator := self._take("+", "-"):
            start = len(self.read)
            right = self.product()
            is_percentage = self._is_percentage(start)
            # Of 1 and of other percentages both readings are the same number, or there is only one.
            if is_percentage and not percentages and value != 1:
                raise invalid(self._two_readings(operator, start))
            percentages &= is_percentage
            value = apply(operator, value, right)
        return value

    def _is_percentage(self, start: int) -> bool:
        """Whether all that was read since is one percentage, perhaps with signs."""
        first, end = self.percentage
        return end == len(self.read) and start <= first and _are_signs(self.read[start:first])

    def _two_readings(self, operator: str, start: int) -> str:
        share = _normalised(self.read[start:])[:40]
        return f"{operator} and a percentage are unclear; write * (1 {operator} {share}) or {operator} ({share})"

    def product(self) -> Number:
        self.product_from = len(self.read)
        value = self.signed()
        operators: list[str] = []
        while operator := self._operator(operators):
            operators.append(operator)
            value = apply(operator, value, self.signed())
        return value

    def _operator(self, before: list[str]) -> str:
        """The operator here, also where it is a word or left out; nothing at the end of the product."""
        after_division = bool(before) and before[-1] in _DIVISIONS
        token = self._token()
        if token.text == "of":
            self._check_of(before, after_division)
        elif token.text == "(" or token.kind in ("constant", "function", "root"):
            self._check_implied(after_division)
            self.read.append(Token("*"))
            return "*"
        operator = {"of": "*", "mod": "%"}.get(token.text, token.text)
        if operator not in ("*", *_DIVISIONS):
            return ""
        self.at += 1
        self.read.append(Token(operator))
        return operator

    def _check_of(self, before: list[str], after_division: bool) -> None:
        """``20% of 80``, ``½ of 80`` and ``3/4 of 80`` say a part of something."""
        last, percentage = self.read[-1], self.percentage[1] == len(self.read)
        part = percentage or (last.kind == "number" and last.text.startswith("("))
        if not (part and not after_division) and not (before == ["/"] and not percentage):
            raise invalid("'of' is unclear here; write it after a percentage or a fraction, as in 20% of 80")

    def _check_implied(self, after_division: bool) -> None:
        if after_division:
            raise invalid("a product without * after a division is unclear; write 6/(2*(1+2)) or 6/2*(1+2)")
        if "e" in (self._token().text, self.read[-1].text):
            raise invalid("a number beside e is unclear; write 2*e or 2e3")

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
        start, leads = len(self.read), _are_signs(self.read[self.product_from :])
        value = self.atom()
        while True:
            if self._take("!"):
                value = factorial(value)
            elif self._is_percent():
                self.at += 1
                self._read_percentage(start, leads=leads)
                return apply("/", value, 100)
            else:
                return value

    def _is_percent(self) -> bool:
        """Whether a percent sign comes now that is not the remainder: "50%", "50% * 3", "50% + 3"; but "12 % -5" is."""
        percent, following, after = (self._token(ahead) for ahead in range(3))
        if percent.text != "%":
            return percent.text == "percent"
        if following.text not in ("+", "-"):
            return following.kind == "sign" and following.text != "("
        if percent.spaced and not after.spaced:
            return False
        if following.spaced and after.spaced and not percent.spaced:
            return True
        raise invalid("% is unclear here; write 12 % (-5) for the remainder, 50/100 for 50 percent")

    def _read_percentage(self, start: int, *, leads: bool) -> None:
        """Write ``/ 100`` behind what begins at ``start``, in brackets where something would bind tighter."""
        self.read += [Token("/"), Token("100", "number")]
        if not leads or self._token().text == "**":
            self.read.insert(start, Token("("))
            self.read.append(Token(")"))
        self.percentage = (start, len(self.read))

    def atom(self) -> Number:
        token = self._token()
        if token.kind in ("function", "root"):
            self.at += 1
            return self._call(token)
        if token.kind != "sign":
            self.at += 1
            self.read.append(token)
            return token.value
        if not self._take("("):
            raise invalid(self._unexpected())
        value = self._nested(self.sum)
        self._close()
        return value

    def _call(self, function: Token) -> Number:
        at = len(self.read)
        self.read.append(function)
        if function.kind == "root" and self._token().text != "(":
            self.read.append(Token("("))
            args = [self._nested(self.atom)]
            self.read.append(Token(")"))
        elif self._take("("):
            args = [self._nested(self.sum)]
            while self._take(","):
                args.append(self._nested(self.sum))
            self._close()
        else:
            raise invalid(f"brackets are missing after {function.text}; write {function.text}(2)")
        self.read[at] = Token(known_as(function.text, len(args)), "function")
        return call(function.text, args)

    def _close(self) -> None:
        if not self._take(")"):
            raise invalid(self._unexpected() if self._token().text else "a closing bracket ) is missing")

    def _nested(self, read: Callable[[], Number]) -> Number:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise limit(f"more than {MAX_DEPTH} brackets or powers are nested; compute it in parts")
        value = read()
        self.depth -= 1
        return value

    def _token(self, ahead: int = 0) -> Token:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else _END

    def _take(self, *operators: str) -> str:
        token = self._token()
        if token.text not in operators:
            return ""
        self.at += 1
        self.read.append(token)
        return token.text

    def _unexpected(self) -> str:
        token, before = self._token(), self.tokens[self.at - 1] if self.at else _END
        if not token.text:
            return "the expression ends too early; a number is missing"
        if token.kind == "number" and before.ends_value:
            return f"a sign is missing before {token.text[:30]}; write * to multiply"
        if token.text == ")":
            return "the brackets () are empty" if before.text == "(" else "a bracket ) has no ( or follows a sign"
        return f"{token.text} stands where a number belongs; {ALLOWED}"


def _are_signs(tokens: list[Token]) -> bool:
    return all(token.text in ("+", "-") for token in tokens)


def _shown(value: Number) -> int | float:
    return value if isinstance(value, int) else float(f"{as_float(value):.15g}")


def _normalised(tokens: list[Token]) -> str:
    """The expression with blanks around operators between two values and nowhere else."""
    text, after_value = "", False
    for token in tokens:
        if token.text == ",":
            text += ", "
        else:
            between = after_value and token.text not in ("(", ")", "!")
            text += f" {token.text} " if between else token.text
        after_value = token.kind in ("number", "constant") or token.text in (")", "!")
    return text

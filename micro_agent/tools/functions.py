"""The functions and constants of the calculator: exact where the result is, else floats."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from micro_agent.tools.arithmetic import (
    MAX_BITS,
    Number,
    apply,
    as_float,
    bounded,
    factorial,
    invalid,
    limit,
    out_of_domain,
    power,
    too_large,
)

CONSTANTS = {"pi": math.pi, "e": math.e}
_MAX_DIGITS = 100


@dataclass(frozen=True, slots=True)
class _Function:
    compute: Callable[..., Number]
    least: int = 1
    most: int | None = 1
    """How many arguments it takes; ``None`` is any number."""


def call(name: str, args: list[Number]) -> Number:
    """The value of a function.

    Args:
        name: One of `FUNCTIONS`.
        args: Angles are in radians.

    Raises:
        ToolError: ``INVALID_EXPRESSION`` for the wrong number of arguments, ``OUT_OF_DOMAIN`` where there is no real
            value, ``LIMIT_EXCEEDED`` where it is too large.
    """
    function = FUNCTIONS[name]
    if len(args) < function.least or (function.most is not None and len(args) > function.most):
        raise invalid(
            f"{name} takes {_count(function)}, {len(args)} given; between its brackets a comma separates arguments, "
            "so write 1234 and not 1,234"
        )
    return bounded(function.compute(*args))


def known_as(name: str, count: int) -> str:
    """The name that leaves no doubt: ``log`` of one argument is ``ln``."""
    return "ln" if name == "log" and count == 1 else name


def _count(function: _Function) -> str:
    if function.most is None:
        return f"{function.least} or more arguments"
    if function.most > function.least:
        return f"{function.least} or {function.most} arguments"
    return "1 argument" if function.most == 1 else f"{function.most} arguments"


def _square_root(value: Number) -> Number:
    if value < 0:
        raise out_of_domain("the square root of a negative number is not a real number")
    return power(value, Fraction(1, 2))


def _cube_root(value: Number) -> Number:
    root = power(abs(value), Fraction(1, 3))
    if isinstance(root, float):
        root = math.cbrt(as_float(abs(value)))  # closer than a power, as a third is not a float
    return -root if value < 0 else root


def _absolute(value: Number) -> Number:
    return abs(value)


def _round(value: Number, digits: Number = 0) -> Number:
    """Python's `round`: half to even, on exact fractions. A negative number of digits rounds to tens."""
    if not isinstance(digits, int) or abs(digits) > _MAX_DIGITS:
        raise invalid(f"round takes a whole number of digits up to {_MAX_DIGITS}, as in round(2.345, 2)")
    return round(value, digits) if digits else round(value)


def _log(value: Number, base: Number | None = None) -> Number:
    """A logarithm, the natural one without a base; whole where the base to a whole power is the value."""
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise out_of_domain("a logarithm takes a number above 0, and a base above 0 other than 1")
    if value == 1 and not isinstance(value, float):
        return 0
    if base is None:
        return _natural(value)
    quotient = bounded(_quotient_of_logs(value, base))
    nearest = round(quotient)
    if isinstance(value, float) or isinstance(base, float) or abs(nearest) > MAX_BITS:
        return quotient
    # The power is near the value where it is computed, so it costs no more than the value did.
    return nearest if abs(quotient - nearest) < 1e-9 and power(base, nearest) == value else quotient


def _quotient_of_logs(value: Number, base: Number) -> float:
    closer = {2: math.log2, 10: math.log10}.get(base) if isinstance(value, int) and isinstance(base, int) else None
    return closer(value) if closer else _natural(value) / _natural(base)


def _natural(value: Number) -> float:
    """The natural logarithm of what is above 0; that of a fraction near 1 keeps the digits by which it differs."""
    if isinstance(value, Fraction) and abs(value - 1) < Fraction(1, 2):
        return math.log1p(as_float(value - 1))
    return math.log(value if isinstance(value, int) else as_float(value))


def _real(compute: Callable[[float], float], at: int, exact: int, *, periodic: bool = False) -> _Function:
    """A function with one exact value at one exact number, and floats elsewhere."""

    def computed(value: Number) -> Number:
        if value == at and not isinstance(value, float):
            return exact
        number = as_float(value)
        try:
            result = compute(number)
        except OverflowError:
            raise too_large() from None
        except ValueError:
            raise out_of_domain("asin and acos take a number from -1 to 1") from None
        return _settled(result, value) if periodic else result

    return _Function(computed)


def _settled(result: float, argument: Number) -> float:
    """0 for what is not 0 only because its argument was rounded, such as the sine of pi."""
    near = isinstance(argument, float) and abs(result) <= math.ulp(argument)
    return 0.0 if near else result


def _exp(value: float) -> float:
    result = math.exp(value)
    if result == 0:
        raise limit("the result is too close to 0 to be shown")
    return result


def _tangent(value: Number) -> Number:
    if _settled(math.cos(as_float(value)), value) == 0:
        raise out_of_domain("tan has no value at that angle")
    return _TANGENT.compute(value)


_TANGENT = _real(math.tan, 0, 0, periodic=True)

FUNCTIONS = {
    "sqrt": _Function(_square_root),
    "cbrt": _Function(_cube_root),
    "factorial": _Function(factorial),
    "abs": _Function(_absolute),
    "round": _Function(_round, 1, 2),
    "floor": _Function(math.floor),
    "ceil": _Function(math.ceil),
    "min": _Function(min, 2, None),
    "max": _Function(max, 2, None),
    "mod": _Function(partial(apply, "%"), 2, 2),
    "pow": _Function(power, 2, 2),
    "log": _Function(_log, 1, 2),
    "ln": _Function(_log),
    "log2": _Function(partial(_log, base=2)),
    "log10": _Function(partial(_log, base=10)),
    "exp": _real(_exp, 0, 1),
    "sin": _real(math.sin, 0, 0, periodic=True),
    "cos": _real(math.cos, 0, 1, periodic=True),
    "tan": _Function(_tangent),
    "asin": _real(math.asin, 0, 0),
    "acos": _real(math.acos, 1, 0),
    "atan": _real(math.atan, 0, 0),
}

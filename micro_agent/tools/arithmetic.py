"""Arithmetic that is exact as long as it can be, with limits that are checked before the work they bound.

Whole numbers are exact or refused. Others are exact (`Fraction`) until a root or their size makes them `float`.
"""

import math
from fractions import Fraction

from micro_agent.tools.error import ToolError

Number = int | Fraction | float

MAX_BITS = 3322
"""Integers of 1000 digits."""
MAX_FACTORIAL = 449
"""The largest whose value has no more digits than that."""
_FRACTION_BITS = 1024
_ROOT_BITS = 512
_MAX_ROOT = 16


def apply(operator: str, left: Number, right: Number) -> Number:
    """``left operator right`` for one of ``+ - * / // %``."""
    if operator in ("/", "//", "%") and right == 0:
        raise ToolError("DIVISION_BY_ZERO", "division by zero has no result; check the number after / or %")
    try:
        match operator:
            case "+":
                value = left + right
            case "-":
                value = left - right
            case "*":
                value = left * right
            case "/":
                value = _quotient(left, right)
            case "//":
                value = left // right
            case _:
                value = left % right
    except OverflowError:
        raise too_large() from None
    return bounded(value)


def _quotient(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return Fraction(left) / right


def factorial(value: Number) -> Number:
    """``value!`` for whole numbers from 0 to `MAX_FACTORIAL`."""
    if not isinstance(value, int) or not 0 <= value <= MAX_FACTORIAL:
        raise limit(f"a factorial takes a whole number from 0 to {MAX_FACTORIAL}")
    return math.factorial(value)


def power(base: Number, exponent: Number) -> Number:
    """``base`` to the power of ``exponent``; sizes are checked before anything is computed."""
    if base == 0 and exponent < 0:
        raise ToolError("DIVISION_BY_ZERO", "0 to a negative power is a division by zero")
    if base < 0 and not isinstance(exponent, int):
        raise out_of_domain("a negative number to a fractional power is not a real number")
    if isinstance(base, float) or isinstance(exponent, float):
        return _float_power(base, exponent)
    if isinstance(exponent, Fraction):
        return _root_power(base, exponent)
    if base in (-1, 0, 1):
        return bounded(base ** (exponent % 2 if base else min(exponent, 1)))
    bits = max(part.bit_length() for part in base.as_integer_ratio())
    if isinstance(base, int) and exponent > 0:
        if (bits - 1) * exponent > MAX_BITS:
            raise too_large()
        return bounded(base**exponent)
    if bits * abs(exponent) <= _FRACTION_BITS:
        return bounded(Fraction(base) ** exponent)
    return _float_power(base, exponent)


def _root_power(base: Number, exponent: Fraction) -> Number:
    """``base`` to a fractional power: exact where the root is (4**0.5, 27**(1/3)), else a float."""
    degree = exponent.denominator
    top, bottom = Fraction(base).as_integer_ratio()
    if degree <= _MAX_ROOT:
        roots = (_root(top, degree), _root(bottom, degree))
        if roots[0] is not None and roots[1] is not None:
            return power(bounded(Fraction(roots[0], roots[1])), exponent.numerator)
    return _float_power(base, exponent)


def _root(value: int, degree: int) -> int | None:
    """The ``degree``-th root of a whole number where it is whole itself (square root, else Newton's method)."""
    if value < 2:
        root = value
    elif degree == 2:
        root = math.isqrt(value)
    elif value.bit_length() <= _ROOT_BITS:
        root, lower = value + 1, 1 << value.bit_length() // degree + 1
        while lower < root:
            root = lower
            lower = ((degree - 1) * root + value // root ** (degree - 1)) // degree
    else:
        return None
    return root if root**degree == value else None


def _float_power(base: Number, exponent: Number) -> float:
    try:
        value = math.pow(base, exponent)
    except OverflowError:
        raise too_large() from None
    return not_vanished(value, base)


def not_vanished(value: float, exact: Number) -> float:
    """``value``, the float for ``exact``, unless it is 0 and should not be."""
    if value == 0 and exact != 0:
        raise limit("the result is too close to 0 to be shown")
    return value


def bounded(value: Number) -> Number:
    """``value`` as an int where it is whole, as a float where its exact form has grown too long."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise too_large()
        return value
    top, bottom = value.as_integer_ratio()
    if bottom == 1:
        if top.bit_length() > MAX_BITS:
            raise too_large()
        return top
    if max(top.bit_length(), bottom.bit_length()) <= _FRACTION_BITS:
        return value
    return as_float(value)


def as_float(value: Number) -> float:
    """``value`` as a float, if one is large enough for it."""
    try:
        shown = float(value)
    except OverflowError:
        raise too_large() from None
    return not_vanished(shown, value)


def invalid(message: str) -> ToolError:
    """The error for what is not an expression, or can be read in two ways."""
    return ToolError("INVALID_EXPRESSION", message)


def out_of_domain(message: str) -> ToolError:
    """The error for what has no value among the real numbers."""
    return ToolError("OUT_OF_DOMAIN", message)


def limit(message: str) -> ToolError:
    """The error for what would cost too much, or is too large or small to be shown."""
    return ToolError("LIMIT_EXCEEDED", message)


def too_large() -> ToolError:
    """The error for a value that cannot be shown."""
    return limit("the result is too large; whole numbers of up to 1000 digits are computed")

"""The calculator: exact where it can be, refusing what would burn time or memory."""

import json
from fractions import Fraction
from math import factorial

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from micro_agent.tools import ToolError, execute
from micro_agent.tools.calculator import calculator
from micro_agent.tools.expression import calculate


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2*(3+5)", 16),
        ("6/3", 2),
        ("7/2", 3.5),
        ("0.1+0.2", 0.3),
        ("1.50", 1.5),
        (".25*4", 1),
        ("5. + 1", 6),
        ("+18", 18),
        ("6000", 6000),
        ("1,234.5", 1234.5),
        ("12,345,678 + 1", 12345679),
        ("9!/(3!*3!)", 10080),
        ("3!!", 720),
        ("-3!", -6),
        ("2^10", 1024),
        ("2^3!", 64),
        ("2**3**2", 512),
        ("-2^2", -4),
        ("2**-1", 0.5),
        ("3 × 4 ÷ 2 − 1", 5),
        ("  1 + 1 =  ", 2),
        ("--5", 5),
        ("2*-3", -6),
        ("-7//2", -4),
        ("7.5 % 2", 1.5),
        ("12 % 5", 2),
        ("12%5", 2),
        ("12 % -5", -3),
        ("12 % (-5)", -3),
        ("1e3 + 1.5e-1", 1000.15),
        ("4**0.5", 2),
        ("(4/9)**0.5", 0.666666666666667),
        ("27**(1/3)", 3),
        ("+".join(["(1)"] * 50), 50),
        ("(10**300)**0.5", 10**150),
        ("4**-0.5", 0.5),
        ("2**0.5", 1.4142135623731),
        ("10**0.4", 2.51188643150958),
        ("1e90**(1/3)", 10**30),
        ("8**(1/17)", 1.13011578342933),
        ("(2**0.5)**2 / 2 // 1", 1.0),
        ("(1 + 0.045/12)**360", 3.84769804996339),
        ("0**0", 1),
        ("0**99999", 0),
        ("(-1)**99999", -1),
        ("2**300", 2**300),
        ("2**300 // 3", 2**300 // 3),
        ("1/3 + 1/7 + 3**-600", 0.476190476190476),
    ],
)
def test_computes(expression: str, result: float) -> None:
    value, _ = calculate(expression)
    assert value == result
    assert type(value) is type(result)


def test_a_root_of_a_very_large_number_is_near_enough() -> None:
    assert calculate("(3**400)**(1/3)")[0] == pytest.approx(3 ** (400 / 3), rel=1e-12)


@pytest.mark.parametrize(
    ("expression", "code", "hint"),
    [
        ("", "INVALID_EXPRESSION", "empty"),
        ("()", "INVALID_EXPRESSION", "brackets () are empty"),
        ("1)", "INVALID_EXPRESSION", "no ("),
        ("(1", "INVALID_EXPRESSION", "closing bracket"),
        ("(1 2", "INVALID_EXPRESSION", "write * to multiply"),
        ("2(3)", "INVALID_EXPRESSION", "write * to multiply"),
        ("2+", "INVALID_EXPRESSION", "ends too early"),
        ("2 + * 3", "INVALID_EXPRESSION", "* stands where a number belongs"),
        ("abs(3)", "INVALID_EXPRESSION", "'a' is not allowed; use numbers and + - * /"),
        ("a.b", "INVALID_EXPRESSION", "not allowed"),
        ("'x'", "INVALID_EXPRESSION", "not allowed"),
        ("1 < 2", "INVALID_EXPRESSION", "not allowed"),
        ("3 == 3", "INVALID_EXPRESSION", "not allowed"),
        ("2e", "INVALID_EXPRESSION", "'e' after 2"),
        ("1.2.3", "INVALID_EXPRESSION", "not allowed"),
        ("1_000", "INVALID_EXPRESSION", "not allowed"),
        ("٣ + 1", "INVALID_EXPRESSION", "not allowed"),
        ("1,23", "INVALID_EXPRESSION", "comma"),
        (".", "INVALID_EXPRESSION", "not allowed"),
        ("50%", "INVALID_EXPRESSION", "50/100"),
        ("12%-5", "INVALID_EXPRESSION", "50/100"),
        ("50% + 3", "INVALID_EXPRESSION", "50/100"),
        ("50 % - 3", "INVALID_EXPRESSION", "50/100"),
        ("(50%)", "INVALID_EXPRESSION", "50/100"),
        ("1/0", "DIVISION_BY_ZERO", "division by zero"),
        ("1//0", "DIVISION_BY_ZERO", "division by zero"),
        ("5 % 0", "DIVISION_BY_ZERO", "division by zero"),
        ("0**-1", "DIVISION_BY_ZERO", "negative power"),
        ("(-8)**0.5", "OUT_OF_DOMAIN", "not a real number"),
        ("13!", "LIMIT_EXCEEDED", "from 0 to 12"),
        ("(-1)!", "LIMIT_EXCEEDED", "from 0 to 12"),
        ("2.5!", "LIMIT_EXCEEDED", "from 0 to 12"),
        ("9**9**9", "LIMIT_EXCEEDED", "too large"),
        ("12!**12!", "LIMIT_EXCEEDED", "too large"),
        ("1e900 * 1e900", "LIMIT_EXCEEDED", "too large"),
        ("10**400/3", "LIMIT_EXCEEDED", "too large"),
        ("(2**0.5)**5000", "LIMIT_EXCEEDED", "too large"),
        ("2**0.5 * 1e900", "LIMIT_EXCEEDED", "too large"),
        ("(2**0.5 * 1e300) * (2**0.5 * 1e300)", "LIMIT_EXCEEDED", "too large"),
        ("1e99999999", "LIMIT_EXCEEDED", "power of ten"),
        ("1e1000", "LIMIT_EXCEEDED", "power of ten"),
        ("2**-5000", "LIMIT_EXCEEDED", "close to 0"),
        ("1e-999 * 1e-5", "LIMIT_EXCEEDED", "close to 0"),
        ("9" * 1_000_000, "LIMIT_EXCEEDED", "characters"),
        ("(" * 10_000, "LIMIT_EXCEEDED", "characters"),
        ("(" * 100 + "1", "LIMIT_EXCEEDED", "nested"),
        ("**".join("2" * 60), "LIMIT_EXCEEDED", "nested"),
        ("+".join("1" * 400), "LIMIT_EXCEEDED", "numbers and signs"),
    ],
)
def test_refuses_with_a_code_and_what_is_allowed(expression: str, code: str, hint: str) -> None:
    with pytest.raises(ToolError) as caught:
        calculate(expression)
    assert caught.value.code == code
    assert hint in caught.value.message
    assert len(caught.value.message) < 200


def test_says_what_it_understood() -> None:
    outcome = execute(calculator, {"expression": "1,000×-2^3 % 7="})
    assert outcome.observation == {"result": -8000 % 7, "expression": "1000 * -2 ** 3 % 7"}
    assert outcome.ok


def test_a_refusal_is_an_observation() -> None:
    outcome = execute(calculator, {"expression": "1/0"})
    assert (outcome.ok, outcome.error) == (False, "DIVISION_BY_ZERO")
    assert set(outcome.observation) == {"error", "message"}


_numbers = st.one_of(
    st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n))),
    st.decimals(0, 1000, places=2).map(lambda d: (str(d), Fraction(d))),
    st.integers(0, 6).map(lambda n: (f"{n}!", Fraction(factorial(n)))),
)
Case = tuple[str, Fraction]


def _combined(parts: tuple[Case, str, Case]) -> Case | None:
    (left, a), operator, (right, b) = parts
    text = f"({left}) {operator} ({right})"
    if operator in ("/", "//", "%"):
        if b == 0:
            return None
        return text, {"/": a / b, "//": Fraction(a // b), "%": a % b}[operator]
    return text, {"+": a + b, "-": a - b, "*": a * b}[operator]


def _power(parts: tuple[Case, int]) -> Case:
    (text, value), exponent = parts
    return f"({text})**{exponent}", value**exponent


_leaves = _numbers | st.tuples(_numbers, st.integers(0, 3)).map(_power)


def _grown(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    cases = st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(_combined)
    return cases.flatmap(lambda case: st.nothing() if case is None else st.just(case))


@given(st.recursive(_leaves, _grown, max_leaves=6))
def test_agrees_with_python_on_exact_fractions(case: Case) -> None:
    text, expected = case
    assume(len(text) <= 1000)
    value, _ = calculate(text)
    if expected.denominator == 1 and isinstance(value, int):
        assert value == expected
    else:
        assert value == pytest.approx(float(expected), rel=1e-13)


@given(st.text(alphabet="0123456789.,+-*/%^()! eE=x", max_size=60))
def test_never_fails_in_another_way_on_any_text(text: str) -> None:
    try:
        value, normalised = calculate(text)
    except ToolError:
        return
    json.dumps(value, allow_nan=False)
    assert calculate(normalised) == (value, normalised)

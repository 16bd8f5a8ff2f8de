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
from tests.each import each


@each(
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
        ("0**(1/3)", 0),
        ("(2**17)**(1/17)", 2.0),
        ("28**(1/3)", 3.03658897187566),
        ("449! / 448!", 449),
    ],
)
def test_computes(expression: str, result: float) -> None:
    value, _ = calculate(expression)
    assert value == result
    assert type(value) is type(result)


@each(
    ("expression", "result"),
    [
        ("sqrt(1521)", 39),
        ("sqrt(4/9)", 0.666666666666667),
        ("sqrt(2)", 1.4142135623731),
        ("sqrt(10**600)", 10**300),
        ("cbrt(-27)", -3),
        ("cbrt(2)", 1.25992104989487),
        ("factorial(5)", 120),
        ("abs(-7/2)", 3.5),
        ("round(2.5)", 2),
        ("round(3.5)", 4),
        ("round(2.675, 2)", 2.68),
        ("round(12345, -2)", 12300),
        ("round(sqrt(2), 3)", 1.414),
        ("floor(-3.5)", -4),
        ("ceil(2.1)", 3),
        ("min(3, 1/2, 2)", 0.5),
        ("max(1, 2, 3)", 3),
        ("pow(2, 10)", 1024),
        ("mod(7, 3)", 1),
        ("log(1)", 0),
        ("log(100)", 4.60517018598809),
        ("ln(1 + 10**-20)", 1e-20),
        ("ln(1/1000)", -6.90775527898214),
        ("log(8, 2)", 3),
        ("log(8, 4)", 1.5),
        ("log(8, sqrt(2))", 6.0),
        ("log(1e300, 1 + 1e-300)", 6.90775527898214e302),
        ("log10(1000)", 3),
        ("log10(1/1000)", -3),
        ("log10(10**900)", 900),
        ("log2(8)", 3),
        ("log_2(10)", 3.32192809488736),
        ("exp(0)", 1),
        ("exp(1)", 2.71828182845905),
        ("exp(-700.5)", 5.98019611863979e-305),
        ("sin(0)", 0),
        ("sin(1)", 0.841470984807897),
        ("sin(30*pi/180)", 0.5),
        ("sin(pi)", 0.0),
        ("sin(1000000*pi)", 0.0),
        ("cos(0)", 1),
        ("cos(pi/2)", 0.0),
        ("tan(pi/4)", 1.0),
        ("tan(0)", 0),
        ("asin(1)", 1.5707963267949),
        ("acos(1)", 0),
        ("4*atan(1)", 3.14159265358979),
        ("e", 2.71828182845905),
        ("1e-20 * pi", 3.14159265358979e-20),
        ("sin(1e-20 * pi)", 3.14159265358979e-20),
    ],
)
def test_computes_functions_exactly_where_the_result_is_exact(expression: str, result: float) -> None:
    value, understood = calculate(expression)
    assert value == result
    assert type(value) is type(result)
    assert calculate(understood) == (value, understood)


@each(
    ("expression", "result", "understood"),
    [
        ("math.sqrt(16)", 4, "sqrt(16)"),
        ("Math.PI", 3.14159265358979, "pi"),
        ("np.sqrt(16) + NUMPY.abs(-1)", 5, "sqrt(16) + abs(-1)"),
        ("SQRT (16)", 4, "sqrt(16)"),
        ("log(100)", 4.60517018598809, "ln(100)"),
        ("log(100, 10)", 2, "log(100, 10)"),
        ("log₁₀(100)", 2, "log10(100)"),
        ("12 x 4", 48, "12 * 4"),
        ("12x4", 48, "12 * 4"),
        ("12 X -4", -48, "12 * -4"),
        ("(1+2)x(3)", 9, "(1 + 2) * (3)"),
        ("7 mod 3", 1, "7 % 3"),
        ("7mod -3", -2, "7 % -3"),
        ("12 % sqrt(25)", 2, "12 % sqrt(25)"),
        ("20% of 80", 16, "20 / 100 * 80"),
        ("20 percent of 80", 16, "20 / 100 * 80"),
        ("20 per\tcent of $80", 16, "20 / 100 * 80"),
        ("20pct of 80", 16, "20 / 100 * 80"),
        ("(10+10)% of 80", 16, "(10 + 10) / 100 * 80"),
        ("200 - 20% of 200", 160, "200 - 20 / 100 * 200"),
        ("20% of 50% of 80", 8, "20 / 100 * (50 / 100) * 80"),
        ("½ of 80", 40, "(1 / 2) * 80"),
        ("3/4 of 80", 60, "3 / 4 * 80"),
        ("50%", 0.5, "50 / 100"),
        ("-50%", -0.5, "-50 / 100"),
        ("50% * 80", 40, "50 / 100 * 80"),
        ("80 / 50%", 160, "80 / (50 / 100)"),
        ("5 / (1+2)%", 166.666666666667, "5 / ((1 + 2) / 100)"),
        ("50% ^ 2", 0.25, "(50 / 100) ** 2"),
        ("4 ^ 50%", 2, "4 ** (50 / 100)"),
        ("max(50%, 1%)", 0.5, "max(50 / 100, 1 / 100)"),
        ("(50%)", 0.5, "(50 / 100)"),
        ("50% + 3", 3.5, "50 / 100 + 3"),
        ("80 * (100% - 20%)", 64, "80 * (100 / 100 - 20 / 100)"),
        ("200 * (1 + 10%)", 220, "200 * (1 + 10 / 100)"),
        ("200 + 10% * 5", 200.5, "200 + 10 / 100 * 5"),
        ("$1,234*5", 6170, "1234 * 5"),
        ("-$5 + 5 € - £.5", -0.5, "-5 + 5 - .5"),
        ("$17*24$", 408, "17 * 24"),
        ("3(4+5)", 27, "3 * (4 + 5)"),
        ("(1+2)(3+4)", 21, "(1 + 2) * (3 + 4)"),
        ("2(3)!", 12, "2 * (3)!"),
        ("6/2*3(4)", 36, "6 / 2 * 3 * (4)"),
        ("2pi", 6.28318530717959, "2 * pi"),
        ("2 π", 6.28318530717959, "2 * pi"),
        ("3sqrt(4)", 6, "3 * sqrt(4)"),
        ("2exp(0)", 2, "2 * exp(0)"),
        ("2e3x4", 8000, "2e3 * 4"),
        ("√16", 4, "sqrt(16)"),
        ("√(2+2)", 2, "sqrt(2 + 2)"),
        ("2√√16", 4, "2 * sqrt(sqrt(16))"),
        ("∛27", 3, "cbrt(27)"),
        ("-2²", -4, "-2 ** 2"),
        ("2³ + 2¹⁰", 1032, "2 ** 3 + 2 ** 10"),
        ("2⁻¹", 0.5, "2 ** -1"),
        ("3½", 3.5, "(3 + 1 / 2)"),
        ("1,000 ¾", 1000.75, "(1000 + 3 / 4)"),
        ("⅓ * 3", 1, "(1 / 3) * 3"),
        ("max(1,234)", 234, "max(1, 234)"),
        ("max((1,234), 5)", 1234, "max((1234), 5)"),
        ("sqrt(16) + 1,234", 1238, "sqrt(16) + 1234"),
        ("x = 17*24", 408, "17 * 24"),
        ("result=17*24 =", 408, "17 * 24"),
        ("17*24 = ?", 408, "17 * 24"),
        ('{"expression": 17*24}', 408, "17 * 24"),
        ('{"expression": "17*24"}', 408, "17 * 24"),
        ('\'{"expression": "17*24"}\'', 408, "17 * 24"),
        ("{expression = 17*24}", 408, "17 * 24"),
        ("expression: 17*24", 408, "17 * 24"),
        ("'17*24'", 408, "17 * 24"),
        ("`x = 17*24`", 408, "17 * 24"),
    ],
)
def test_says_how_it_was_read(expression: str, result: float, understood: str) -> None:
    assert calculate(expression) == (result, understood)
    assert calculate(understood) == (result, understood)


def test_a_root_of_a_very_large_number_is_near_enough() -> None:
    assert calculate("(3**400)**(1/3)")[0] == pytest.approx(3 ** (400 / 3), rel=1e-12)


@each(
    ("expression", "code", "hint"),
    [
        ("", "INVALID_EXPRESSION", "empty"),
        ("()", "INVALID_EXPRESSION", "brackets () are empty"),
        ("1)", "INVALID_EXPRESSION", "no ("),
        ("(1", "INVALID_EXPRESSION", "closing bracket"),
        ("(1 2", "INVALID_EXPRESSION", "write * to multiply"),
        ("(2)3", "INVALID_EXPRESSION", "write * to multiply"),
        ("pi 2", "INVALID_EXPRESSION", "write * to multiply"),
        ("6/2(1+2)", "INVALID_EXPRESSION", "6/2*(1+2)"),
        ("1/2pi", "INVALID_EXPRESSION", "without * after a division"),
        ("2 e", "INVALID_EXPRESSION", "2*e or 2e3"),
        ("5 e-3", "INVALID_EXPRESSION", "2*e or 2e3"),
        ("e(2)", "INVALID_EXPRESSION", "2*e or 2e3"),
        ("0x10", "INVALID_EXPRESSION", "hexadecimal"),
        ("12 x", "INVALID_EXPRESSION", "ends too early"),
        ("2+", "INVALID_EXPRESSION", "ends too early"),
        ("2 + * 3", "INVALID_EXPRESSION", "* stands where a number belongs"),
        ("foo(3)", "INVALID_EXPRESSION", "'foo' is not known; there are sqrt, cbrt, factorial, abs, "),
        ("a" * 900, "INVALID_EXPRESSION", "is not known; there are sqrt"),
        ("a.b", "INVALID_EXPRESSION", "'a' is not known"),
        ("os.system(1)", "INVALID_EXPRESSION", "'os' is not known"),
        ("'x'", "INVALID_EXPRESSION", "'x' is not known"),
        ("2*x4", "INVALID_EXPRESSION", "'x' is not known"),
        ("5 kg", "INVALID_EXPRESSION", "'kg' is not known"),
        ("2x = 4", "INVALID_EXPRESSION", "'=' is not allowed; use numbers, + - * /"),
        ("2 = 2", "INVALID_EXPRESSION", "not allowed"),
        ('{"unit": 1}', "INVALID_EXPRESSION", "'{' is not allowed"),
        ("x == 3", "INVALID_EXPRESSION", "'x' is not known"),
        ('{"expression": 1, "unit": 2}', "INVALID_EXPRESSION", "',' is not allowed"),
        ("$x", "INVALID_EXPRESSION", "not allowed"),
        ("90°", "INVALID_EXPRESSION", "not allowed"),
        ("2é", "INVALID_EXPRESSION", "not allowed"),
        ("1, 2", "INVALID_EXPRESSION", "not allowed"),
        ("sqrt", "INVALID_EXPRESSION", "write sqrt(2)"),
        ("sqrt 16", "INVALID_EXPRESSION", "write sqrt(2)"),
        ("sqrt()", "INVALID_EXPRESSION", "empty"),
        ("sqrt(4", "INVALID_EXPRESSION", "closing bracket"),
        ("max(1,, 2)", "INVALID_EXPRESSION", ", stands where a number belongs"),
        ("max(1 2)", "INVALID_EXPRESSION", "write * to multiply"),
        ("sqrt(1,521)", "INVALID_EXPRESSION", "takes 1 argument, 2 given"),
        ("round(1, 2, 3)", "INVALID_EXPRESSION", "takes 1 or 2 arguments, 3 given"),
        ("pow(2)", "INVALID_EXPRESSION", "takes 2 arguments, 1 given"),
        ("max(2)", "INVALID_EXPRESSION", "takes 2 or more arguments, 1 given"),
        ("min(1,000, 2)", "INVALID_EXPRESSION", "write 1000 and not 1,000"),
        ("round(1,234.5)", "INVALID_EXPRESSION", "whole number of digits"),
        ("round(1.5, 10**9)", "INVALID_EXPRESSION", "whole number of digits"),
        ("2²³^3", "INVALID_EXPRESSION", "in brackets"),
        ("1.5½", "INVALID_EXPRESSION", "write + or *"),
        ("1 < 2", "INVALID_EXPRESSION", "not allowed"),
        ("3 == 3", "INVALID_EXPRESSION", "not allowed"),
        ("2e", "INVALID_EXPRESSION", "'e' after 2"),
        ("1.2.3", "INVALID_EXPRESSION", "not allowed"),
        ("1_000", "INVALID_EXPRESSION", "not allowed"),
        ("٣ + 1", "INVALID_EXPRESSION", "not allowed"),
        ("1,23", "INVALID_EXPRESSION", "comma"),
        (".", "INVALID_EXPRESSION", "not allowed"),
        ("12%-5", "INVALID_EXPRESSION", "50/100"),
        ("50 % - 3", "INVALID_EXPRESSION", "50/100"),
        ("50%%", "INVALID_EXPRESSION", "ends too early"),
        ("200 + 10%", "INVALID_EXPRESSION", "write * (1 + 10 / 100) or + (10 / 100)"),
        ("200 - -10%", "INVALID_EXPRESSION", "write * (1 - -10 / 100) or - (-10 / 100)"),
        ("1 + 10% + 10%", "INVALID_EXPRESSION", "write * (1 + 10 / 100)"),
        ("percent", "INVALID_EXPRESSION", "stands where a number belongs"),
        ("5 of 3", "INVALID_EXPRESSION", "as in 20% of 80"),
        ("10 / 20% of 80", "INVALID_EXPRESSION", "'of' is unclear"),
        ("1/0", "DIVISION_BY_ZERO", "division by zero"),
        ("1//0", "DIVISION_BY_ZERO", "division by zero"),
        ("5 % 0", "DIVISION_BY_ZERO", "division by zero"),
        ("0**-1", "DIVISION_BY_ZERO", "negative power"),
        ("(-8)**0.5", "OUT_OF_DOMAIN", "not a real number"),
        ("sqrt(-1)", "OUT_OF_DOMAIN", "not a real number"),
        ("log(0)", "OUT_OF_DOMAIN", "above 0"),
        ("log(5, 1)", "OUT_OF_DOMAIN", "other than 1"),
        ("log(5, 0)", "OUT_OF_DOMAIN", "above 0"),
        ("asin(2)", "OUT_OF_DOMAIN", "from -1 to 1"),
        ("tan(pi/2)", "OUT_OF_DOMAIN", "tan has no value"),
        ("7 mod 0", "DIVISION_BY_ZERO", "division by zero"),
        ("1/sin(pi)", "DIVISION_BY_ZERO", "division by zero"),
        ("450!", "LIMIT_EXCEEDED", "from 0 to 449"),
        ("(-1)!", "LIMIT_EXCEEDED", "from 0 to 449"),
        ("factorial(2.5)", "LIMIT_EXCEEDED", "from 0 to 449"),
        ("exp(1000)", "LIMIT_EXCEEDED", "too large"),
        ("exp(-1000)", "LIMIT_EXCEEDED", "close to 0"),
        ("√" * 50 + "2", "LIMIT_EXCEEDED", "nested"),
        ("max(" * 50 + "2", "LIMIT_EXCEEDED", "nested"),
        ("2" + "²" * 990, "LIMIT_EXCEEDED", "too large"),
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


_PIECES = [
    *"0123456789.,+-*/%^()! eE=x$√²³½π'\"`{}:?_<",
    *["12", "1,234", "0.5", "449!", "sqrt(", "math.", "max(", "round(", "log(", "tan(", "log10(", "pi", "abs"],
    *[" mod ", "% of ", " percent ", "x = ", "expression", "pow(2, "],
]


@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_never_fails_in_another_way_on_any_text(text: str) -> None:
    try:
        value, normalised = calculate(text)
    except ToolError:
        return
    json.dumps(value, allow_nan=False)
    assert calculate(normalised) == (value, normalised)

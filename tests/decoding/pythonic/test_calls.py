"""Text as calls in Python's syntax, or nothing: it is parsed and never evaluated."""

from ast import literal_eval

import pytest

from micro_agent.decoding.pythonic.calls import PythonCall, extent, python_calls
from micro_agent.decoding.repair.mending import Allowance, Unreadable


def test_calls_come_with_what_is_given_by_place_and_by_name() -> None:
    text = "f('a', b=[1])\ng()  # that's all\nx = h(-1.5)"
    assert python_calls(text, Allowance()) == [
        PythonCall("f", ["a"], {"b": [1]}),
        PythonCall("g"),
        PythonCall("h", [-1.5]),
    ]


def test_an_object_behind_two_stars_is_as_good_as_keywords() -> None:
    assert python_calls("f(**{'a': 1, \"b\": [2]})", Allowance()) == [PythonCall("f", [], {"a": 1, "b": [2]})]
    assert python_calls("f(0, a=1, **{'b': 2})", Allowance()) == [PythonCall("f", [0], {"a": 1, "b": 2})]


@pytest.mark.parametrize(
    "text",
    ["f(a=1, **{'a': 2})", "f(**{'a': 1, 'a': 2})", "f(**{'a b': 1})", "f(**x)", "f(2 **{})", "f(**{**{'a': 1}})"],
)
def test_stars_that_leave_a_doubt_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        python_calls(text, Allowance())


@pytest.mark.parametrize(
    "text",
    ["", "[]", "f('a)", 'f("""a"")', "'a': f(x=1)", "f(x=1)(2)", "f()()", "(f)", "f(x=g())", "f(x={'a', 1})", "f(x=\0)",
     "f(x='a' 'b')", "f(x=1if)", "f(x=**y)", "f(x=" + "-" * 9000 + "1)", "__import__('os').system('x')"],
)  # fmt: skip
def test_anything_else_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        python_calls(text, Allowance())


@pytest.mark.parametrize(
    "text", [r"\n\t\a\v", r"\x41\u00e9\U0001F600", r"\101\7\0", r"\\ \" \'", "a\\\nb", r"\d+ \. C:\_"]
)
def test_escapes_are_those_of_python_and_other_backslashes_stay(text: str) -> None:
    meant = literal_eval(f"'{text}'") if "\\d" not in text else text
    assert python_calls(f"f(x='{text}')", Allowance()) == [PythonCall("f", [], {"x": meant})]


def test_what_is_too_long_outside_its_texts_is_unreadable() -> None:
    assert python_calls(f"f(x='{'a' * 16_000}')", Allowance()) == [PythonCall("f", [], {"x": "a" * 16_000})]
    with pytest.raises(Unreadable, match="too long"):
        python_calls("f(x=[" + "1," * 8_000 + "])", Allowance())


def test_long_text_is_read_only_as_far_as_the_allowance_goes() -> None:
    with pytest.raises(Unreadable):
        python_calls("f(x='a')", Allowance(5))


def test_an_extent_ends_with_the_bracket_that_closes_the_first_one() -> None:
    text = "see f(a=[1, {'b': ')'}], c=\"(\") and ("
    assert text[4 : extent(text, 4)] == "f(a=[1, {'b': ')'}], c=\"(\")"
    for open_ended in ("f(", "f(]", "f)", "f('a)", "f(" + "[]" * 9000 + ")"):
        assert extent(open_ended, 0) is None

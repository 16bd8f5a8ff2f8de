"""Text as the arguments of a call in Python's syntax, or nothing: it is read and never evaluated."""

from ast import literal_eval

import pytest

from micro_agent.decoding.pythonic.calls import arguments, extent
from micro_agent.decoding.repair.mending import Allowance, Unreadable
from tests.each import each


def test_arguments_are_given_by_place_and_by_name() -> None:
    assert arguments("('a', -1.5, b=[1], c={'d': None})", Allowance()) == (
        ["a", -1.5],
        {"b": [1], "c": {"d": None}},
    )
    assert arguments("( # that's all\n)", Allowance()) == ([], {})
    assert arguments("((1), (1,), (1, 2), ())", Allowance()) == ([1, [1], [1, 2], []], {})


def test_signs_and_quotation_marks_of_other_languages_are_as_good() -> None:
    text = "（a＝「x、（y」，b：１２, c: « d »，e = „f“）"
    assert arguments(text, Allowance()) == ([], {"a": "x、（y", "b": 12, "c": "d", "e": "f"})
    assert extent(text, 0, Allowance()) == (len(text), "")


def test_an_object_behind_two_stars_is_as_good_as_keywords() -> None:
    assert arguments("(**{'a': 1, \"b\": [2]})", Allowance()) == ([], {"a": 1, "b": [2]})
    assert arguments("(0, a=1, **{'b': 2})", Allowance()) == ([0], {"a": 1, "b": 2})


@pytest.mark.parametrize(
    "text", ["(a=1, **{'a': 2})", "(**{'a': 1, 'a': 2})", "(**x)", "(2 **{})", "(**{**{'a': 1}})", "(**[1])"]
)
def test_stars_that_leave_a_doubt_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        arguments(text, Allowance())


@each(
    "text",
    ["", "[]", "()()", "(", "('a)", '("""a"")', "(x=1)(2)", "(x=g())", "(x={'a', 1})", "(x=\0)", "(x='a' 'b')",
     "(x=1if)", "(x=**y)", "(x=" + "-" * 9000 + "1)", "(x=__import__('os').system('x'))", "(x=1, 2)", "(1 2)", "(,)",
     "(x=1e999)", "(x=" + "9" * 9000 + ")", "({None: 1})", "({1: 2})", "(x==1)", "(a='b', 'c': d)", "(x", "(x=", "([1"],
)  # fmt: skip
def test_anything_else_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        arguments(text, Allowance())


@pytest.mark.parametrize(
    "text", [r"\n\t\a\v", r"\x41\u00e9\U0001F600", r"\101\7\0", r"\\ \" \'", "a\\\nb", r"\d+ \. C:\_"]
)
def test_escapes_are_those_of_python_and_other_backslashes_stay(text: str) -> None:
    meant = literal_eval(f"'{text}'") if "\\d" not in text else text
    assert arguments(f"('{text}')", Allowance()) == ([meant], {})
    assert arguments(r"(r'\d\'')", Allowance()) == ([r"\d\'"], {})


@pytest.mark.parametrize(
    "text",
    ["it's", "sed '3p' a.txt", "echo 'a' && echo 'b'", "it\\'s 'x' here", 'say "a, b", c', "l'a d'b", "it's 'so'"],
)
def test_quotes_in_a_text_need_no_backslash_where_it_is_certain_what_they_are(text: str) -> None:
    meant = text.replace("\\'", "'")
    assert arguments(f"(x='{text}')", Allowance(), loose=True) == ([], {"x": meant})
    assert arguments(f"(x='{text}', y=1)", Allowance(), loose=True) == ([], {"x": meant, "y": 1})
    assert arguments(f"(['{text}', 'b'])", Allowance(), loose=True) == ([[meant, "b"]], {})
    assert arguments(f"({{'a': '{text}'}})", Allowance(), loose=True) == ([{"a": meant}], {})


@pytest.mark.parametrize(
    "text", ["('a' + 'b')", "('a' 'b')", "('a' or 'b')", "('Let''s')", "(x='a 'b', 'c' d)", "(x=''')"]
)
def test_where_it_is_not_certain_they_are_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        arguments(text, Allowance(), loose=True)


def test_long_text_is_read_only_as_far_as_the_allowance_goes() -> None:
    assert arguments(f"(x='{'a' * 16_000}')", Allowance()) == ([], {"x": "a" * 16_000})
    for text, allowance in (("(x='a')", Allowance(5)), ("(x=[" + "1," * 8_000 + "])", Allowance())):
        with pytest.raises(Unreadable, match="too long"):
            arguments(text, allowance)


def test_an_extent_ends_with_the_bracket_that_closes_the_first_one() -> None:
    text = "see f(a=[1, {'b': ')'}], c=\"(\") and ("
    assert text[4 : extent(text, 4, Allowance())[0]] == "f(a=[1, {'b': ')'}], c=\"(\")"
    for open_ended in ("f(", "f(]", "f)", "f('a)", "f(" + "[]" * 9000 + ")"):
        assert extent(open_ended, 0, Allowance())[0] is None


@pytest.mark.parametrize(
    ("text", "closers"),
    [("(x='a'", ")"), ("(x=[1, {'a': []", "}])"), ("(x=«a»\n```", ")"), ("([1, # )\n 2]", ")"), ("(x='a", ""),
     ("(x=1", ""), ("(x='a' # b", ""), ("([1)", ""), ("(x='a',", "")],
)  # fmt: skip
def test_only_brackets_may_lack_at_the_end(text: str, closers: str) -> None:
    assert extent(text, 0, Allowance()) == (None, closers)


@pytest.mark.parametrize(("said", "value"), [("Rome", "Rome"), ("New York", "New York"), ("São Tomé", "São Tomé")])
def test_a_place_needs_no_quotes(said: str, value: str) -> None:
    assert arguments(f"(city={said})", Allowance()) == ([], {"city": value})
    assert arguments(f"(city: {said}, days=3)", Allowance()) == ([], {"city": value, "days": 3})


@pytest.mark.parametrize("said", ["rome", "X", "API_KEY", "Rome (Italy)", "Rome 2", "None Rome None x"])
def test_a_word_that_may_be_a_variable_is_no_place(said: str) -> None:
    with pytest.raises(Unreadable):
        arguments(f"(city={said})", Allowance())

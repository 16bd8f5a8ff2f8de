"""Nearly JSON is read literally or not at all: nothing is completed, nothing is lost."""

import sys
from typing import Any

import pytest

from micro_agent.decoding.repair.mending import Allowance, Unreadable, exact, mend
from micro_agent.decoding.repair.strict import GivenTwice
from tests.each import each


@each(
    ("text", "value", "kind"),
    [
        ('{"a": "b\nc"}', {"a": "b\nc"}, "control_characters"),
        ('{"a\\_b": "it\\\'s \\d C:\\Users"}', {"a_b": "it's \\d C:\\Users"}, "escapes"),
        ('{"a": "x\\\\_\\u00e9",\n "b": "\\s"}', {"a": "x\\_é", "b": "\\s"}, "escapes"),
        ('{"a": [1, 2, ], "b": ",}",}', {"a": [1, 2], "b": ",}"}, "trailing_comma"),
        ("{'a': True, 'b': None, 'c': [1, 2.5, -3e2], 'd': \"it's\"}", {"a": True, "b": None, "c": [1, 2.5, -300.0],
                                                                        "d": "it's"}, "python_literal"),
        ("{'a': (1, 2)}", {"a": [1, 2]}, "json_repair"),
        ("{'a': 'b\\n\\x41'}", {"a": "b\nA"}, "python_literal"),
        ('{a: "b"}', {"a": "b"}, "loose_json"),
        ("{“a”: “b”}", {"a": "b"}, "loose_json"),
        ('{"a": "<i lang="en">x</i>"}', {"a": '<i lang="en">x</i>'}, "inner_quotes"),
        ('{"a": 1 /* one */, "b": "//c"} // two'[:-7], {"a": 1, "b": "//c"}, "loose_json"),
        ('{ # one\n"a": "#b", // two\n}', {"a": "#b"}, "loose_json"),
        ("{'a': 'b', 'c': true}", {"a": "b", "c": True}, "python_literal"),
        ("{'a': '\\d'}", {"a": "\\d"}, "python_literal"),
        ('{"a": "Bye now”, "b": "He said “hi”, twice"}', {"a": "Bye now", "b": "He said “hi”, twice"}, "inner_quotes"),
        ('{"a": ["x", "it\\n”]}', {"a": ["x", "it\n"]}, "inner_quotes"),
        ('{"name="add", "b": "c=d"}', {"name": "add", "b": "c=d"}, "stray_signs"),
        ("{a: 'b c', 'd-e': True, f: [None, \"g: h\"], // i\n}", {"a": "b c", "d-e": True, "f": [None, "g: h"]},
         "loose_json"),
        ('{\u00a0"a":\u3000"\u00a0",\ufeff"b": 1}', {"a": "\u00a0", "b": 1}, "loose_json"),
        ('{a: "b\\n"}', {"a": "b\n"}, "loose_json"),
        ('{"a"= "b=c", d => \'e\', "f" = [1]}', {"a": "b=c", "d": "e", "f": [1]}, "assignments"),
        ('{"a": 1, "a": 1.0, "b" = 2}'.replace("1.0", "1"), {"a": 1, "b": 2}, "assignments"),
        ('{"a": "b" "c": d}', {"a": "b", "c": "d"}, "json_repair"),
        ('{"a": "\\u00e9" "b": 1}', {"a": "é", "b": 1}, "punctuation"),
    ],
)  # fmt: skip
def test_each_defect_is_mended_and_recorded(text: str, value: Any, kind: str) -> None:
    found, repairs = mend(text, Allowance())
    assert found == value
    assert [(repair.kind, repair.before) for repair in repairs] == [(kind, text)]


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', "{'a': 1, 'a': 2}", "{a: 1, a: 1.0}", '{"x": {"a": 1, "a": true}, }']
)
def test_of_two_values_for_one_key_neither_is_taken(text: str) -> None:
    with pytest.raises(GivenTwice):
        mend(text, Allowance())


@each(
    "text",
    [
        '{"a": 1 1}',
        '{"a" == "b"}',
        '{"a": 1 000}',
        '{"a": 007}',
        '{"a": 12]50.5}',
        '{"a": tr]ue}',
        '{"a": }',
        '{"a": -}',
        '{"a": 1e999}',
        "{'a': 'b' 'c'}",
        "{'a': 'b '\n 'c'}",
        "{1: 2, (3, 4): 5}",
        "{'a': 'b}",
        "{" + '"a": "\\d", ' * 6000 + "}",
        "{a: b, a: c}",
        '{"a": "b\\n" "c": d}',
        '{"a": "<i b="c", "d": "e">"}',
        '{"a": "b" c", "d" "e"}',
        '{"a": "5" pipe", "b": 1}',
        '{"a": ' + '"b" ' * 20_001 + "}",
        '"a": {"b" "c"}}',
        '{"a": "{x"; "b": [1]}',
        "{a: " + "\\d" * 3000 + "}",
    ],
)
def test_what_would_have_to_be_guessed_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        mend(text, Allowance())


@pytest.mark.parametrize("between", ["\n", "\x0c", " \n ", ""])
def test_texts_without_a_comma_between_them_are_not_made_one(between: str) -> None:
    for quote in "'\"":
        text = "{" + f"'a': ['b', {quote}c{quote}{between}{quote}d{quote}]" + "}"
        try:
            value, _ = mend(text, Allowance())
        except Unreadable:
            continue
        assert value == {"a": ["b", "c", "d"]}


def test_repairs_show_the_beginning_and_the_end_of_long_text() -> None:
    text = '{"a": "' + "b\n" * 300 + 'c"}'
    _, [repair] = mend(text, Allowance())
    assert len(repair.before) == len(repair.after) == 200
    assert repair.before.startswith('{"a": "b\nb')
    assert repair.before.endswith('\nc"}')


def test_slow_readers_stop_when_the_allowance_is_spent() -> None:
    allowance = Allowance()
    while allowance.left >= 128:
        mend('{"a": "b" "c": "d"}', allowance)
    with pytest.raises(Unreadable):
        mend('{"a": "b" "c": "d"}' + " " * 100, allowance)
    with pytest.raises(Unreadable):
        mend("{'a': ('b', 'c')}" + " " * 100, allowance)


def test_nothing_is_guessed_when_asked_not_to() -> None:
    with pytest.raises(Unreadable):
        mend('{"a": "b" "c": "d"}', Allowance(), guess=False)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "1e999", "[" * 100_000, "[" * 65 + "]" * 65, '{"a": 1', "'a'", ""]
)
def test_only_finite_json_of_a_sane_depth_is_exact(text: str) -> None:
    with pytest.raises(Unreadable):
        exact(text)


def test_exact_takes_what_is_json() -> None:
    assert exact('{"a": [1.5, {"b": ' + "[" * 60 + "]" * 60 + "}]}")["a"][0] == 1.5
    assert exact("[" + "[1]," * 100 + "{}]") == [[1]] * 100 + [{}]


def test_a_number_longer_than_python_reads_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="too many digits"):
        exact("9" * (sys.get_int_max_str_digits() + 1))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1 , }', "expecting property name enclosed in double quotes at character 10"),
        ('{"a": [1,\n]}', "expecting value at character 10"),
    ],
)
def test_the_reason_is_the_same_on_every_python(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        exact(text)
    assert str(caught.value) == reason


def test_the_reason_says_where() -> None:
    with pytest.raises(Unreadable, match="expecting ',' delimiter at character 8"):
        mend('{"a": 1 1}', Allowance())


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.torture)])
@pytest.mark.parametrize(
    "text", ['{"a": "<i lang="en">x</i>", b: [1]}', "{'a': 'it's \"b\"'}", '{"a": "b" "c": [1, 2}, "d": 1}', "{a: b}"]
)
def test_a_reader_reads_within_its_allowance_or_not_at_all(text: str, step: int) -> None:
    def read(microseconds: int) -> Any:
        try:
            return mend(text, Allowance(microseconds))[0]
        except Unreadable:
            return None

    found = [read(microseconds) for microseconds in range(0, 3000, step)]
    assert found[0] is None
    first = next(at for at, value in enumerate(found) if value is not None)
    assert all(value == found[-1] for value in found[first:])

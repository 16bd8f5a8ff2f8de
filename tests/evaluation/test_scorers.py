"""Scoring a run: each kind of expectation, what is said of one that is not met, weights, and what never happens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.evaluation.result import Check, Rubric
from micro_agent.evaluation.scorers import SCORERS, score
from micro_agent.evaluation.task import EXPECTATIONS, Task
from micro_agent.run import POLICY_VIOLATION, WARNING, Run, Status, Step


def task(**expected: Any) -> Task:
    return Task.model_validate({"id": "t", "question": "q", **expected})


def run(answer: str | None = None, *steps: Step, question: str = "q", status: Status = "completed", **more: Any) -> Run:
    return Run(question=question, model_answer=answer, answer=answer, status=status, steps=list(steps), **more)


def step(tool: str = "calculator", observation: Any = None, *, ok: bool = True) -> Step:
    return Step(tool=tool, observation=observation, ok=ok, error=None if ok else "TOOL_EXCEPTION")


def checked(name: str, expected: Any, seen: Run) -> Check:
    """The one check of a task that expects one thing."""
    (check,) = score(task(**{f"expect_{name}": expected}), seen, Rubric()).checks
    assert check.name == name
    assert (check.detail == "") == check.passed
    assert len(check.detail) <= 200
    assert len(check.detail.splitlines()) <= 1
    return check


def passes(name: str, expected: Any, seen: Run | str) -> bool:
    return checked(name, expected, run(seen) if isinstance(seen, str) else seen).passed


def test_there_is_a_scorer_for_each_expectation() -> None:
    assert [f"expect_{name}" for name in SCORERS] == list(EXPECTATIONS)
    assert list(Rubric().weights) == list(SCORERS)


def test_a_check_is_made_for_what_is_expected_alone() -> None:
    scored = score(task(expect_tools=[], expect_contains="a"), run("A."), Rubric())
    assert [check.name for check in scored.checks] == ["contains", "tools"]
    assert (scored.score, scored.success) == (1.0, True)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ("paris", "It is PARIS."),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "A cafe\u0301!"),
        ("New  York", "in new\n york"),
        ("don't", "I don’t know"),
        ('"yes"', "“Yes”"),
        ("a-b", "a–b"),
        ("a-b", "a\u2011b"),
        ("10 000", "10\u202f000"),
        ("office", "o\ufb03ce"),
        ("cooperate", "co\u00adoperate"),
        ("`now`", "the tool 'now'"),
        ([" b ", "a"], "ab"),
    ],
)
def test_texts_are_found_however_they_are_typeset(expected: Any, answer: str) -> None:
    assert passes("contains", expected, answer)


def test_texts_that_are_not_there_are_said() -> None:
    check = checked("contains", ["Rome", "Paris", "Oslo"], run("It is\nParis.\x1b[31m"))
    assert check.detail == r"expected 'Rome', 'Oslo'; the answer is 'It is Paris.\x1b[31m'"
    long = checked("contains", ["a" * 500, "b" * 500, "c"], run("d " * 5000))
    assert long.detail.startswith("expected 'aaaa")
    assert "aaaa…', 'bbbb" in long.detail
    assert (len(long.detail), long.detail[-1]) == (200, "…")


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (16, "16"), (16, "sixteen"), (1234567, "1,234,567"), (1 / 3, "0.33"), (2**64, f"It is {2**64:,}."), (-3, "−3"),
        ({"value": 100, "tolerance": 5}, "between 90 and 96"),
        ({"value": 0.2, "tolerance": 0.3}, "0.5"),
        ({"value": 3, "tolerance": 0}, "three"),
        ({"value": 0.25, "tolerance": 0.01}, "25 %"),
    ],
)  # fmt: skip
def test_numbers_are_found_as_people_write_them(expected: Any, answer: str) -> None:
    assert passes("number", expected, answer)


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        (16, "160"), (16, "1.16"), (16, "-16"), (2**64, f"{2**64 + 1}"), (1 / 3, "0.34"),
        ({"value": 100, "tolerance": 5}, "94.9 or 105.1"),
        ({"value": 3, "tolerance": 0}, "3.001"),
        ({"value": 1, "tolerance": 0.5}, "none"),
    ],
)  # fmt: skip
def test_other_numbers_do_not_count(expected: Any, answer: str) -> None:
    assert not passes("number", expected, answer)


def test_a_number_that_is_missing_is_said() -> None:
    assert checked("number", 16, run("15")).detail == "expected the number 16; the answer is '15'"
    missing = checked(
        "number", {"value": 3.14, "tolerance": 0.01}, run(None, status="stopped", termination_reason="max_steps")
    )
    assert missing.detail == "expected the number 3.14 ± 0.01; there is no answer (max_steps)"


def test_expressions_are_found_anywhere() -> None:
    assert passes("regex", r"\b(\w+) \1\b", "it is is")
    assert passes("regex", r"(?<=€)\d+$", "It costs\n€12\n")
    assert checked("regex", r"^\d+$", run("12 €")).detail == r"expected a match of '^\\d+$'; the answer is '12 €'"
    assert (
        checked("regex", "a", run(None, status="failed")).detail
        == "expected a match of 'a'; there is no answer (failed)"
    )


SLOW = "(a|aa)+$", "a" * 80 + "b"


@pytest.mark.torture
def test_an_expression_that_takes_for_ever_is_given_up_and_the_next_is_searched() -> None:
    check = checked("regex", SLOW[0], run(SLOW[1]))
    assert check.detail == "expected a match of '(a|aa)+$'; the search took more than 1 s; write a simpler one"
    assert passes("regex", "(b)$", "ab")


@pytest.mark.parametrize(
    ("key", "observation"),
    [
        ("result", {"result": None}),
        ("a.b", {"a": {"b": 0}}),
        ("a.b", {"a.b": 0}),
        ("a.b.c", {"a.b": {"c": 0}}),
        ("a.b", {"a": [1, {"c": 0}, {"b": 0}]}),
        ("a", [[{"a": 0}]]),
        (["a", "b"], {"a": 0, "b": 0}),
    ],
)
def test_keys_are_found_in_what_tools_returned(key: Any, observation: Any) -> None:
    assert passes("key", key, run(None, step("find", observation)))


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ("b", [step("find", {"a": {"b": 0}})]),
        ("a.b", [step("find", {"a": "b"})]),
        ("error", [step("find", {"error": "X"}, ok=False)]),
        ("a", [step(WARNING, {"a": 0})]),
        (["a", "b"], [step("find", {"a": 0})]),
        ("a", [step("find", "a")]),
        ("a", []),
    ],
)
def test_other_keys_do_not_count(key: Any, steps: list[Step]) -> None:
    assert not passes("key", key, run("a", *steps))


def test_keys_of_two_calls_count_together_and_missing_ones_are_said() -> None:
    both = run(None, step("find", {"a": 0}), step("find", {"b": 0, "a": 1}))
    assert passes("key", ["a", "b"], both)
    assert checked("key", ["c", "a"], both).detail == "expected the keys 'c'; the observations have 'a', 'b'"
    assert checked("key", "c", run("c")).detail == "expected the keys 'c'; the observations have none"


def test_a_deep_observation_can_be_looked_into() -> None:
    deep: Any = {"a": 0}
    for _ in range(100_000):
        deep = [deep]
    seen = run("x").model_copy(update={"steps": [Step.model_construct(tool="find", observation=deep, ok=True)]})
    assert passes("key", "a", seen)


def test_tools_are_those_that_succeeded_in_any_order() -> None:
    seen = run("x", step("now"), step(POLICY_VIOLATION), step("find", ok=False), step("calculator"))
    assert passes("tools", ["calculator", "now"], seen)
    check = checked("tools", ["now", "find", "stock"], seen)
    assert check.detail == "expected find, stock; called with success: now, calculator"


def test_no_tool_means_that_none_was_called() -> None:
    assert passes("tools", [], run("x", step(WARNING)))
    assert checked("tools", [], run("x", step("now"))).detail == "expected no tool call; called: now"
    assert not passes("tools", [], run("x", step("now", ok=False)))
    assert checked("tools", "now", run("x")).detail == "expected now; called with success: none"


CLOCK = {"iso": "2026-11-21T21:40:33+00:00", "timezone": "UTC", "unix": 1795297233}


@pytest.mark.parametrize(
    ("tool", "observation", "answer"),
    [
        ("calculator", {"result": 1234567}, "1,234,567"),
        ("calculator", 2 / 3, "about 0.67"),
        ("calculator", {"result": "2/3"}, "It is 2/3."),
        ("now", CLOCK, "It is 9:40 pm."),
        ("now", CLOCK, "November 21, 2026"),
        ("now", CLOCK, "1795297233"),
        ("now", "half past nine", "It’s HALF  past nine"),
        ("weather", {"city": "Paris", "celsius": 17.5, "rain": False, "wind": None}, "17.5 °C in Paris"),
        ("weather", {"value": 17, "unit": "C"}, "17 degrees"),
        ("stock", ["bolt", 40], "There are forty... 40 bolts."),
        ("stock", 7, "seven"),
    ],
)
def test_the_last_value_of_a_tool_stands_in_the_answer(tool: str, observation: Any, answer: str) -> None:
    assert passes("observed", tool, run(answer, step(tool, "old"), step(tool, observation), step(tool, "x", ok=False)))


@pytest.mark.parametrize(
    ("tool", "observation", "answer"),
    [
        ("calculator", {"result": 16}, "160"),
        ("now", CLOCK, "It is 9:41 pm."),
        ("now", CLOCK, "It is Saturday."),
        ("weather", {"city": "Paris", "celsius": 17.5}, "17.5 °C"),
        ("weather", {"celsius": float("inf")}, "inf"),
        ("stock", [], "nothing"),
        ("stock", True, "True"),
        ("stock", 7, "17"),
    ],
)
def test_another_value_does_not_count(tool: str, observation: Any, answer: str) -> None:
    assert not passes("observed", tool, run(answer, step(tool, observation)))


def test_a_weekday_counts_where_it_was_asked_for() -> None:
    asked = run("It is Saturday.", step("now", CLOCK), question="What day of the week is it?")
    assert passes("observed", "now", asked)


def test_a_value_that_is_not_there_is_said() -> None:
    never = checked("observed", "now", run("9:40", step("now", {"error": "X"}, ok=False)))
    assert never.detail == "expected the last value of now; it was never called with success"
    other = checked("observed", ["stock", "price"], run("7", step("stock", 7), step("price", {"eur": 8})))
    assert other.detail == """expected the last value of price, "{'eur': 8}"; the answer is '7'"""
    silent = run(None, step("stock", 7), status="stopped", termination_reason="max_time")
    assert (
        checked("observed", "stock", silent).detail
        == "expected the last value of stock, '7'; there is no answer (max_time)"
    )


def test_what_a_rule_appended_does_not_count() -> None:
    seen = run("I am done.", step("calculator", {"result": 16})).model_copy(
        update={"answer": "I am done. (calculator: 16)"}
    )
    assert not passes("number", 16, seen)
    assert not passes("observed", "calculator", seen)


def test_a_run_that_did_not_complete_is_no_success() -> None:
    scored = score(task(expect_tools=["now"]), run(None, step("now"), status="stopped"), Rubric())
    assert (scored.score, scored.success) == (1.0, False)


THREE = {"expect_contains": "a", "expect_number": 1, "expect_tools": ["now"]}


@pytest.mark.parametrize(
    ("weights", "answer", "expected"),
    [
        ({}, "a 1", 2 / 3),
        ({"tools": 0}, "a 1", 1.0),
        ({"tools": 0}, "b 1", 0.5),
        ({"tools": 2}, "a 1", 0.5),
        ({"contains": 0.1, "number": 0.2, "tools": 0.7}, "a 1", 0.3),
        ({"contains": 1e300, "number": 1e-300, "tools": 0}, "a 2", 1.0),
        ({"contains": 0, "number": 0, "tools": 0}, "a 1", 0.0),
    ],
)
def test_the_score_is_the_weighted_share(weights: dict[str, float], answer: str, expected: float) -> None:
    assert score(task(**THREE), run(answer), Rubric(weights=weights)).score == expected


def test_checks_that_all_weigh_nothing_must_all_pass() -> None:
    weightless = Rubric(weights=dict.fromkeys(SCORERS, 0.0))
    assert score(task(**THREE), run("a 1", step("now")), weightless)[1:] == (1.0, True)
    assert score(task(**THREE), run("a 1"), weightless)[1:] == (0.0, False)


def test_a_pass_score_is_compared_as_it_is_written() -> None:
    weights = {"contains": 0.1, "number": 0.2, "tools": 0.7}
    assert score(
        task(**THREE), run("a 1"), Rubric(weights=weights, pass_score=0.3)
    ).success  # 0.1 + 0.2 > 0.3 as floats
    third = {"expect_contains": "a", "expect_number": 1, "expect_regex": "a"}
    tenths = Rubric(weights=dict.fromkeys(SCORERS, 0.1))
    assert score(task(**third), run("a 1"), tenths).score == 1.0
    assert score(task(**third), run("a 1"), tenths).success
    assert not score(task(**THREE), run("a 1"), Rubric(pass_score=0.6667)).success
    assert score(task(**THREE), run("a 1"), Rubric(pass_score=0.6666)).success


ALL = task(
    expect_contains=["a", "“ﬀ”"], expect_number={"value": 0.1, "tolerance": 0.2}, expect_regex="(a|b)*c",
    expect_key=["a.b", "result"], expect_tools=["t"],
    expect_args={"t": [{"a": [1, "x", None], "b": True}, {"b": [["x", 1], {"a": 0.5}]}]},
    expect_observed=["calculator", "now", "t"], repository={"files": {"a": ""}}, expect_hidden={"t": ""},
    expect_changed=[], expect_gates=True,
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["a", "b", "result", "iso", "unix"]) | st.text(), inner)
    ),
    max_leaves=8,
)
TOOLS = st.sampled_from(["calculator", "now", "t", WARNING])
ARGS = st.dictionaries(st.sampled_from(["a", "b"]), JSON)
STEPS = st.builds(Step, tool=TOOLS, args=ARGS, observation=JSON, ok=st.booleans())
ANSWERS = st.none() | st.text() | st.text("0123456789.,-−’eE%$×^¹² abcmink()/", max_size=60)


@given(answer=ANSWERS, steps=st.lists(STEPS, max_size=4))
def test_any_run_can_be_scored(answer: str | None, steps: list[Step]) -> None:
    scored = score(ALL, run(answer, *steps), Rubric())
    assert [check.name for check in scored.checks] == list(SCORERS)
    assert 0 <= scored.score <= 1
    assert scored.success == all(check.passed for check in scored.checks)
    for check in scored.checks:
        assert (check.detail == "") == check.passed
        assert len(check.detail) <= 200
        assert check.detail.isprintable()


@given(text=st.text(min_size=1).filter(lambda text: bool(text.strip())), before=st.text(), after=st.text(max_size=3))
def test_a_text_is_found_in_an_answer_that_quotes_it(text: str, before: str, after: str) -> None:
    assert passes("contains", text, f"{before} {text.upper().lower()} {after}") or text.upper().lower() != text.lower()
    assert passes("contains", text, f"{before} {text} {after}")


def called(*args: dict[str, Any], tool: str = "now", ok: bool = True) -> Run:
    return run("x", *(Step(tool=tool, args=one, ok=ok, error=None if ok else "TOOL_EXCEPTION") for one in args))


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ({"timezone": "Asia/Tokyo"}, {"timezone": "asia/tokyo ", "more": 1}),
        ({"timezone": ["utc", None]}, {"timezone": "UTC"}),
        ({"timezone": ["utc", None]}, {}),
        ({"timezone": ["utc", None]}, {"timezone": ""}),
        ({"timezone": None}, {"timezone": None}),
        ({"miles": 3}, {"miles": 3.0}),
        ({"miles": "3.10"}, {"miles": 3.1}),
        ({"miles": 3}, {"miles": "3.0"}),
        ({"exact": "true"}, {"exact": True}),
        ({"exact": False}, {"exact": False}),
        ({"cities": ["Paris", "Rome"]}, {"cities": ["paris", "rome"]}),
        ({"cities": [["Paris"], ["Rome"]]}, {"cities": ["Rome"]}),
        ({"place": {"city": "Paris"}}, {"place": {"city": "Paris", "zip": "75001"}}),
    ],
)
def test_arguments_are_compared_by_value(expected: dict[str, Any], given: dict[str, Any]) -> None:
    assert passes("args", {"now": expected}, called(given))


@pytest.mark.parametrize(
    ("expected", "given", "found"),
    [
        ({"timezone": "Asia/Tokyo"}, {"timezone": "UTC"}, "now(timezone='Asia/Tokyo'); timezone was 'UTC'"),
        ({"timezone": "Asia/Tokyo"}, {}, "now(timezone='Asia/Tokyo'); timezone was left out"),
        ({"timezone": ["utc", None]}, {"timezone": "local"}, "now(timezone='utc' or nothing); timezone was 'local'"),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, "now(a=1, b=2); b was '3'"),
        ({"a": 1}, {"a": "one"}, "a was 'one'"),
        ({"a": 1}, {"a": float("nan")}, "a was 'nan'"),
        ({"a": 1}, {"a": True}, "a was 'True'"),
        ({"a": "x"}, {"a": ["x", "y"]}, "a was"),
        ({"a": {"b": 1}}, {"a": {}}, "a was"),
        ({"a": [["x", "y"]]}, {"a": ["x"]}, "a was"),
    ],
)
def test_the_argument_that_differs_is_named(expected: dict[str, Any], given: dict[str, Any], found: str) -> None:
    assert found in checked("args", {"now": expected}, called(given)).detail


def test_each_expected_call_needs_one_that_was_made_and_succeeded() -> None:
    both = {"now": [{"timezone": "Europe/Berlin"}, {"timezone": "America/New_York"}]}
    berlin, york = {"timezone": "Europe/Berlin"}, {"timezone": "America/New_York"}
    assert passes("args", both, called(york, {"timezone": "UTC"}, berlin))
    assert "expected now(timezone='America/New_York'); timezone was 'Europe/Berlin'" in (
        checked("args", both, called(berlin)).detail
    )
    assert "it was never called with success" in checked("args", both, called(berlin, york, ok=False)).detail
    assert "it was never called with success" in checked("args", both, called(berlin, tool="clock")).detail


def test_the_call_that_is_closest_is_told_about() -> None:
    seen = called({"a": 5, "b": 5}, {"a": 1, "b": 5})
    assert checked("args", {"now": {"a": 1, "b": 2}}, seen).detail == "expected now(a=1, b=2); b was '5'"

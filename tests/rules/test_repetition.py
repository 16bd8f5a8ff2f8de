"""Repetition: the same call with the same observation is warned about at the third and stopped at the fifth time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from micro_agent.rules.repetition import check
from micro_agent.rules.verdict import AfterStep, BeforePlan, Stop, Verdict, Warn
from micro_agent.run import NO_ACTION, Run, Step

SEARCH = Step(tool="search", args={"q": "owls", "n": 3}, observation={"hits": [1, {"a": "b"}]})
READ = Step(tool="read", args={"path": "a.txt"}, observation="text")
WRITE = Step(tool="write", args={"path": "a.txt"}, observation={"ok": True})


def verdicts(steps: list[Step]) -> list[Verdict | None]:
    """What the rule says after each of the steps, the run growing as it does in the loop."""
    run = Run(question="?")
    said: list[Verdict | None] = []
    for step in steps:
        run.steps.append(step)
        said.append(check(run, AfterStep(step)))
    return said


def copies(step: Step, count: int, **changes: Any) -> list[Step]:
    return [Step.model_validate({**step.model_dump(), **changes}) for _ in range(count)]


def test_warns_at_the_third_and_stops_at_the_fifth() -> None:
    first, second, third, fourth, fifth = verdicts(copies(SEARCH, 5))
    assert first is None
    assert second is None
    assert isinstance(third, Warn)
    assert isinstance(fourth, Warn)
    assert isinstance(fifth, Stop)
    assert fifth.reason == "repetition"


def test_the_warning_names_the_tool_and_says_what_to_do() -> None:
    third = verdicts(copies(SEARCH, 3))[-1]
    assert isinstance(third, Warn)
    assert "search" in third.text
    assert "will not change" in third.text
    assert "answer" in third.text


def test_a_call_that_goes_on_after_the_warning_is_told_the_result_that_it_has() -> None:
    fourth = verdicts(copies(SEARCH, 4))[-1]
    assert isinstance(fourth, Warn)
    assert fourth.text == (
        'The result of search {"q": "owls", "n": 3} is {"hits": [1, {"a": "b"}]}. Do not call it again. '
        "Answer now with it."
    )
    long = verdicts(copies(READ, 4, observation="owl " * 500))[-1]
    assert isinstance(long, Warn)
    assert len(long.text) < 420
    broken = verdicts(copies(READ, 4, ok=False, error="X"))[-1]
    assert isinstance(broken, Warn)
    assert 'read {"path": "a.txt"} fails each time: text. ' in broken.text


@pytest.mark.parametrize("turns", [(SEARCH, READ), (SEARCH, READ, WRITE)])
def test_calls_that_take_turns_are_warned_about_after_two_rounds_and_stopped_after_three(turns: tuple[Step]) -> None:
    said = verdicts(list(turns) * 3)
    second, third = 2 * len(turns), 3 * len(turns)
    assert said[: second - 1] == [None] * (second - 1)
    warning = said[second - 1]
    assert isinstance(warning, Warn)
    assert warning.text.startswith(f"You make the same calls in turns, {', '.join(step.tool for step in turns)}, and")
    assert isinstance(said[third - 1], Stop)
    assert not any(isinstance(verdict, Stop) for verdict in said[: third - 1])


def test_calls_that_take_turns_with_another_result_each_time_are_none() -> None:
    steps = [step for n in range(4) for step in (*copies(SEARCH, 1, observation=n), *copies(READ, 1, observation=-n))]
    assert verdicts(steps) == [None] * 8


def test_words_of_the_loop_between_the_turns_do_not_hide_them() -> None:
    note = Step(tool=NO_ACTION, observation="say something")
    assert isinstance(verdicts([SEARCH, READ, note, SEARCH, READ, note, SEARCH, READ])[-1], Stop)


def test_nothing_is_stopped_in_the_reply_that_earned_the_warning() -> None:
    at_once = verdicts(copies(SEARCH, 7, call=0))
    assert not any(isinstance(verdict, Stop) for verdict in at_once)
    assert isinstance(verdicts([*copies(SEARCH, 5, call=0), *copies(SEARCH, 1, call=1)])[-1], Stop)
    in_turns = [Step.model_validate({**step.model_dump(), "call": 0}) for step in (SEARCH, READ) * 3]
    assert not any(isinstance(verdict, Stop) for verdict in verdicts(in_turns))


@pytest.mark.parametrize(
    "changes",
    [
        {"args": {"q": "owls", "n": 4}},
        {"args": {"q": "owls"}},
        {"observation": {"hits": [1, {"a": "c"}]}},
        {"observation": {"hits": [1]}},
        {"observation": None},
        {"tool": "find"},
    ],
)
def test_another_call_or_another_observation_is_no_repetition(changes: dict[str, Any]) -> None:
    said = verdicts([*copies(SEARCH, 2), *copies(SEARCH, 1, **changes)])
    assert said == [None, None, None]


def test_the_order_of_keys_does_not_matter() -> None:
    turned = copies(SEARCH, 1, args={"n": 3, "q": "owls"})
    assert isinstance(verdicts([*copies(SEARCH, 2), *turned])[-1], Warn)


@pytest.mark.parametrize("other", [True, 1.0, "1", [1], {"n": 1}])
def test_json_types_are_told_apart(other: object) -> None:
    steps = copies(SEARCH, 2, args={"n": 1}) + copies(SEARCH, 1, args={"n": other})
    assert verdicts(steps) == [None, None, None]


def test_words_of_the_loop_do_not_count() -> None:
    assert verdicts(copies(Step(tool=NO_ACTION, observation="say something"), 6)) == [None] * 6


def test_other_events_are_left_alone() -> None:
    run = Run(question="?", steps=copies(SEARCH, 5))
    assert check(run, BeforePlan()) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(args=st.dictionaries(st.text(), JSON), observation=JSON)
def test_any_json_repeats_itself(args: dict[str, Any], observation: object) -> None:
    step = Step(tool="t", args=args, observation=observation)
    steps = [Step.model_validate_json(step.model_dump_json()) for _ in range(5)]
    assert isinstance(verdicts(steps)[-1], Stop)

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
    assert fourth is None
    assert isinstance(third, Warn)
    assert isinstance(fifth, Stop)
    assert fifth.reason == "repetition"


def test_the_warning_names_the_tool_and_says_what_to_do() -> None:
    third = verdicts(copies(SEARCH, 3))[-1]
    assert isinstance(third, Warn)
    assert "search" in third.text
    assert "will not change" in third.text
    assert "answer" in third.text


def test_two_calls_taking_turns_are_seen() -> None:
    said = verdicts([step for _ in range(5) for step in (SEARCH, READ)])
    assert [type(verdict) for verdict in said[4:6]] == [Warn, Warn]
    assert isinstance(said[8], Stop)


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

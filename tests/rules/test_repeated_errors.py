"""The same error from one tool: its hint at the third, something else at the next, the end at the sixth."""

from typing import Any

import pytest

from micro_agent.rules.repeated_errors import check
from micro_agent.rules.verdict import AfterStep, BeforePlan, Hint, Stop, Verdict, Warn
from micro_agent.run import Run, Step

TOOLS = frozenset({"read", "search", "now"})
SUGGESTED = {"tool_call": {"name": "search", "arguments": {"q": "a.txt"}}, "rationale": "It may have been moved."}


def failed(message: str = "no such file 'a.txt'", code: str = "NOT_FOUND", **fields: Any) -> Step:
    observation = {"error": code, "message": message, **fields.pop("observed", {})}
    return Step(tool="read", observation=observation, ok=False, error=code, **fields)


def said(steps: list[Step], tools: frozenset[str] = TOOLS) -> list[Verdict | None]:
    """What the rule says after each of the steps, the run growing as it does in the loop."""
    run = Run(question="?")
    verdicts: list[Verdict | None] = []
    for step in steps:
        run.steps.append(step)
        verdicts.append(check(run, AfterStep(step, tools)))
    return verdicts


def kinds(verdicts: list[Verdict | None]) -> list[type | None]:
    return [verdict and type(verdict) for verdict in verdicts]


def test_a_hint_then_something_else_then_the_end() -> None:
    verdicts = said([failed(f"no such file '{name}.txt'", args={"path": f"{name}.txt"}) for name in "abcdef"])
    assert kinds(verdicts) == [None, None, Hint, Warn, Warn, Stop]
    _, _, hint, warning, _, stop = verdicts
    assert isinstance(hint, Hint)
    assert hint.text == (
        "read failed 3 times with the same error. Read it and change what it names: no such file 'c.txt'"
    )
    assert isinstance(warning, Warn)
    assert warning.text == (
        "read failed 4 times. Do something else: call another tool (now, search), or answer with what you have."
    )
    assert isinstance(stop, Stop)
    assert (stop.reason, "no such file 'f.txt'" in stop.text) == ("repetition", True)


def test_the_hint_is_what_the_tool_suggests() -> None:
    hint = said([failed(observed={"recovery_suggestion": SUGGESTED})] * 3)[-1]
    assert isinstance(hint, Hint)
    assert hint.text.endswith('Try this instead: search {"q": "a.txt"} It may have been moved.')


@pytest.mark.parametrize(
    "suggested", [{"rationale": "Ask for less."}, {"tool_call": "search", "rationale": "Ask for less."}]
)
def test_a_reason_alone_is_given_with_the_message(suggested: object) -> None:
    hint = said([failed("too much", observed={"recovery_suggestion": suggested})] * 3)[-1]
    assert isinstance(hint, Hint)
    assert hint.text.endswith("change what it names: too much Ask for less.")


@pytest.mark.parametrize(
    "between",
    [
        Step(tool="read", observation="text"),
        failed(code="TOO_LARGE"),
        failed("the file is empty"),
    ],
)
def test_a_call_that_works_and_another_error_start_the_count_again(between: Step) -> None:
    assert said([failed(), failed(), between, failed(), failed()]) == [None] * 5


def test_what_other_tools_do_does_not_start_it_again() -> None:
    other = Step(tool="search", observation=[])
    assert kinds(said([failed(), other, failed(), other, failed()]))[-1] is Hint


def test_values_of_arguments_and_numbers_make_no_other_error() -> None:
    steps = [failed(f"{path} is {n} lines long, over 100", args={"path": path, "n": 1}) for n, path in enumerate("abc")]
    assert kinds(said(steps))[-1] is Hint


def test_an_error_that_is_no_object_counts_too() -> None:
    verdicts = said([Step(tool="read", observation=["broken"], ok=False, error="X")] * 4, frozenset({"read"}))
    assert kinds(verdicts) == [None, None, Hint, Warn]
    assert isinstance(verdicts[3], Warn)
    assert verdicts[3].text == "read failed 4 times. Do something else: answer now."


def test_a_reply_that_asked_for_all_of_it_at_once_is_not_stopped() -> None:
    assert kinds(said([failed(call=0) for _ in range(8)]))[2:] == [Hint, *[Warn] * 5]
    assert kinds(said([failed(call=call) for call in (0, 0, 0, 0, 0, 1)]))[-1] is Stop


def test_other_events_are_left_alone() -> None:
    assert check(Run(question="?", steps=[failed()] * 6), BeforePlan()) is None

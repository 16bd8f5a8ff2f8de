"""Limits: steps, tokens, cost and time end a run; an unknown figure is not taken for zero."""

from dataclasses import asdict
from typing import Any

import pytest

from micro_agent.errors import ConfigurationError
from micro_agent.rules.limits import Limits, limits_of
from micro_agent.rules.verdict import AfterStep, BeforePlan, Stop
from micro_agent.run import (
    CONFIRMATION_REQUIRED,
    CONTEXT_TRIMMED,
    MALFORMED_DECISION,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    SELF_CORRECTION,
    VALIDATION_ERROR,
    WARNING,
    LMCall,
    Run,
    Step,
    Usage,
)


def run_of(*, steps: list[Step] | None = None, calls: list[dict[str, Any]] | None = None) -> Run:
    return Run(question="?", steps=steps or [], calls=[LMCall(reply={}, **call) for call in calls or []])


def stop(limits: Limits, run: Run) -> Stop | None:
    return limits.check(run, BeforePlan())


def test_six_steps_are_the_default() -> None:
    tool = Step(tool="calculator")
    assert stop(Limits(), run_of(steps=[tool] * 5)) is None
    stopped = stop(Limits(), run_of(steps=[tool] * 6))
    assert stopped is not None
    assert stopped.reason == "max_steps"
    assert "6" in stopped.text


@pytest.mark.parametrize("marker", [POLICY_VIOLATION, VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION])
def test_decisions_that_came_to_nothing_count(marker: str) -> None:
    assert stop(Limits(max_steps=1), run_of(steps=[Step(tool=marker)])) is not None


@pytest.mark.parametrize("marker", [WARNING, CONFIRMATION_REQUIRED, CONTEXT_TRIMMED, REPETITION, SELF_CORRECTION])
def test_other_words_of_the_loop_do_not_count(marker: str) -> None:
    assert stop(Limits(max_steps=1), run_of(steps=[Step(tool=marker)] * 3)) is None


def test_tokens_are_input_and_output_of_all_calls() -> None:
    calls = [{"input_tokens": 40, "output_tokens": 10}, {"input_tokens": 45, "output_tokens": 5}]
    assert stop(Limits(max_tokens=101), run_of(calls=calls)) is None
    stopped = stop(Limits(max_tokens=100), run_of(calls=calls))
    assert stopped is not None
    assert stopped.reason == "max_tokens"
    assert "100 tokens" in stopped.text


@pytest.mark.parametrize("missing", ["input_tokens", "output_tokens"])
def test_unknown_tokens_cannot_be_held_to_a_limit(missing: str) -> None:
    known: dict[str, Any] = {"input_tokens": 4, "output_tokens": 1}
    run = run_of(calls=[known, {**known, missing: None}])
    stopped = stop(Limits(max_tokens=100), run)
    assert stopped is not None
    assert stopped.reason == "max_tokens"
    assert "unknown" in stopped.text
    assert stop(Limits(), run) is None


def test_cost_ends_the_run_when_it_is_reached() -> None:
    calls = [{"cost_usd": 0.25}, {"cost_usd": 0.25}]
    assert stop(Limits(max_cost=0.51), run_of(calls=calls)) is None
    stopped = stop(Limits(max_cost=0.5), run_of(calls=calls))
    assert stopped is not None
    assert stopped.reason == "max_cost"
    assert "0.5 USD" in stopped.text


def test_an_unknown_cost_stops_and_says_how_to_set_prices() -> None:
    run = run_of(calls=[{"cost_usd": 0.1}, {"cost_usd": None}])
    stopped = stop(Limits(max_cost=5), run)
    assert stopped is not None
    assert stopped.reason == "max_cost"
    assert "unknown" in stopped.text
    assert "OPENAI_INPUT_PRICE_PER_1K" in stopped.text
    assert "OPENAI_OUTPUT_PRICE_PER_1K" in stopped.text
    assert stop(Limits(), run) is None


def test_a_free_model_is_within_any_cost() -> None:
    assert stop(Limits(max_cost=0.01), run_of(calls=[{"cost_usd": 0.0}])) is None


def test_time_is_that_of_the_model_and_of_tools() -> None:
    run = run_of(
        steps=[Step(tool="a", latency_s=1.5), Step(tool="b", latency_s=None)],
        calls=[{"latency_s": 2.0}, {"latency_s": 0.5}],
    )
    assert stop(Limits(max_time=4.5), run) is None
    stopped = stop(Limits(max_time=4), run)
    assert stopped is not None
    assert stopped.reason == "max_time"
    assert "4.0 s" in stopped.text


def test_size_is_that_of_replies_and_results_and_has_a_bound_of_its_own() -> None:
    run = run_of()
    run.usage.recorded_bytes = 32 * 1024 * 1024 - 1
    assert stop(Limits(), run) is None
    run.usage.recorded_bytes += 1
    stopped = stop(Limits(), run)
    assert stopped is not None
    assert (stopped.reason, "33554432 bytes" in stopped.text) == ("max_bytes", True)
    assert stop(Limits(max_bytes=None), run) is None


def test_a_size_that_was_not_recorded_cannot_be_held_to_a_limit() -> None:
    run = run_of()
    run.usage = Usage()
    stopped = stop(Limits(max_bytes=100), run)
    assert stopped is not None
    assert (stopped.reason, "unknown" in stopped.text) == ("max_bytes", True)


def test_a_limit_that_came_later_did_not_hold_in_an_older_run() -> None:
    old = Run(question="?", limits={"max_steps": 3, "max_tokens": None})
    assert limits_of(old) == Limits(max_steps=3, max_bytes=None)
    assert limits_of(Run(question="?", limits=asdict(Limits()))) == Limits()


def test_nothing_is_stopped_before_the_first_call() -> None:
    assert stop(Limits(1, 1, 0.01, 0.01), run_of()) is None


def test_only_the_next_decision_is_stopped() -> None:
    step = Step(tool="a")
    assert Limits(max_steps=1).check(run_of(steps=[step]), AfterStep(step)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_steps": 0},
        {"max_steps": -1},
        {"max_steps": 2.0},
        {"max_steps": True},
        {"max_steps": None},
        {"max_tokens": 0},
        {"max_tokens": 10.5},
        {"max_cost": 0},
        {"max_cost": float("nan")},
        {"max_time": float("inf")},
        {"max_time": -0.5},
        {"max_time": "10"},
        {"max_bytes": 0},
        {"max_bytes": 1.5},
    ],
)
def test_a_wrong_limit_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ConfigurationError, match=f"^{name} must be a positive"):
        Limits(**wrong)

"""The rules of an agent that names none, and that events and verdicts are values."""

import dataclasses

import pytest

from micro_agent.rules import BeforeFinish, BeforeTool, Event, Verdict, Violation, Warn, default_rules, repetition
from micro_agent.run import Run


def test_the_default_rules() -> None:
    rules = default_rules()
    names = [rule.__module__.rpartition(".")[2] for rule in rules]
    assert names == ["required_tools", "no_answer", "retold", "twice", "repeated_errors", "repetition"]
    assert rules[5] is repetition.check


def test_a_rule_is_a_function_of_run_and_event() -> None:
    def rule(run: Run, event: Event) -> Verdict | None:
        return Violation(f"not {event.tool}") if isinstance(event, BeforeTool) else None

    run = Run(question="?")
    assert rule(run, BeforeTool("rm", {})) == Violation("not rm")
    assert rule(run, BeforeFinish("x", frozenset())) is None


def test_a_verdict_cannot_be_changed_after_the_fact() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Warn("a").text = "b"  # pyright: ignore[reportAttributeAccessIssue]

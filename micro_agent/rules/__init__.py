"""Rules: what a prompt can only ask for, checked in Python. One predicate a file; limits are one that always holds."""

from micro_agent.rules.verdict import (
    AfterStep,
    Amend,
    BeforeFinish,
    BeforePlan,
    BeforeTool,
    Event,
    Hint,
    Rule,
    Stop,
    Verdict,
    Violation,
    Warn,
)

__all__ = [
    "AfterStep",
    "Amend",
    "BeforeFinish",
    "BeforePlan",
    "BeforeTool",
    "Event",
    "Hint",
    "Rule",
    "Stop",
    "Verdict",
    "Violation",
    "Warn",
    "default_rules",
]


def default_rules() -> list[Rule]:
    """The rules of an agent that names none: tools used, answers given, calls retold, errors and calls repeated."""
    from micro_agent.rules import no_answer, repeated_errors, repetition, required_tools, retold

    return [required_tools.check, no_answer.check, retold.check, repeated_errors.check, repetition.check]

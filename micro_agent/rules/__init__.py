"""Rules: what a prompt can only ask for, checked in Python. One predicate a file; limits are one that always holds."""

import os

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
    """The rules of an agent that names none: tools used, answers given, no call told again or repeated, nor an error.

    Raises:
        ConfigurationError: ``REQUIRED_TOOLS_WORDS`` names a file that cannot be used.
    """
    from micro_agent.rules import no_answer, repeated_errors, repetition, required_tools, retold, twice

    path = os.environ.get("REQUIRED_TOOLS_WORDS")
    required = required_tools.with_words(path) if path else required_tools.check
    return [required, no_answer.check, retold.check, twice.check, repeated_errors.check, repetition.check]

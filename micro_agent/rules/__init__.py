"""Rules: what a prompt can only ask for, checked in Python. One predicate a file; the limits are one that always holds."""

from micro_agent.rules.verdict import (
    AfterStep,
    Amend,
    BeforeFinish,
    BeforePlan,
    BeforeTool,
    Event,
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
    "Rule",
    "Stop",
    "Verdict",
    "Violation",
    "Warn",
]

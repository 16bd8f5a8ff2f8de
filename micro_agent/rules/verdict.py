"""Rules: what a prompt can only ask for, checked in Python.

A rule is a function of the run so far and of what is about to happen. It is pure: the same run and event give the same
verdict, so that a recorded run can be replayed through it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from micro_agent.run import Run, Step


@dataclass(frozen=True, slots=True)
class BeforePlan:
    """The model is about to be asked for a decision."""


@dataclass(frozen=True, slots=True)
class BeforeTool:
    """A tool is about to run, with valid arguments."""

    tool: str
    args: dict[str, object]


@dataclass(frozen=True, slots=True)
class BeforeFinish:
    """The model gives ``answer`` as its final one; ``tools`` are the names it could have called."""

    answer: str
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class AfterStep:
    """A tool has run; ``step`` is the last of the run's steps."""

    step: Step


Event = BeforePlan | BeforeTool | BeforeFinish | AfterStep


@dataclass(frozen=True, slots=True)
class Warn:
    """The model is told ``text``; the run goes on as if nothing had happened."""

    text: str


@dataclass(frozen=True, slots=True)
class Violation:
    """What was about to happen does not; the model is told ``text`` and decides again."""

    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The run ends here with this termination reason; ``text`` says why to a person."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Amend:
    """The final answer is taken, with ``answer`` in its place (before finishing only)."""

    answer: str


Verdict = Warn | Violation | Stop | Amend
Rule = Callable[[Run, Event], Verdict | None]

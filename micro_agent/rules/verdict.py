"""Rules: what a prompt can only ask for, checked in Python.

A rule is a function of the run so far and of what is about to happen. It is pure: the same run and event give the same
verdict, so that a recorded run can be replayed through it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from micro_agent.run import POLICY_VIOLATION, REPETITION, SELF_CORRECTION, WARNING, Run, Step
from micro_agent.tools.callbacks import described, ends_the_program


@dataclass(frozen=True, slots=True)
class BeforePlan:
    """The model is about to be asked for a decision: a `Warn` or `Hint` reaches it with this very request."""


@dataclass(frozen=True, slots=True)
class BeforeTool:
    """A tool is about to run, with valid arguments; ``read_only`` if it says that it changes nothing."""

    tool: str
    args: dict[str, object]
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class BeforeFinish:
    """The model gives ``answer`` as its final one; ``tools`` are the names it could have called.

    ``outputs`` are those of the agent's signature by name, as JSON; of several, ``answer`` is the JSON of all.
    ``read_only`` are the tools that change nothing.
    """

    answer: str
    tools: frozenset[str]
    outputs: Mapping[str, object] = field(default_factory=dict[str, object])
    read_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AfterStep:
    """A tool has run; ``step`` is the last of the run's steps; ``read_only`` are the tools that change nothing."""

    step: Step
    read_only: frozenset[str] = frozenset()


Event = BeforePlan | BeforeTool | BeforeFinish | AfterStep


@dataclass(frozen=True, slots=True)
class Warn:
    """The model is told ``text``; the run goes on as if nothing had happened."""

    text: str


@dataclass(frozen=True, slots=True)
class Hint:
    """A warning that says how to get out of an error (after a step only); it becomes a ``🔁self_correction`` step."""

    text: str


@dataclass(frozen=True, slots=True)
class Violation:
    """What was about to happen does not; the model is told ``text`` and decides again.

    ``wants`` names the tool that must be called first, if that is what is missing. ``at_once``: the model is told in
    any case, and no other reply is sampled unseen in the place of the refused one.
    """

    text: str
    wants: str | None = None
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """The run ends here with this termination reason; ``text`` says why to a person."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Amend:
    """The final answer is taken, with ``answer`` in its place (before finishing only)."""

    answer: str


Verdict = Warn | Hint | Violation | Stop | Amend
Rule = Callable[[Run, Event], Verdict | None]
_WEIGHT = (Stop, Violation, Hint, Warn, Amend)


def asked_of(rule: Rule, run: Run, event: Event) -> Verdict | None:
    """The verdict of a rule. One that fails has forbidden nothing and allowed nothing, so that the run stops there."""
    try:
        verdict = cast("object", rule(run, event))
    except BaseException as error:
        if ends_the_program(error):
            raise
        why = described(error)
    else:
        if verdict is None or isinstance(verdict, Warn | Hint | Violation | Stop | Amend):
            return verdict
        why = f"it returned {type(verdict).__name__}, not a verdict"
    return Stop("rule_failed", f"the rule {getattr(rule, '__qualname__', rule)!s} failed: {why}")


def verdicts_of(rules: Sequence[Rule], run: Run, event: Event) -> list[Verdict]:
    """What the rules say, each asked once: what stops first, then what forbids, warns, amends."""
    verdicts = [verdict for rule in rules if (verdict := asked_of(rule, run, event)) is not None]
    return sorted(verdicts, key=lambda verdict: _WEIGHT.index(type(verdict)))


def marker_of(verdict: Stop | Hint | Warn | Violation) -> str:
    """The marker of the step that says what a rule found after a tool had run."""
    if isinstance(verdict, Stop):
        return REPETITION if verdict.reason == "repetition" else POLICY_VIOLATION
    return SELF_CORRECTION if isinstance(verdict, Hint) else WARNING

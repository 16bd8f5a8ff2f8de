"""The metric of training: stricter than the eval's, because a demo is imitated with its detours."""

from dataclasses import dataclass

from micro_agent.evaluation.result import Rubric
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.task import Task
from micro_agent.run import (
    CONFIRMATION_REQUIRED,
    EDITED,
    MALFORMED_DECISION,
    NO_ACTION,
    POLICY_VIOLATION,
    REPETITION,
    VALIDATION_ERROR,
    Run,
)

VIOLATIONS = frozenset({
    POLICY_VIOLATION, VALIDATION_ERROR, MALFORMED_DECISION, NO_ACTION, CONFIRMATION_REQUIRED, REPETITION,
    EDITED,
})  # fmt: skip
"""Markers of steps that no run has that went well from the start."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a run may become a demo, and what was wrong with it, for a model that rewrites instructions."""

    passed: bool
    feedback: str


def judge(task: Task, run: Run) -> Judgement:
    """Judge a run by the eval's own checks under the default rubric, its status, and what the loop had to refuse.

    Every check of the task must pass, the run must have completed, and no step of it may be one of `VIOLATIONS`.
    """
    scored = score(task, run, Rubric())
    faults = [f"{check.name}: {check.detail}".rstrip(": ") for check in scored.checks if not check.passed]
    if run.status != "completed":
        faults.append(f"the run ended as {run.status} ({run.termination_reason})")
    faults += [f"{step.tool}: {step.observation}" for step in run.steps if step.tool in VIOLATIONS]
    passed = scored.success and not faults
    answer = f"The answer was: {run.model_answer}" if run.model_answer is not None else "There was no answer."
    return Judgement(passed, "All is right." if passed else "\n".join(["Not right.", *faults, answer]))

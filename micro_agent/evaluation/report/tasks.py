"""The tasks of an eval as the page shows them: an entry each, with its trials, and no more text than a page bears."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from micro_agent.evaluation.report.replies import Replies, replies_of
from micro_agent.evaluation.report.texts import Text, cut, maybe
from micro_agent.evaluation.report.wording import UNKNOWN, count, dollars, plural, seconds
from micro_agent.evaluation.result import Check, Result
from micro_agent.evaluation.scorers.args import called_with
from micro_agent.evaluation.task import Task
from micro_agent.evaluation.trial_traces import calls_of
from micro_agent.run import Step, Usage

_SOON = 400
"""The characters shown of one text when there are many trials."""
_LATE = 2_000
_MANY = 1_000
"""Trials from which on texts are cut sooner, so that the page still opens."""
_STEPS = 60


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: a tool call with what came of it, or a word of the loop (``marker``)."""

    tool: str
    marker: bool
    args: Text | None
    observation: Text | None
    fault: str | None
    """The error code of a step that failed."""
    took: str | None
    read_as: Text | None


@dataclass(frozen=True, slots=True)
class Trial:
    """One time that a task was asked. ``outcome`` is one of ``ok failed error``."""

    epoch: int
    outcome: str
    ending: str
    """Status, termination reason, score."""
    answer: Text | None
    amended: Text | None
    """The answer as it was given, when a rule added something to the model's."""
    fault: Text | None
    checks: list[tuple[Check, Text]]
    steps: list[StepView]
    steps_left: int
    replies: Replies | None
    """``None`` when the trace is not there."""
    facts: list[str]
    answered_by: str | None
    """Provider and model as the server said; ``None`` when none replied."""
    run_id: str
    trace: str | None
    latency_s: float | None
    cost_usd: float | None


@dataclass(slots=True)
class TaskView:
    """A task with its trials by epoch."""

    number: int
    task: Task
    question: Text
    expected: list[tuple[str, str]]
    by_epoch: dict[int, Trial] = field(default_factory=dict[int, Trial])
    flipped: str | None = None
    """``gained`` or ``lost`` against the baseline."""

    @property
    def trials(self) -> list[Trial]:
        """The trials in the order of their epochs."""
        return [self.by_epoch[epoch] for epoch in sorted(self.by_epoch)]

    @property
    def solved(self) -> int:
        """How many trials succeeded."""
        return sum(trial.outcome == "ok" for trial in self.trials)

    @property
    def outcome(self) -> str:
        """``ok`` when every trial succeeded, ``mixed`` when some did, ``failed`` when none did."""
        return "failed" if not self.solved else "ok" if self.solved == len(self.by_epoch) else "mixed"

    @property
    def errors(self) -> int:
        """How many runs failed, as opposed to giving a wrong answer."""
        return sum(trial.outcome == "error" for trial in self.trials)

    @property
    def open_epoch(self) -> int:
        """The epoch that a reader wants to see first: the first that did not succeed."""
        return next((trial.epoch for trial in self.trials if trial.outcome != "ok"), min(self.by_epoch))


def task_views(results: Iterable[Result], *, order: list[str], trials: int, traces: Path | None) -> list[TaskView]:
    """The tasks that have a result, in the order of ``order``; of two results of a trial the later one counts.

    Results are read one by one and only what the page shows of them is kept. ``trials`` is about how many there are,
    ``traces`` a folder of their runs.
    """
    longest = _LATE if trials <= _MANY else _SOON
    views: dict[str, TaskView] = {}
    for result in results:
        task = result.task
        if (view := views.get(task.id)) is None:
            view = views[task.id] = TaskView(0, task, cut(task.question, longest), _expected(task))
        view.by_epoch[result.epoch] = _trial(result, longest, traces)
    place = {task: number for number, task in enumerate(order)}
    ordered = sorted(views.values(), key=lambda view: place.get(view.task.id, len(place)))
    for number, view in enumerate(ordered, 1):
        view.number = number
    return ordered


def model_name(provider: str | None, model: str) -> str:
    """``ollama small:1b``, whether the model was named with its provider (``ollama/small:1b``) or without."""
    return f"{provider} {model.removeprefix(f'{provider}/')}" if provider else model


def _trial(result: Result, longest: int, traces: Path | None) -> Trial:
    run, calls = result.run, calls_of(result, traces)
    outcome = "ok" if result.success else "error" if run.status == "failed" else "failed"
    message = run.error and run.error.get("message")
    amended = run.answer if run.answer != run.model_answer else None
    return Trial(
        epoch=result.epoch,
        outcome=outcome,
        ending=f"{run.status} ({run.termination_reason or 'under way'}), score {result.score:.2f}",
        answer=maybe(run.model_answer, longest),
        amended=maybe(amended, longest),
        fault=maybe(message, longest),
        checks=[(check, cut(check.detail, longest)) for check in result.checks],
        steps=[_step(step, longest) for step in run.steps[:_STEPS]],
        steps_left=max(0, len(run.steps) - _STEPS),
        replies=None if calls is None else replies_of(calls, longest),
        facts=_facts(result),
        answered_by=model_name(run.provider, " + ".join(result.models)) if result.models else None,
        run_id=run.id,
        trace=result.trace,
        latency_s=run.usage.latency_s,
        cost_usd=run.usage.cost_usd,
    )


def _step(step: Step, longest: int) -> StepView:
    return StepView(
        tool=step.tool,
        marker=not step.is_tool,
        args=maybe(step.args or None, longest),
        observation=maybe(step.observation, longest),
        fault=None if step.ok else step.error or "failed",
        took=None if step.latency_s is None else seconds(step.latency_s),
        read_as=maybe(step.coercions or None, longest),
    )


def _facts(result: Result) -> list[str]:
    usage = result.run.usage
    clock = [] if result.wall_s is None else [f"{seconds(result.wall_s)} on the clock"]
    seed = [] if result.seed is None else [f"seed {result.seed}"]
    models = [f"answered by {', '.join(result.models)}"] if result.models else []
    return [
        ", ".join([f"{seconds(usage.latency_s)} in the run", *clock]),
        plural(usage.lm_calls, "model call"),
        plural(usage.tool_calls, "tool call"),
        f"tokens {_tokens(result.run.usage)}",
        f"cost {dollars(usage.cost_usd)}",
        *seed,
        *models,
    ]


def _tokens(usage: Usage) -> str:
    counts = count(usage.input_tokens), count(usage.output_tokens)
    return UNKNOWN if counts == (UNKNOWN, UNKNOWN) else f"{counts[0]} in, {counts[1]} out"


def _expected(task: Task) -> list[tuple[str, str]]:
    """What a right answer shows, as name and text."""
    number, said = task.expect_number, list[tuple[str, str]]()
    if task.expect_contains is not None:
        said.append(("contains", _listed(task.expect_contains)))
    if number is not None:
        off = "" if number.tolerance is None else f" ± {number.tolerance:.15g}"
        said.append(("number", f"{number.value:.15g}{off}"))
    if task.expect_regex is not None:
        said.append(("regex", task.expect_regex))
    if task.expect_key is not None:
        said.append(("key", _listed(task.expect_key)))
    if task.expect_tools is not None:
        said.append(("tools", _listed(task.expect_tools) or "none is called"))
    if task.expect_args is not None:
        said.append(("args", called_with(task.expect_args)))
    if task.expect_observed is not None:
        said.append(("observed", _listed(task.expect_observed)))
    return said


def _listed(texts: list[str]) -> str:
    return ", ".join(texts)

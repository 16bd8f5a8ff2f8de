"""Recorded runs as training examples: what the user's own runs show about a question is what is expected of it."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path

from micro_agent.demos import Demo
from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.scorers import observed
from micro_agent.evaluation.task import Task
from micro_agent.optimize.decisions import decisions
from micro_agent.optimize.judge import judge
from micro_agent.optimize.showable import showable
from micro_agent.optimize.split import same_question
from micro_agent.run import Run
from micro_agent.traces import read_records

_HAVE_VALUES = frozenset({"calculator", "now"})
"""Tools whose last value must stand in an answer, as the rule on required tools has it."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Runs to learn from, each with the task made of it, and why others were left out."""

    examples: list[tuple[Task, Run]]
    skipped: Counter[str] = field(default_factory=Counter[str])
    """By reason, for people."""

    def told(self) -> str:
        """One line: how many are used, how many are not and why."""
        left = ", ".join(f"{count} {reason}" for reason, count in sorted(self.skipped.items()))
        return f"{len(self.examples)} recorded runs to learn from" + (f" (left out: {left})" if left else "")


def task_of(run: Run) -> Task:
    """What a run shows, as expectations: the tools it used, and their values in its answer.

    Calculator and clock must have theirs there; of other tools it is expected where it is there.
    """
    used = sorted({step.tool for step in run.steps if step.is_tool and step.ok})
    shown = Task(id=f"trace-{run.id}", question=run.question, expect_tools=used, tags=["trace"])
    seen = [name for name in used if name in _HAVE_VALUES or _tells_value(shown, run, name)]
    return shown.model_copy(update={"expect_observed": seen or None})


def _tells_value(task: Task, run: Run, tool: str) -> bool:
    found = observed.check(task.model_copy(update={"expect_observed": [tool]}), run)
    return found is not None and found.passed


def recorded(pattern: str, *, tools: Collection[str], held_out: Iterable[Task] = ()) -> Recorded:
    """The successful runs among the traces that match a pattern, the latest record of each file.

    A run counts when it completed, has no violation, its answer holds what its tools returned, and there is a decision
    in it that a demo may show. Left out are also runs with a tool that the agent lacks, questions of held-out tasks,
    and questions that were taken already.

    Args:
        pattern: A path with ``*``, ``?`` and ``**``, such as ``traces/*.jsonl``.
        tools: The names of the agent's tools.
        held_out: Tasks that nothing may be learned about.

    Raises:
        ConfigurationError: No file matches.
    """
    paths = sorted(glob(pattern, recursive=True))
    if not paths:
        raise ConfigurationError(f"no file matches {pattern}: --from-traces wants one such as 'traces/*.jsonl'")
    found = Recorded([])
    asked = {same_question(task.question): "of a question that is held out" for task in held_out}
    for path in paths:
        run = _latest(Path(path))
        fault = "unreadable" if run is None else _fault(run, tools) or asked.get(same_question(run.question))
        if run is None or fault is not None:
            found.skipped[fault or ""] += 1
        else:
            asked[same_question(run.question)] = "of the same question"
            found.examples.append((task_of(run), run))
    return found


def _latest(path: Path) -> Run | None:
    run = None
    for record in read_records(path):
        run = record.run or run
    return run


def _fault(run: Run, tools: Collection[str]) -> str | None:
    if run.follows or run.history:
        return "asked after other turns"
    if not {step.tool for step in run.steps if step.is_tool} <= set(tools):
        return "with tools that are not there"
    try:
        if not judge(task_of(run), run).passed:
            return "unsuccessful"
        made = [Demo.model_validate(decision) for decision in decisions(run)]
        shown = showable(task_of(run), run)
    except (ValueError, LookupError, TypeError, AttributeError):  # a record that no agent of ours wrote
        return "damaged"
    return None if shown else "with nothing to show" if made else "without replies"

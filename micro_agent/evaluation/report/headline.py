"""The head of the page: who answered what, the figures to be seen at once, and what a reader must know first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.evaluation.figures import Distribution, Rate, Summary
from micro_agent.evaluation.report import tables
from micro_agent.evaluation.report.tables import Table
from micro_agent.evaluation.report.tasks import TaskView, model_name
from micro_agent.evaluation.report.wording import (
    UNKNOWN,
    Say,
    count,
    dollars,
    known,
    percent,
    plural,
    rate_interval,
    seconds,
)
from micro_agent.evaluation.result import Header

_NAMED = 50
"""How many tasks a list names before it says how many more there are."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure to be seen at once: its name, its value, and what to know about it."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Who really answered, as the servers said: trials by provider and model, and those where nobody did."""

    by: Mapping[str, int]
    nobody: int

    @property
    def name(self) -> str:
        """In one line, with the number of trials where there are several."""
        if len(self.by) < 2:
            return next(iter(self.by), UNKNOWN)
        return "; ".join(f"{name} ({plural(number, 'trial')})" for name, number in self.by.items())


def answered(views: Sequence[TaskView]) -> Answered:
    """Count who answered. What a run was asked of is not an answer: a server that did not reply has no name."""
    names = Counter(trial.answered_by for view in views for trial in view.trials)
    nobody = names.pop(None, 0)
    return Answered(tables.by_count({name: number for name, number in names.items() if name}), nobody)


def asked_for(header: Header) -> str | None:
    """The provider and model that were asked for; ``None`` when the settings name no model."""
    provider, model = str(header.settings.get("provider") or ""), header.settings.get("model")
    return model_name(provider, str(model)) if model else None


def notices(header: Header, summary: Summary, by: Answered) -> Iterator[str]:
    """What a reader must know before believing the figures."""
    asked = asked_for(header)
    if len(by.by) > 1:
        yield "Several models answered: the figures mix them."
    elif asked and by.by and asked not in by.by:
        yield f"Asked for {asked}; the server said that {by.name} answered."
    if by.nobody:
        yield f"No model answered in {plural(by.nobody, 'trial')}."
    if summary.missing:
        yield f"Not complete: {plural(summary.missing, 'trial')} of {summary.n + summary.missing:,} without a result."


def headline(summary: Summary) -> list[Figure]:
    """The figures beside the success rate."""
    latency, cost = summary.avg_latency_sec, summary.avg_cost_usd
    total = f"{dollars(cost.total)} in all, " if known(cost.total) is not None else ""
    return [
        Figure("Latency, mean", seconds(latency.mean), _spread(latency, seconds)),
        Figure("Cost, mean", dollars(cost.mean), total + _spread(cost, dollars)),
        _rate("Contains hit rate", summary.contains_hit_rate),
        _rate("Key hit rate", summary.key_hit_rate),
        Figure("Model calls, mean", count(summary.avg_lm_calls.mean), _at_most(summary.avg_lm_calls)),
        Figure("Tool calls, mean", count(summary.avg_tool_calls.mean), _at_most(summary.avg_tool_calls)),
        Figure("Steps, mean", count(summary.avg_steps.mean), _at_most(summary.avg_steps)),
        Figure("Trials (n)", count(summary.n), f"{plural(summary.tasks, 'task')}, {plural(summary.epochs, 'epoch')}"),
        Figure("Errors", count(summary.errors), "runs that failed; they count as no success"),
        Figure("Missing", count(summary.missing), "trials without a result; not counted"),
    ]


def not_asked(header: Header, views: Sequence[TaskView]) -> str | None:
    """The tasks of the header that have no result at all."""
    there = {view.task.id for view in views}
    left = [task for task in header.tasks if task not in there]
    more = f" and {len(left) - _NAMED:,} more" if len(left) > _NAMED else ""
    return f"{', '.join(left[:_NAMED])}{more}" if left else None


def settings(header: Header) -> list[Table]:
    """What was asked for, and what counts."""
    drawn: dict[str, Any] = {
        "eval": header.id, "dataset": header.dataset, "sha256 of the dataset": header.dataset_sha256,
        "tasks drawn": header.size, "epochs": header.epochs, "seed": header.seed,
        "passes from a score of": header.rubric.pass_score,
    }  # fmt: skip
    drawn["weights"] = ", ".join(f"{name} {weight:g}" for name, weight in header.rubric.weights.items())
    found = [tables.settings_table(drawn, caption="What was asked and how it counts", head="Name")]
    if header.settings:
        found.append(tables.settings_table(header.settings, caption="Settings of the runs", head="Setting"))
    return found


def _spread(of: Distribution, say: Say) -> str:
    if not of.n:
        return "unknown for every trial"
    spread = f"median {say(of.median)}, p90 {say(of.p90)}"
    return f"{spread}; unknown for {plural(of.unknown, 'trial')}" if of.unknown else spread


def _at_most(of: Distribution) -> str:
    return f"median {count(of.median)}, at most {count(of.max)}"


def _rate(name: str, rate: Rate) -> Figure:
    if not rate.n:
        return Figure(name, "none asked", "no task expects one")
    return Figure(name, percent(rate.value), f"{rate_interval(rate)}, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{rate.n:,}")

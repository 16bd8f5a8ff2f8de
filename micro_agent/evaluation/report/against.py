"""The comparison with a baseline: what may be said of it, and what changed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from micro_agent.evaluation.figures import Comparison, Rate
from micro_agent.evaluation.report import tables
from micro_agent.evaluation.report.charts import compared_chart
from micro_agent.evaluation.report.panels import first_rows, is_known
from micro_agent.evaluation.report.tables import Table
from micro_agent.evaluation.report.wording import interval, known, p_value, percent, plural, points

_FLIPS = 50
"""The rows of a table of tasks that changed sides."""


@dataclass(frozen=True, slots=True)
class Against:
    """The comparison with a baseline."""

    change: str
    verdict: str
    explained: list[str]
    chart: Markup | None
    by_tag: Table | None
    difference: Table
    flips: list[Table]
    settings: Table | None


def against(comparison: Comparison, links: Mapping[str, str]) -> Against:
    """What has changed against the baseline."""
    tags, before = tables.by_value(comparison.b.by_tag), comparison.a.by_tag
    both = {tag: (before[tag], rate) for tag, rate in tags.items() if is_known(before.get(tag)) and is_known(rate)}
    both = dict(sorted(both.items(), key=lambda pair: _change(*pair[1])))  # the largest loss first
    table = tables.compared_table(both, caption="Success by tag, in figures") if both else None
    return Against(
        change=points(comparison.difference),
        verdict=_verdict(comparison),
        explained=list(_explained(comparison)),
        chart=_compared(both) if both else None,
        by_tag=table,
        difference=tables.difference_table(comparison),
        flips=list(_flips(comparison, links)),
        settings=tables.differing_settings_table(comparison.settings) if comparison.settings else None,
    )


def _change(a: Rate, b: Rate) -> float:
    return round((b.value or 0) - (a.value or 0), 9)


def _compared(both: Mapping[str, tuple[Rate, Rate]]) -> Markup:
    change = "; ".join(f"{tag} from {percent(a.value)} to {percent(b.value)}" for tag, (a, b) in both.items())
    described = f"Hollow dots are the baseline, filled dots this eval: {change}."
    return compared_chart(first_rows(both), title="Success by tag, baseline and this eval", description=described)


def _verdict(comparison: Comparison) -> str:
    low, high, chance = known(comparison.low), known(comparison.high), known(comparison.p_value)
    if low is None or high is None or chance is None:
        return "Nothing can be said of the difference."
    if low <= 0 <= high:
        return "These tasks do not show which is better: the interval of the difference contains 0."
    better = "better than" if low > 0 else "worse than"
    if chance >= 0.05:
        return f"Weak evidence that this eval is {better} the baseline: the interval says so, the test does not."
    return f"This eval is {better} the baseline on tasks like these."


def _explained(comparison: Comparison) -> Iterator[str]:
    change = f"{points(comparison.difference)} (95 % interval {interval(comparison.low, comparison.high, points)})"
    yield f"Success {change}, {p_value(comparison.p_value)}, on {plural(comparison.tasks, 'task')} in both."
    yield f"Interval: {comparison.method}. Test: {comparison.test}."
    for tasks, what in (
        (comparison.only_a, "only in the baseline"),
        (comparison.only_b, "only in this eval"),
        (comparison.changed, "with another question or expectation"),
    ):
        if tasks:
            yield f"Left out: {plural(len(tasks), 'task')} {what}."


def _flips(comparison: Comparison, links: Mapping[str, str]) -> Iterator[Table]:
    for flips, name in ((comparison.lost, "Lost"), (comparison.gained, "Gained")):
        if flips:
            more = f", the first {_FLIPS}" if len(flips) > _FLIPS else ""
            caption = f"{name}: {plural(len(flips), 'task')}{more}"
            yield tables.flips_table(flips[:_FLIPS], links, caption=caption)

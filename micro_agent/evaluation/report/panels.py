"""The charts of the page, each with the table that says the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from markupsafe import Markup

from micro_agent.evaluation.figures import Distribution, Rate, Summary
from micro_agent.evaluation.report import tables
from micro_agent.evaluation.report.bins import histogram
from micro_agent.evaluation.report.charts import counts_chart, histogram_chart, rates_chart
from micro_agent.evaluation.report.tables import Table
from micro_agent.evaluation.report.wording import Say, known, percent, plural

_ROWS = 40
"""The rows of a chart that still fit on a page."""

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart with its equivalent table, and a line about it or in its place."""

    title: str
    chart: Markup | None
    remark: str | None
    table: Table | None
    short: str | None = None
    """What stands for it while it is folded."""


def rates_panel(rates: Mapping[str, Rate], overall: Rate, *, title: str, head: str, hits: str) -> Panel:
    """Rates with their intervals, sorted."""
    ordered = tables.by_value(rates)
    table = tables.rates_table(ordered, caption=f"{title}, in figures", head=head, hits=hits)
    drawn = {name: rate for name, rate in ordered.items() if is_known(rate)}
    if not drawn:
        return Panel(title, None, "Nothing to show: no trial has one.", None)
    signs = "Dots are shares, lines their 95 % Wilson intervals, the dashed line is the success of all trials."
    chart = rates_chart(
        first_rows(drawn), title=title, description=f"{_range(drawn)} {signs}", overall=known(overall.value)
    )
    return Panel(title, chart, _left_out(drawn), table, _range(drawn))


def distribution_panel(
    values: Iterable[float | None], of: Distribution, *, title: str, say: Say, axis: str, format: str
) -> Panel:  # fmt: skip
    """A quantity over all trials, as a histogram."""
    there = [value for value in map(known, values) if value is not None]
    if not there:
        return Panel(title, None, "It is unknown for every trial.", None)
    missing = f" It is unknown for {plural(of.unknown, 'trial')}, left out here." if of.unknown else ""
    binned = histogram(there)
    if binned is None:
        return Panel(title, None, f"{say(there[0])} in each of {plural(len(there), 'trial')}.{missing}", None)
    marks = {"p90": known(of.p90), "median": known(of.median)}
    shown = {f"{name} {say(value)}": value for name, value in marks.items() if value is not None}
    described = f"{plural(len(there), 'trial')}, from {say(min(there))} to {say(max(there))}; {', '.join(shown)}."
    chart = histogram_chart(binned, shown, axis=axis, format=format, title=title, description=described)
    table = tables.histogram_table(binned, say, caption=f"{title}, in figures", head=axis)
    return Panel(title, chart, missing.strip() or None, table)


def endings_panel(summary: Summary) -> Panel:
    """The reasons for which the runs ended."""
    ordered, title = tables.by_count(summary.by_reason), "Termination reasons"
    if not ordered:
        return Panel(title, None, "No run has ended.", None)
    described = "Trials by reason: " + "; ".join(f"{name} {number:,}" for name, number in ordered.items())
    chart = counts_chart(first_rows(ordered), title=title, description=described)
    table = tables.counts_table(ordered, caption=f"{title}, in figures", head="Reason")
    return Panel(title, chart, _left_out(ordered), table)


def first_rows(rows: Mapping[str, _Row]) -> dict[str, _Row]:
    """As many rows as a chart has room for."""
    return dict(islice(rows.items(), _ROWS))


def is_known(rate: Rate | None) -> bool:
    """Whether there is a rate, and a case that it counts."""
    return rate is not None and known(rate.value) is not None


def _range(rates: Mapping[str, Rate]) -> str:
    """The ends of a sorted list of rates, for who does not see the chart."""
    names = list(rates)
    best, worst = names[0], names[-1]
    highest, lowest = percent(rates[best].value), percent(rates[worst].value)
    if highest == lowest:
        return f"{best} with {highest}." if len(rates) == 1 else f"{len(rates)} in all, {highest} each."
    return f"{len(rates)} in all, from {best} with {highest} to {worst} with {lowest}."


def _left_out(rows: Mapping[str, Any]) -> str | None:
    return f"The chart has the first {_ROWS} of {len(rows):,}; the table has all." if len(rows) > _ROWS else None

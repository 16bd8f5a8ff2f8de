"""The tables of the page, as text: what a chart shows stands in one of them too."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from micro_agent.evaluation.figures import Comparison, Distribution, Flip, Paired, Rate, Summary
from micro_agent.evaluation.report.bins import Histogram
from micro_agent.evaluation.report.wording import (
    Say,
    count,
    dollars,
    interval,
    percent,
    points,
    rate_interval,
    seconds,
    signed,
)


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, the heads of the columns, and rows whose first cell is their head.

    ``wide`` tables can be scrolled sideways with the keyboard. Columns from ``words`` on hold text rather than figures.
    """

    caption: str
    columns: list[str]
    rows: list[list[str]]
    wide: bool = False
    words: int = 99
    links: Mapping[str, str] | None = None
    """Where the heads of rows lead: anchors in the page."""


def by_value(rates: Mapping[str, Rate]) -> dict[str, Rate]:
    """The highest rate first, unknown ones last, equal ones by name."""
    return dict(sorted(rates.items(), key=lambda item: (item[1].value is None, -(item[1].value or 0), item[0])))


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """The largest count first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def rates_table(rates: Mapping[str, Rate], *, caption: str, head: str, hits: str) -> Table:
    """A row a rate: its name, the share, the interval, the counts."""
    rows = [[name, percent(r.value), rate_interval(r), f"{count(r.hits)} of {count(r.n)}"] for name, r in rates.items()]
    return Table(caption, [head, "Share", "95 % interval", hits], rows)


def compared_table(rates: Mapping[str, tuple[Rate, Rate]], *, caption: str) -> Table:
    """A row a tag: its share in the baseline and in this eval."""
    rows = [
        [tag, percent(a.value), percent(b.value), points(b.value - a.value)]
        for tag, (a, b) in rates.items()
        if a.value is not None and b.value is not None
    ]
    return Table(caption, ["Tag", "Baseline", "This eval", "Difference"], rows)


def counts_table(counts: Mapping[str, int], *, caption: str, head: str) -> Table:
    """A row a count, with its share of all."""
    total = sum(counts.values())
    return Table(caption, [head, "Trials", "Share"], [[k, count(n), percent(n / total)] for k, n in counts.items()])


def histogram_table(binned: Histogram, say: Say, *, caption: str, head: str) -> Table:
    """The bars of a histogram in figures; empty bins are left out."""
    bins = zip(pairwise(binned.edges), binned.counts, strict=True)
    return Table(caption, [head, "Trials"], [[f"{say(low)} to {say(high)}", count(n)] for (low, high), n in bins if n])


def quantities_table(summary: Summary) -> Table:
    """What a trial took, one row a quantity."""
    rows = [
        _quantity("Latency", summary.avg_latency_sec, seconds),
        _quantity("Model calls", summary.avg_lm_calls, count),
        _quantity("Replies per decision", summary.replies_per_decision, count),
        _quantity("Tool calls", summary.avg_tool_calls, count),
        _quantity("Steps", summary.avg_steps, count),
        _quantity("Input tokens", summary.input_tokens, count),
        _quantity("Output tokens", summary.output_tokens, count),
        _quantity("Cost", summary.avg_cost_usd, dollars),
    ]
    heads = ["Per trial", "Mean", "± standard error", "Median", "p90", "Max", "Total", "Not known"]
    return Table("What a trial took", heads, rows, wide=True)


def pass_table(summary: Summary) -> Table:
    """pass@k and pass^k, one row for each k."""
    rows = [[str(k), percent(one), percent(summary.pass_hat_k.get(k))] for k, one in summary.pass_at_k.items()]
    return Table("Trials taken together", ["k", "pass@k: one of k succeeds", "pass^k: all k succeed"], rows)


def difference_table(comparison: Comparison) -> Table:
    """Success, latency and cost of both evals on the tasks that both have, and the differences."""
    success = [
        "Success rate", percent(comparison.a_rate.value), percent(comparison.b_rate.value),
        points(comparison.difference), interval(comparison.low, comparison.high, points),
    ]  # fmt: skip
    rows = [
        success,
        _paired("Latency, mean", comparison.latency, seconds),
        _paired("Cost, mean", comparison.cost, dollars),
        _paired("Input tokens, mean", comparison.input_tokens, count),
        _paired("Output tokens, mean", comparison.output_tokens, count),
        _paired("Replies per decision, mean", comparison.replies_per_decision, count),
    ]
    heads = ["On the same tasks", "Baseline", "This eval", "Difference", "95 % interval"]
    return Table("Side by side", heads, rows, wide=True)


def flips_table(flips: Sequence[Flip], links: Mapping[str, str], *, caption: str) -> Table:
    """The tasks that changed sides."""
    rows = [
        [flip.task, _share(flip.a, flip.reason_a), _share(flip.b, flip.reason_b), _beginning(flip.question)]
        for flip in flips
    ]
    return Table(caption, ["Task", "Baseline", "This eval", "Question"], rows, wide=True, words=1, links=links)


def differing_settings_table(settings: Mapping[str, tuple[Any, Any]]) -> Table:
    """What the two evals were asked for with, where it differs."""
    rows = [[name, _setting(a), _setting(b)] for name, (a, b) in settings.items()]
    return Table("Settings that differ", ["Setting", "Baseline", "This eval"], rows, wide=True, words=1)


def settings_table(settings: Mapping[str, Any], *, caption: str, head: str) -> Table:
    """Names and values."""
    return Table(caption, [head, "Value"], [[k, _setting(v)] for k, v in settings.items()], wide=True, words=1)


def _quantity(name: str, of: Distribution, say: Say) -> list[str]:
    figures = [say(value) for value in (of.mean, of.sem, of.median, of.p90, of.max, of.total)]
    return [name, *figures, count(of.unknown)]


def _paired(name: str, pair: Paired, say: Say) -> list[str]:
    change = signed(say)
    return [name, say(pair.a), say(pair.b), change(pair.difference), interval(pair.low, pair.high, change)]


def _share(success: float, reason: str | None) -> str:
    said = {0.0: "✗ failed", 1.0: "✓ succeeded"}.get(success, f"± {percent(success)}")
    return f"{said}, {reason}" if reason else said


def _beginning(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"


def _setting(value: Any) -> str:
    return "not set" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Figures of all runs from the rows of the index; the runs that are odd are read from their traces."""

import sqlite3
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from micro_agent.run import Run
from micro_agent.run.totals import Middle, Totals

_NEWEST = "ORDER BY mtime DESC, run DESC"
_SUMS = (
    "SELECT count(*), status, reason, sum(lm_calls), sum(tool_calls), sum(input_tokens), sum(input_unsaid), "
    "sum(output_tokens), sum(output_unsaid), sum(cost_unsaid) FROM runs WHERE status IS NOT NULL "
    "GROUP BY status, reason"
)


@dataclass(frozen=True, slots=True)
class Counted:
    """What the rows say: totals of the runs that are not odd, and which are."""

    totals: Totals
    costs: "array[float]"
    rest: Middle
    odd: list[str]

    def figures(self, load: Callable[[Iterable[str]], Iterable[Run]]) -> dict[str, Any]:
        """The totals with those of the runs that are odd, as ``load`` reads them."""
        for run in load(self.odd):
            self.totals.add(run)
        return self.totals.figures(self.costs, self.rest)


def counted(connection: sqlite3.Connection) -> Counted:
    """What the rows say of all runs."""
    odd = [run for (run,) in connection.execute(f"SELECT run FROM runs WHERE status IS NULL {_NEWEST}")]
    totals = Totals()
    for runs, status, reason, lm_calls, tool_calls, *sums in connection.execute(_SUMS):
        totals.count(runs, status, reason, lm_calls, tool_calls)
        for name, tokens, unknown in (("input_tokens", *sums[:2]), ("output_tokens", *sums[2:4])):
            totals.tokens[name] += tokens
            totals.unknown[name] += unknown
        totals.unknown["cost_usd"] += sums[4]
    costs = connection.execute("SELECT cost_usd FROM runs WHERE cost_usd <> 0")
    return Counted(totals, array("d", (cost for (cost,) in costs)), _middle(connection, totals.runs, len(odd)), odd)


def newest(connection: sqlite3.Connection, most: int) -> list[str]:
    """The runs written last, as many as it takes until so many of them can be read."""
    found: list[str] = []
    for run, readable in connection.execute(f"SELECT run, readable FROM runs {_NEWEST}"):
        found.append(run)
        most -= readable
        if most < 1:
            break
    return found


def _middle(connection: sqlite3.Connection, runs: int, odd: int) -> Middle:
    """How long the runs took in the middle, as many as there have to be when some that are odd come among them."""
    begin, end = max(0, (runs - 1) // 2 - odd), min(runs, (runs + odd) // 2 + 1)
    sorted_rows = "SELECT latency_s FROM runs WHERE status IS NOT NULL ORDER BY latency_s LIMIT ? OFFSET ?"
    near = array("d", (second for (second,) in connection.execute(sorted_rows, (end - begin, begin))))
    return Middle(begin, near, runs - end)

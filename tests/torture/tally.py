"""What the torture counts: a row for each kind of harm, a column for each thing that came of it."""

from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, int]

OUTCOMES = ("cases", "harmed", "resumed", "on record", "not begun", "torn")
"""Torn lines are what a kill in the middle of a write leaves. They are read over and cost nothing that was done."""
LOSSES = ("lost", "doubled", "done twice", "unreadable")
"""What must not be: whole records and events lost or doubled, effects done twice, files nobody can go on with."""
SEED = "seed"


class Tally:
    """The rows of one test. `count` fails the test at the first loss."""

    PROPERTY = "durability"

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def count(self, kind: str, found: Mapping[str, Any] | None = None, **more: int) -> None:
        """Count a case: what was found when it was mended, and what else is to be added."""
        row = self.rows.setdefault(kind, {})
        told = {**(found or {}), **more}
        for column in (*OUTCOMES[1:], *LOSSES):
            row[column] = row.get(column, 0) + int(told.get(column, 0))
        row["cases"] = row.get("cases", 0) + int(told.get("cases", 1))
        assert not any(told.get(column) for column in LOSSES), (kind, row.get(SEED), told)

    def seeded(self, kind: str, seed: int) -> None:
        """Say by which seed the cases of a kind were drawn."""
        self.rows.setdefault(kind, {})[SEED] = seed


def table(tallies: Iterable[Mapping[str, Row]]) -> Iterable[str]:
    """The rows of all tests together, as lines."""
    rows: dict[str, Row] = {}
    for tally in tallies:
        for kind, row in tally.items():
            sums = rows.setdefault(kind, {})
            for column, number in row.items():
                sums[column] = number if column == SEED else sums.get(column, 0) + number
    columns = (*OUTCOMES, *LOSSES)
    width = max(map(len, rows), default=0)
    yield " " * width + "".join(f"{column:>12}" for column in columns)
    for kind in sorted(rows):
        seed = f"  seed {rows[kind][SEED]}" if SEED in rows[kind] else ""
        yield f"{kind:{width}}" + "".join(f"{rows[kind].get(column, 0):12,}" for column in columns) + seed
    sums = [sum(row.get(column, 0) for row in rows.values()) for column in columns]
    yield f"{'together':{width}}" + "".join(f"{number:12,}" for number in sums)

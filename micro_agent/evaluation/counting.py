"""Counts and quantities over the trials of an eval, by task: their values are on the disk once they are many."""

from collections.abc import Iterator
from math import fsum, isnan

from micro_agent.evaluation.figures import Distribution, Rate
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.statistics import clustered_standard_error, quantile_at, wilson_clustered

_AT_ONCE = 500
"""So many values are written in one go."""


class Tables:
    """Tables of what is counted over the same trials, and numbers for their tasks from 0, in the order they come in."""

    def __init__(self) -> None:
        self.scratch = Scratch("CREATE TABLE tasks (id BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._tasks = self._tables = 0

    def number(self, task: str) -> int:
        """The number of a task."""
        row = (task.encode(errors="surrogatepass"), self._tasks)
        if self.scratch.run("INSERT OR IGNORE INTO tasks VALUES (?, ?)", row).rowcount:
            self._tasks += 1
            return row[1]
        (number,) = self.scratch.one("SELECT number FROM tasks WHERE id = ?", row[0])
        return number

    def table(self) -> str:
        """A new table of values, each with the number of its task."""
        self._tables += 1
        name = f"values_{self._tables}"
        self.scratch.run(f"CREATE TABLE {name} (task INTEGER, value REAL)")
        return name


class PerTask:
    """A sum and the number of its trials for each task that has one, added up once: statistics go over them often."""

    def __init__(self, scratch: Scratch, table: str) -> None:
        self._scratch, self._table = scratch, f"{table}_by_task"
        scratch.run(f"DROP TABLE IF EXISTS {self._table}")
        sums = f"SELECT sum(value) AS sum, count(*) AS n FROM {table} GROUP BY task"
        scratch.run(f"CREATE TABLE {self._table} AS {sums}")

    def __len__(self) -> int:
        return self._scratch.one(f"SELECT count(*) FROM {self._table}")[0]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        yield from self._scratch.run(f"SELECT sum, n FROM {self._table} ORDER BY rowid")


class _Values:
    """Values over trials, each with the number of its task."""

    def __init__(self, tables: Tables) -> None:
        self._scratch, self._table, self._rows = tables.scratch, tables.table(), list[tuple[int, float]]()
        self._written = 0

    def __len__(self) -> int:
        return self._written + len(self._rows)

    def append(self, number: int, value: float) -> None:
        self._rows.append((number, value))
        if len(self._rows) >= _AT_ONCE:
            self._write()

    def __iter__(self) -> Iterator[float]:
        self._write()
        for (value,) in self._scratch.run(f"SELECT value FROM {self._table}"):
            yield value

    def per_task(self) -> PerTask:
        self._write()
        return PerTask(self._scratch, self._table)

    def at(self, rank: int) -> float:
        """The value at a rank in order, from 0."""
        self._write()
        self._scratch.run(f"CREATE INDEX IF NOT EXISTS {self._table}_in_order ON {self._table} (value)")
        return self._scratch.one(f"SELECT value FROM {self._table} ORDER BY value LIMIT 1 OFFSET ?", rank)[0]

    def _write(self) -> None:
        self._written += len(self._rows)
        self._scratch.run_many(f"INSERT INTO {self._table} VALUES (?, ?)", self._rows)
        self._rows.clear()


class Shares:
    """Hits and trials by task."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._in = tables or Tables()
        self._values, self._hits = _Values(self._in), 0

    def add(self, task: str, hit: bool) -> None:
        """Count a trial of a task."""
        self.count(self._in.number(task), hit)

    def count(self, number: int, hit: bool) -> None:
        """Count a trial of the task with this number."""
        self._values.append(number, hit)
        self._hits += hit

    def per_task(self) -> PerTask:
        """Hits and trials of each task."""
        return self._values.per_task()

    def rate(self) -> Rate:
        """The share of the trials that hit; its interval takes the trials of a task for a cluster."""
        hits, n = self._hits, len(self._values)
        if not n:
            return Rate(hits=0, n=0, value=None, low=None, high=None)
        low, high = wilson_clustered(self.per_task())
        return Rate(hits=hits, n=n, value=hits / n, low=low, high=high)


class Quantity:
    """The values of a quantity over trials, each with the number of its task."""

    def __init__(self, tables: Tables | None = None) -> None:
        self._in = tables or Tables()
        self._values, self._unknown = _Values(self._in), 0

    def add(self, task: str, value: float | None) -> None:
        """Note a trial of a task; ``None`` is unknown."""
        self.count(self._in.number(task), value)

    def count(self, number: int, value: float | None) -> None:
        """Note a trial of the task with this number; what is not a number is unknown."""
        if value is None or isnan(value):
            self._unknown += 1
        else:
            self._values.append(number, value)

    def distribution(self) -> Distribution:
        """The quantity's mean with its standard error, its quantiles and its total."""
        values, n = self._values, len(self._values)
        total = fsum(values)
        whole = n > 0 and not self._unknown
        return Distribution(
            n=n,
            unknown=self._unknown,
            mean=total / n if whole else None,
            sem=clustered_standard_error(values.per_task()) if whole else None,
            median=quantile_at(values.at, n, 0.5) if n else None,
            p90=quantile_at(values.at, n, 0.9) if n else None,
            max=values.at(n - 1) if n else None,
            total=total if whole else None,
        )

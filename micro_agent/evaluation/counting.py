"""Counts and quantities by task, in arrays of numbers: what is kept of a trial are a few bytes."""

from array import array
from collections.abc import Iterator
from math import fsum

from micro_agent.evaluation.figures import Distribution, Rate
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.statistics import clustered_standard_error, quantile, wilson_clustered


class Numbers:
    """Numbers the tasks of an eval, from 0, in the order in which they come; their ids are kept on the disk."""

    def __init__(self) -> None:
        self._table = Scratch("CREATE TABLE tasks (id BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._count = 0

    def of(self, task: str) -> int:
        """The number of a task."""
        row = (task.encode(errors="surrogatepass"), self._count)
        if self._table.run("INSERT OR IGNORE INTO tasks VALUES (?, ?)", row).rowcount:
            self._count += 1
            return row[1]
        (number,) = self._table.one("SELECT number FROM tasks WHERE id = ?", row[0])
        return number


class PerTask:
    """A sum and the number of its trials for each task that has one."""

    def __init__(self, numbers: "array[int]", values: "array[float] | bytearray") -> None:
        tasks = max(numbers, default=-1) + 1
        sums, trials = array("d", bytes(8 * tasks)), array("I", bytes(array("I").itemsize * tasks))
        for number, value in zip(numbers, values, strict=True):
            sums[number] += value
            trials[number] += 1
        self._sums, self._trials = sums, trials
        self._tasks = tasks - trials.count(0)

    def __len__(self) -> int:
        return self._tasks

    def __iter__(self) -> Iterator[tuple[float, int]]:
        return (pair for pair in zip(self._sums, self._trials, strict=True) if pair[1])


class Shares:
    """Hits and trials by task."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._tasks = numbers or Numbers()
        self._numbers, self._hits = array("I"), bytearray()

    def add(self, task: str, hit: bool) -> None:
        """Count a trial of a task."""
        self.count(self._tasks.of(task), hit)

    def count(self, number: int, hit: bool) -> None:
        """Count a trial of the task with this number."""
        self._numbers.append(number)
        self._hits.append(hit)

    def per_task(self) -> PerTask:
        """Hits and trials of each task."""
        return PerTask(self._numbers, self._hits)

    def rate(self) -> Rate:
        """The share of the trials that hit; its interval takes the trials of a task for a cluster."""
        hits, n = sum(self._hits), len(self._hits)
        if not n:
            return Rate(hits=0, n=0, value=None, low=None, high=None)
        low, high = wilson_clustered(self.per_task())
        return Rate(hits=hits, n=n, value=hits / n, low=low, high=high)


class Quantity:
    """The values of a quantity over trials, each with the number of its task."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._tasks = numbers or Numbers()
        self._numbers, self._values, self._unknown = array("I"), array("d"), 0

    def add(self, task: str, value: float | None) -> None:
        """Note a trial of a task; ``None`` is unknown."""
        self.count(self._tasks.of(task), value)

    def count(self, number: int, value: float | None) -> None:
        """Note a trial of the task with this number."""
        if value is None:
            self._unknown += 1
            return
        self._numbers.append(number)
        self._values.append(value)

    def distribution(self) -> Distribution:
        """The quantity's mean with its standard error, its quantiles and its total."""
        values, total = self._values, fsum(self._values)
        whole = bool(values) and not self._unknown
        return Distribution(
            n=len(values),
            unknown=self._unknown,
            mean=total / len(values) if whole else None,
            sem=clustered_standard_error(PerTask(self._numbers, values)) if whole else None,
            median=quantile(values, 0.5) if values else None,
            p90=quantile(values, 0.9) if values else None,
            max=max(values, default=None),
            total=total if whole else None,
        )

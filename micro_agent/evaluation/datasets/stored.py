"""Tasks that stay in their file: JSON lines of any number, checked once and then read one at a time.

What is known of them (ids, tags) is in a temporary file; a bit for each line says whether it was drawn.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets.files import Row, jsonl_rows
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import open_file

_TABLES = (
    "CREATE TABLE tasks (id TEXT PRIMARY KEY, line INTEGER, tags TEXT) WITHOUT ROWID",
    "CREATE TABLE ranks (rank BLOB PRIMARY KEY, line INTEGER) WITHOUT ROWID",
)


@dataclass(frozen=True, slots=True)
class StoredTasks:
    """Tasks of a file of JSON lines, in its order. Each time it is gone through, the file is read again.

    Going through it raises `ConfigurationError` once the file has changed.
    """

    path: Path
    table: Scratch
    tags: frozenset[str]
    repositories: bool
    """Whether some task of the file has a repository."""
    stamp: tuple[int, ...]
    lines: bytearray
    """A bit for each line of the file."""
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Task]:
        with open(open_file(self.path), "rb") as file:
            self._check(file)
            for number, raw in enumerate(file):
                if _bit(self.lines, number):
                    yield self._task(raw)
            self._check(file)

    def ids(self) -> Iterator[str]:
        """The ids of the tasks."""
        for name, line in self.table.run("SELECT id, line FROM tasks ORDER BY line"):
            if _bit(self.lines, line):
                yield name

    def drawn(self, n: int | None, seed: int, tags: Sequence[str], rank: Callable[[int, str], bytes]) -> "StoredTasks":
        """A sample; ``n`` and ``tags`` are possible ones. ``rank`` is what tasks are drawn by."""
        chosen, count = bytearray(len(self.lines)), 0
        for line in self._ranked(n, seed, tags, rank) if n is not None else self._tagged(tags):
            chosen[line // 8] |= 1 << line % 8
            count += 1
        return replace(self, lines=chosen, count=count)

    def with_tags(self, tags: Sequence[str]) -> int:
        """How many tasks have one of the tags; without tags all."""
        return sum(1 for _ in self._tagged(tags))

    def _ranked(self, n: int, seed: int, tags: Sequence[str], rank: Callable[[int, str], bytes]) -> Iterator[int]:
        self.table.run("DELETE FROM ranks")
        for name, line in self._rows(tags):
            self.table.run("INSERT INTO ranks VALUES (?, ?)", (rank(seed, name), line))
        for (line,) in self.table.run("SELECT line FROM ranks ORDER BY rank LIMIT ?", (n,)):
            yield line

    def _tagged(self, tags: Sequence[str]) -> Iterator[int]:
        return (line for _, line in self._rows(tags))

    def _rows(self, tags: Sequence[str]) -> Iterator[tuple[str, int]]:
        has = " OR ".join("instr(tags, ?)" for _ in tags) or "TRUE"
        rows = self.table.run(f"SELECT id, line FROM tasks WHERE {has}", [f" {tag} " for tag in tags])
        return (row for row in rows if _bit(self.lines, row[1]))

    def _task(self, raw: bytes) -> Task:
        (row,) = jsonl_rows([raw])
        return Task.model_validate(row.data)

    def _check(self, file: IO[bytes]) -> None:
        if stamp_of(file) != self.stamp:
            raise ConfigurationError(f"{self.path} changed while its tasks were asked: put it back, and resume")


_LINE = "line "


class Reading:
    """A file of JSON lines while it is read for the first time."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._digest = file, path, sha256()
        self._table, self._tags, self._repositories = Scratch(*_TABLES), set[str](), False
        self._lines, self._count = bytearray(), 0

    def rows(self) -> Iterator[Row]:
        """What stands for a task each."""
        return jsonl_rows(self._raw())

    def claim(self, task: Task, place: str) -> str | None:
        """Note a task. Returns the place of the one that has its id already."""
        line, tags = int(place.removeprefix(_LINE)) - 1, f" {' '.join(task.tags)} "
        if not self._table.run("INSERT OR IGNORE INTO tasks VALUES (?, ?, ?)", (task.id, line, tags)).rowcount:
            (before,) = self._table.one("SELECT line FROM tasks WHERE id = ?", task.id)
            return f"{_LINE}{before + 1}"
        self._tags.update(task.tags)
        self._repositories |= task.repository is not None
        self._lines[line // 8] |= 1 << line % 8
        self._count += 1
        return None

    def read(self) -> tuple[StoredTasks, str]:
        """What was noted, and the sha256 of the file."""
        tasks = StoredTasks(
            self._path, self._table, frozenset(self._tags), self._repositories, stamp_of(self._file), self._lines,
            self._count,
        )  # fmt: skip
        return tasks, self._digest.hexdigest()

    def _raw(self) -> Iterator[bytes]:
        for number, raw in enumerate(self._file):
            if number % 8 == 0:
                self._lines.append(0)
            self._digest.update(raw)
            yield raw


def stamp_of(file: IO[bytes]) -> tuple[int, ...]:
    """What changes when a file does."""
    found: Any = os.fstat(file.fileno())
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _bit(lines: bytearray, number: int) -> bool:
    return number // 8 < len(lines) and bool(lines[number // 8] >> number % 8 & 1)

"""Datasets: files of tasks, read and checked as a whole, and samples drawn from them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets.faults import faults_of
from micro_agent.evaluation.datasets.files import READERS, Row
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import open_file

_FAULTS_SHOWN = 5
# YAML is read at about 5 MB a second, the others ten times as fast.
_LARGEST = {".yaml": 16_000_000, ".yml": 16_000_000}
_LARGEST_OTHER = 256_000_000


@dataclass(frozen=True, slots=True)
class Dataset:
    """The tasks of a file, in its order; ``path`` as it was given; ``sha256`` of the file's bytes."""

    tasks: list[Task]
    path: str
    sha256: str


def load_tasks(path: str | PathLike[str]) -> Dataset:
    """Read a file of tasks: ``.yaml`` (``.yml``), ``.jsonl`` or ``.csv``.

    Raises:
        ConfigurationError: The file cannot be read, or something in it is not a task. The one line names the file, the
            line and the id of the task, the field and what to do, for the first few faults, and counts the others.
    """
    file = Path(path)
    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise ConfigurationError(f"{file}: tasks are read from .yaml, .jsonl and .csv files, not from {file.suffix!r}")
    content = read_whole(file, _LARGEST.get(file.suffix.lower(), _LARGEST_OTHER))
    try:
        tasks = _checked(reader(content))
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    if not tasks:
        raise ConfigurationError(f"{file}: there is no task in it; write at least one")
    return Dataset(tasks, str(path), sha256(content).hexdigest())


def read_whole(path: Path, largest: int) -> bytes:
    """The bytes of a regular file of at most ``largest`` bytes. Raises `ConfigurationError`."""
    try:
        with open(open_file(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read() if size <= largest else b""
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    if size > largest:
        hint = "; JSONL may be larger" if largest < _LARGEST_OTHER else ""
        raise ConfigurationError(f"{path} is larger than {largest // 1_000_000} MB; split it{hint}")
    return content


def _checked(rows: Iterator[Row]) -> list[Task]:
    """The tasks of all rows. Raises `ValueError` that names the first faults, if there are any, and counts the rest."""
    tasks: dict[str, Task] = {}
    places: dict[str, str] = {}
    shown: list[str] = []
    count = 0
    for number, row in enumerate(rows, 1):
        place = f"task {number}" if row.line is None else f"line {row.line}"
        task = _task(row)
        if isinstance(task, Task) and task.id in tasks:
            task = [f", task {task.id}: id: {places[task.id]} has it already; give each task an id of its own"]
        if isinstance(task, Task):
            tasks[task.id], places[task.id] = task, place
            continue
        count += len(task)
        shown += [f"{place}{fault}" for fault in task[: _FAULTS_SHOWN - len(shown)]]
    if count:
        raise ValueError("; ".join(shown) + (f"; and {count - len(shown)} more faults" if count > len(shown) else ""))
    return list(tasks.values())


def _task(row: Row) -> Task | list[str]:
    """The task, or what is wrong with it, each as it goes on after the place in the file."""
    if row.fault is not None:
        return [f": {row.fault}"]
    data = row.data
    try:
        return Task.model_validate(data)
    except ValidationError as error:
        if not isinstance(data, dict):
            return [": a task is written as fields and values, such as id and question"]
        name = cast("dict[str, Any]", data).get("id")
        label = f", task {name[:100]}: " if isinstance(name, str) and name.isprintable() else ": "
        return [label + fault for fault in faults_of(error)]


def draw(tasks: Sequence[Task], n: int | None = None, seed: int = 0, tags: Sequence[str] = ()) -> list[Task]:
    """A sample without repetition, in the order of ``tasks``.

    A task is drawn by the sha256 of the seed and its id: the same seed draws the same tasks on every machine and
    Python version, and a task that joins the dataset changes at most one place of the sample.

    Args:
        tasks: What to draw from, ids unique.
        n: How many; ``None`` for all of them.
        seed: Another seed, another sample.
        tags: If there are any, a task needs at least one of them.

    Raises:
        ConfigurationError: There are fewer than ``n`` tasks, or no task has one of the tags.
    """
    tagged = _with_tags(tasks, tags)
    if n is None:
        return tagged
    if not 1 <= n <= len(tagged):
        those = f" with the tags {', '.join(tags)}" if tags else ""
        raise ConfigurationError(f"there are {len(tagged)} tasks{those}: draw from 1 to {len(tagged)} of them, not {n}")
    drawn = sorted(tagged, key=lambda task: sha256(f"{seed}:{task.id}".encode()).digest())[:n]
    ids = {task.id for task in drawn}
    return [task for task in tagged if task.id in ids]


def _with_tags(tasks: Sequence[Task], tags: Sequence[str]) -> list[Task]:
    known = {tag for task in tasks for tag in task.tags}
    for tag in tags:
        if tag not in known:
            raise ConfigurationError(f"no task has the tag {tag!r}; there are {', '.join(sorted(known)) or 'none'}")
    return [task for task in tasks if not tags or not set(tags).isdisjoint(task.tags)]

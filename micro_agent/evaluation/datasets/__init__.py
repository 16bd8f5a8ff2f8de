"""Datasets: files of tasks, read and checked as a whole, and samples drawn from them."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast, overload

from pydantic import ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets.faults import faults_of
from micro_agent.evaluation.datasets.files import READERS, Row
from micro_agent.evaluation.datasets.stored import Reading, StoredTasks
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import open_file

_FAULTS_SHOWN = 5
# YAML is read at about 5 MB a second, the others ten times as fast.
_LARGEST = {".yaml": 16_000_000, ".yml": 16_000_000}
_LARGEST_OTHER = 256_000_000


Tasks = list[Task] | StoredTasks
Claim = Callable[[Task, str], str | None]
"""Gets each task and its place, such as ``line 3``. Returns the place of the task that has its id already."""
IN_MEMORY = 16_000_000
"""Bytes of JSON lines from which on tasks stay in their file, for whoever can do with that."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """The tasks of a file, in its order; ``path`` as it was given; ``sha256`` of the file's bytes."""

    tasks: list[Task]
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class LargeDataset:
    """A `Dataset` whose tasks stay in their file."""

    tasks: StoredTasks
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
    places: dict[str, str] = {}

    def claim(task: Task, place: str) -> str | None:
        before = places.get(task.id)
        places.setdefault(task.id, place)
        return before

    try:
        tasks = list(_checked(reader(content), claim))
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    if not tasks:
        raise _empty(file)
    return Dataset(tasks, str(path), sha256(content).hexdigest())


def open_tasks(path: str | PathLike[str], *, in_memory: int = IN_MEMORY) -> Dataset | LargeDataset:
    """Read a file of tasks, or only check it: those of more than ``in_memory`` bytes of JSON lines stay in the file.

    Raises as `load_tasks`, and knows no largest file of JSON lines.
    """
    file = Path(path)
    if file.suffix.lower() != ".jsonl":
        return load_tasks(path)
    try:
        with open(open_file(file), "rb") as source:
            found = _stored(source, file) if os.fstat(source.fileno()).st_size > in_memory else None
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise ConfigurationError(f"{file}: {error}") from error
    if found is None:
        return load_tasks(path)
    if not len(found[0]):
        raise _empty(file)
    return LargeDataset(found[0], str(path), found[1])


def _stored(source: IO[bytes], file: Path) -> tuple[StoredTasks, str]:
    reading = Reading(source, file)
    deque(_checked(reading.rows(), reading.claim), maxlen=0)
    return reading.read()


def _empty(file: Path) -> ConfigurationError:
    return ConfigurationError(f"{file}: there is no task in it; write at least one")


def _unreadable(path: str | PathLike[str], error: OSError) -> ConfigurationError:
    return ConfigurationError(f"cannot read {path}: {error.strerror or error}; check the path")


def read_whole(path: Path, largest: int) -> bytes:
    """The bytes of a regular file of at most ``largest`` bytes. Raises `ConfigurationError`."""
    try:
        with open(open_file(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read() if size <= largest else b""
    except OSError as error:
        raise _unreadable(path, error) from error
    if size > largest:
        hint = "; JSONL may be larger" if largest < _LARGEST_OTHER else ""
        raise ConfigurationError(f"{path} is larger than {largest // 1_000_000} MB; split it{hint}")
    return content


def _checked(rows: Iterator[Row], claim: Claim) -> Iterator[Task]:
    """The tasks of all rows. Raises `ValueError` that names the first faults, if there are any, and counts the rest."""
    shown: list[str] = []
    count = 0
    for number, row in enumerate(rows, 1):
        place = f"task {number}" if row.line is None else f"line {row.line}"
        task = _task(row)
        if isinstance(task, Task):
            before = claim(task, place)
            if before is None:
                yield task
                continue
            task = [f", task {task.id}: id: {before} has it already; give each task an id of its own"]
        count += len(task)
        shown += [f"{place}{fault}" for fault in task[: _FAULTS_SHOWN - len(shown)]]
    if count:
        raise ValueError("; ".join(shown) + (f"; and {count - len(shown)} more faults" if count > len(shown) else ""))


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


@overload
def draw(tasks: Sequence[Task], n: int | None = None, seed: int = 0, tags: Sequence[str] = ()) -> list[Task]: ...
@overload
def draw(
    tasks: Sequence[Task] | StoredTasks, n: int | None = None, seed: int = 0, tags: Sequence[str] = ()
) -> list[Task] | StoredTasks: ...


def draw(
    tasks: Sequence[Task] | StoredTasks, n: int | None = None, seed: int = 0, tags: Sequence[str] = ()
) -> list[Task] | StoredTasks:
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
    if isinstance(tasks, StoredTasks):
        _refuse_tags(tasks.tags, tags)
        if n is not None:
            _refuse_count(n, tasks.with_tags(tags), tags)
        return tasks.drawn(n, seed, tags, _rank)
    _refuse_tags({tag for task in tasks for tag in task.tags}, tags)
    tagged = [task for task in tasks if not tags or not set(tags).isdisjoint(task.tags)]
    if n is None:
        return tagged
    _refuse_count(n, len(tagged), tags)
    drawn = sorted(tagged, key=lambda task: _rank(seed, task.id))[:n]
    ids = {task.id for task in drawn}
    return [task for task in tagged if task.id in ids]


def _rank(seed: int, task: str) -> bytes:
    return sha256(f"{seed}:{task}".encode()).digest()


def _refuse_count(n: int, count: int, tags: Sequence[str]) -> None:
    if not 1 <= n <= count:
        those = f" with the tags {', '.join(tags)}" if tags else ""
        raise ConfigurationError(f"there are {count} tasks{those}: draw from 1 to {count} of them, not {n}")


def _refuse_tags(known: AbstractSet[str], tags: Sequence[str]) -> None:
    for tag in tags:
        if tag not in known:
            raise ConfigurationError(f"no task has the tag {tag!r}; there are {', '.join(sorted(known)) or 'none'}")


def ids_of(tasks: Tasks) -> Iterator[str]:
    """The ids of tasks, without a look at those that stay in their file."""
    return tasks.ids() if isinstance(tasks, StoredTasks) else (task.id for task in tasks)


def have_repositories(tasks: Tasks) -> bool:
    """Whether one of the tasks has a repository."""
    if isinstance(tasks, StoredTasks) and not tasks.repositories:
        return False
    return any(task.repository is not None for task in tasks)

"""Recorded runs scored as an eval: each is a trial of the tasks that ask its question. No model is asked."""

import os
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from secrets import token_hex

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import Dataset
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, publish
from micro_agent.evaluation.scored import scored
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import storage_error
from micro_agent.run import Run
from micro_agent.traces import read_records

_NAMED = 10


@dataclass(slots=True)
class FromTraces:
    """What came of it. A run counts once, however many files have it."""

    tasks: int = 0
    """Of the dataset."""
    trials: Counter[str] = field(default_factory=Counter[str])
    """By the id of the task."""
    runs: int = 0
    """How many were scored."""
    not_ended: Counter[str] = field(default_factory=Counter[str])
    """Runs that paused, were killed or cancelled, by their status: they have no answer to score."""
    other_question: int = 0
    """How many ask what no task asks."""
    without_run: list[str] = field(default_factory=list[str])
    """Tasks that no run asked."""
    faults: list[str] = field(default_factory=list[str])
    """The first lines that hold no run, such as ``a.jsonl, line 3: not readable: …``; ``more_faults``: the others."""
    more_faults: int = 0

    def lines(self) -> Iterator[str]:
        """It as text."""
        yield from self.faults
        if self.more_faults:
            yield f"… and {_count(self.more_faults, 'more line')} without a run"
        trials, tasks = _count(self.trials.total(), "trial"), _count(len(self.trials), "task")
        yield f"{_count(self.runs, 'run')} scored: {trials} of {tasks}."
        if self.other_question:
            yield f"{_count(self.other_question, 'run')} without a task: no task asks the same question."
        if self.not_ended:
            by_status = ", ".join(f"{status} {n}" for status, n in self.not_ended.most_common())
            yield f"{_count(self.not_ended.total(), 'run')} that did not end, not scored: {by_status}."
        if self.without_run:
            named = ", ".join(self.without_run[:_NAMED]) + (" …" if len(self.without_run) > _NAMED else "")
            yield f"{len(self.without_run)} of {_count(self.tasks, 'task')} without a run: {named}"


class _Runs:
    """What became of each run so far. A run counts once, however many files have it."""

    def __init__(self) -> None:
        self.table = Scratch(
            "CREATE TABLE runs (id BLOB PRIMARY KEY, scored DEFAULT 0, other DEFAULT 0, status) WITHOUT ROWID"
        )

    def has_scored(self, run: Run) -> bool:
        return self.table.one("SELECT 1 FROM runs WHERE id = ? AND scored", bytes.fromhex(run.id)) is not None

    def note(self, run: Run, column: str, value: object) -> None:
        statement = (
            f"INSERT INTO runs (id, {column}) VALUES (?, ?) ON CONFLICT DO UPDATE SET {column} = excluded.{column}"
        )
        self.table.run(statement, (bytes.fromhex(run.id), value))

    def tell(self, done: FromTraces) -> None:
        sums = "SELECT ifnull(sum(scored), 0), ifnull(sum(other), 0) FROM runs"
        done.runs, done.other_question = self.table.one(sums)
        rows = self.table.run(
            "SELECT status, count(*) FROM runs WHERE NOT scored AND status IS NOT NULL GROUP BY status"
        )
        done.not_ended.update(dict(rows))


def score_traces(files: Iterable[Path], dataset: Dataset, target: Path, header: Header) -> FromTraces:
    """Score the recorded runs of trace files, and write a result file that is there once it is complete.

    A run and a task belong together when they ask the same question, spaces aside. Several runs of a question are the
    epochs of its task, in the order of the files; of several records of a run the last counts. Files and runs are read
    one at a time, and what is remembered of them is on the disk: there may be a million.

    Args:
        files: Traces; a file may hold several runs.
        dataset: The tasks.
        target: A name that is not taken.
        header: What the result file begins with; its ``epochs`` and ``trials`` are counted.

    Raises:
        ConfigurationError: ``target`` is there already, or no run could be scored.
        StorageError: ``target`` cannot be written.
    """
    if os.path.lexists(target):
        raise ConfigurationError(f"{target} is there already: choose another name")
    done, runs = FromTraces(len(dataset.tasks)), _Runs()
    body, whole = (target.with_name(f".{token_hex(8)}.tmp") for _ in range(2))
    try:
        with runs.table, ResultFile.create(body, header) as file:
            for result in _results(files, _by_question(dataset.tasks), header.rubric, done, runs):
                file.append(result)
            runs.tell(done)
        done.without_run = [task.id for task in dataset.tasks if task.id not in done.trials]
        if not done.trials:
            raise ConfigurationError(f"nothing to score: {' '.join(done.lines())}")
        counted = {"epochs": max(done.trials.values()), "trials": done.trials.total() + len(done.without_run)}
        ResultFile.create(whole, header.model_copy(update=counted)).close()
        _add_results(body, whole)
        publish(whole, target)
    finally:
        for temporary in (body, whole):
            with suppress(OSError):
                temporary.unlink()
    return done


def _by_question(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    asking = defaultdict[str, list[Task]](list)
    for task in tasks:
        asking[_plain(task.question)].append(task)
    return dict(asking)


def _results(
    files: Iterable[Path], asking: Mapping[str, list[Task]], rubric: Rubric, done: FromTraces, runs: _Runs
) -> Iterator[Result]:
    for path in files:
        for run in _runs(path, done):
            if runs.has_scored(run):
                continue
            tasks = asking.get(_plain(run.question), [])
            if not tasks or run.follows or run.history:  # what is asked in a conversation is another question there
                runs.note(run, "other", 1)
            elif run.status in ("running", "confirmation_required") or run.termination_reason == "cancelled":
                runs.note(run, "status", run.termination_reason or run.status)
            else:
                runs.note(run, "scored", 1)
                yield from (_result(task, run, path, rubric, done) for task in tasks)


def _result(task: Task, run: Run, path: Path, rubric: Rubric, done: FromTraces) -> Result:
    epoch = done.trials[task.id]
    done.trials[task.id] += 1
    return scored(task, run, rubric, epoch=epoch, trace=str(path))


def _runs(path: Path, done: FromTraces) -> Iterator[Run]:
    """The last of the records that each run has in a row."""
    for _, records in groupby(_readable(path, done), key=lambda run: run.id):
        yield deque(records, maxlen=1)[0]


def _readable(path: Path, done: FromTraces) -> Iterator[Run]:
    for record in read_records(path):
        if record.run is not None:
            yield record.run
        elif len(done.faults) < _NAMED:
            where = f"{path}, line {record.line_number}" if record.line_number else str(path)
            done.faults.append(f"{where}: {record.fault}")
        else:
            done.more_faults += 1


def _add_results(body: Path, whole: Path) -> None:
    """Put the results of one file behind the header of another."""
    try:
        with open(body, "rb") as source, open(whole, "ab") as sink:
            source.readline()
            shutil.copyfileobj(source, sink)
    except OSError as error:  # pragma: no cover - a disk that was not full for the first of the two
        raise storage_error("write the result file", whole, error) from error


def _plain(question: str) -> str:
    return " ".join(question.split())


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"

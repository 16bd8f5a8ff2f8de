"""Recorded runs scored as an eval: each is a trial of the tasks that ask its question. No model is asked."""

import os
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from glob import glob, has_magic
from itertools import groupby, islice
from pathlib import Path
from secrets import token_hex

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import Dataset
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.results import ResultFile, publish
from micro_agent.evaluation.scored import scored
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import storage_error
from micro_agent.run import Run
from micro_agent.traces import read_records

_NAMED = 10
_FIRST = 3
"""So many lines tell traces from a result file; the first may be damaged."""


@dataclass(slots=True)
class FromTraces:
    """What came of it. A run counts once, however many files have it."""

    tasks: int = 0
    """Of the dataset."""
    trials: Counter[str] = field(default_factory=Counter[str])
    """By the id of the task."""
    runs: set[str] = field(default_factory=set[str])
    """The ids of the runs that were scored."""
    not_ended: dict[str, str] = field(default_factory=dict[str, str])
    """Runs that paused, were killed or cancelled, with their status: they have no answer to score."""
    other_question: set[str] = field(default_factory=set[str])
    """Runs that ask what no task asks."""
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
        yield f"{_count(len(self.runs), 'run')} scored: {trials} of {tasks}."
        if self.other_question:
            yield f"{_count(len(self.other_question), 'run')} without a task: no task asks the same question."
        if self.not_ended:
            by_status = ", ".join(f"{status} {n}" for status, n in Counter(self.not_ended.values()).most_common())
            yield f"{_count(len(self.not_ended), 'run')} that did not end, not scored: {by_status}."
        if self.without_run:
            named = ", ".join(self.without_run[:_NAMED]) + (" …" if len(self.without_run) > _NAMED else "")
            yield f"{len(self.without_run)} of {_count(self.tasks, 'task')} without a run: {named}"


def holds_runs(source: str) -> bool:
    """Whether a name on the command line stands for traces: a pattern, a folder, or a file that begins with a run."""
    path = Path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(source)
    return any(record.run is not None for record in islice(read_records(path), _FIRST))


def trace_files(sources: Iterable[str]) -> Iterator[Path]:
    """The files that names, folders (their ``*.jsonl``) and patterns stand for, by name.

    Raises:
        ConfigurationError: One stands for no file.
    """
    for source in sources:
        path = Path(source)
        found = path.glob("*.jsonl") if path.is_dir() else map(Path, glob(source, recursive=True))
        files = [path] if path.is_file() else sorted(file for file in found if file.is_file())
        if not files:
            raise ConfigurationError(f"no trace is named {source}: name files, folders of *.jsonl, or 'traces/*.jsonl'")
        yield from files


def score_traces(files: Sequence[Path], dataset: Dataset, target: Path, header: Header) -> FromTraces:
    """Score the recorded runs of trace files, and write a result file that is there once it is complete.

    A run and a task belong together when they ask the same question, spaces aside. Several runs of a question are the
    epochs of its task, in the order of the files; of several records of a run the last counts. Runs are read one at a
    time.

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
    done = FromTraces(len(dataset.tasks))
    body, whole = (target.with_name(f".{token_hex(8)}.tmp") for _ in range(2))
    try:
        with ResultFile.create(body, header) as file:
            for result in _results(files, _by_question(dataset.tasks), header.rubric, done):
                file.append(result)
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
    files: Sequence[Path], asking: Mapping[str, list[Task]], rubric: Rubric, done: FromTraces
) -> Iterator[Result]:
    for path in files:
        for run in _runs(path, done):
            if run.id in done.runs:
                continue
            tasks = asking.get(_plain(run.question), [])
            if not tasks or run.follows or run.history:  # what is asked in a conversation is another question there
                done.other_question.add(run.id)
            elif run.status in ("running", "confirmation_required") or run.termination_reason == "cancelled":
                done.not_ended[run.id] = run.termination_reason or run.status
            else:
                done.not_ended.pop(run.id, None)
                done.runs.add(run.id)
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

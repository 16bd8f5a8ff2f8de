"""Scoring a result file again, without a model: with another rubric, or with expectations that were corrected."""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from pydantic import ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import Dataset
from micro_agent.evaluation.result import Header, Result, Rubric
from micro_agent.evaluation.result_lines import Entry, Key, Place, header_in
from micro_agent.evaluation.results import ResultFile, publish
from micro_agent.evaluation.scorers import score
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import open_file, parse, storage_error

_VERDICTS = """
CREATE TABLE verdicts (
    number INTEGER PRIMARY KEY, task TEXT, epoch TEXT, old_score, was, score, now, UNIQUE (task, epoch)
)"""
_NOTE = (
    "INSERT INTO verdicts (task, epoch, old_score, was, score, now) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE "
    "SET old_score = excluded.old_score, was = excluded.was, score = excluded.score, now = excluded.now"
)
_CHANGED = (
    "SELECT task, epoch, old_score, score, was, now FROM verdicts WHERE old_score IS NOT score OR was <> now "
    "ORDER BY number"
)


def _keys() -> list[Key]:
    return []


@dataclass(slots=True)
class Rescored:
    """What came of it. A trial is the last line of its key (task and epoch)."""

    trials: int = 0
    gained: list[Key] = field(default_factory=_keys)
    """Trials that are a success now and were none."""
    lost: list[Key] = field(default_factory=_keys)
    """Trials that were a success and are none now."""
    changed: list[Key] = field(default_factory=_keys)
    """Trials with another score."""
    renewed: set[str] = field(default_factory=set[str])
    """Tasks that expect something else in the dataset, or have other tags: those of the dataset are used."""
    other_question: set[str] = field(default_factory=set[str])
    """Tasks that ask something else in the dataset: the runs answered the old question, so the old task is used."""
    not_in_dataset: set[str] = field(default_factory=set[str])
    """Tasks that the dataset does not have: the old ones are used."""
    faults: list[str] = field(default_factory=list[str])
    """Lines that are not results, such as ``line 7: cut off while it was written``; they are not in the new file."""


def rescore(source: Path, target: Path, rubric: Rubric | None = None, tasks: Dataset | None = None) -> Rescored:
    """Score every line of a result file anew and write a new file; no model is asked, the old file stays as it is.

    The new file is there once it is complete, for this user alone and with secrets masked.

    Args:
        source: A result file.
        target: A name that is not taken.
        rubric: How checks count; ``None``: as in the old file.
        tasks: Where expectations are taken from, by the ids of the tasks; ``None``: from the old file.

    Raises:
        ConfigurationError: ``target`` is there already.
        StorageError: ``source`` cannot be read or is not a result file, or ``target`` cannot be written.
    """
    if os.path.lexists(target):
        raise ConfigurationError(f"{target} is there already: choose another name")
    report = Rescored()
    try:
        with open(open_file(source), "rb") as file:
            lines = _lines(file, report)
            header = header_in(lines, source)
            header = header.model_copy(update=_update(rubric, tasks))
            _write(target, header, _scored(_results(lines, report), header.rubric, tasks, report))
    except OSError as error:
        raise storage_error("read the result file", source, error) from error
    return report


def _update(rubric: Rubric | None, tasks: Dataset | None) -> dict[str, Any]:
    dataset = {"dataset": tasks.path, "dataset_sha256": tasks.sha256} if tasks else {}
    return dataset | ({"rubric": rubric} if rubric else {})


def _lines(file: IO[bytes], report: Rescored) -> Iterator[Entry]:
    """The lines that hold an object; the others are reported. As everywhere, a line counts when its end is there."""
    for number, raw in enumerate(file, 1):
        if not raw.endswith(b"\n"):
            report.faults.append(f"line {number}: cut off while it was written")
        elif raw.strip():
            try:
                yield Entry(Place(number, 0), parse(raw))
            except ValueError as error:
                report.faults.append(f"line {number}: not readable: {error}")


def _results(lines: Iterator[Entry], report: Rescored) -> Iterator[Result]:
    for entry in lines:
        try:
            yield Result.model_validate(entry.data)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            report.faults.append(f"line {entry.place.number}: not a result: {place}: {first['msg']}")


def _scored(results: Iterator[Result], rubric: Rubric, tasks: Dataset | None, report: Rescored) -> Iterator[Result]:
    known = {task.id: task for task in tasks.tasks} if tasks else None
    with Scratch(_VERDICTS) as verdicts:
        for result in results:
            before = result.score, result.success
            if known is not None:
                result.task = _renewed(result.task, known, report)
            result.checks, result.score, result.success = score(result.task, result.run, rubric)
            verdicts.run(_NOTE, (result.task.id, str(result.epoch), *before, result.score, result.success))
            yield result
        _compare(verdicts, report)


def _renewed(old: Task, known: dict[str, Task], report: Rescored) -> Task:
    new = known.get(old.id)
    if new is None:
        report.not_in_dataset.add(old.id)
        return old
    if new.question != old.question:
        report.other_question.add(old.id)
        return old
    if new != old:
        report.renewed.add(old.id)
    return new


def _compare(verdicts: Scratch, report: Rescored) -> None:
    (report.trials,) = verdicts.one("SELECT count(*) FROM verdicts")
    for task, epoch, *scores, was, now in verdicts.run(_CHANGED):
        key = task, int(epoch)
        if scores[0] != scores[1]:
            report.changed.append(key)
        if was != now:
            (report.gained if now else report.lost).append(key)


def _write(target: Path, header: Header, results: Iterator[Result]) -> None:
    temporary = target.with_name(f".{token_hex(8)}.tmp")
    try:
        with ResultFile.create(temporary, header) as file:
            for result in results:
                file.append(result)
        publish(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise

"""The lines of a result file, read one at a time; what is wrong with one goes to the log, and it does not count."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, cast

from pydantic import BaseModel, StrictInt, StrictStr, ValidationError

from micro_agent.errors import StorageError
from micro_agent.evaluation.result import SCHEMA_VERSION, Header, Result
from micro_agent.files.jsonl import parse

Key = tuple[str, int]
"""The id of a task and the epoch, from 0: what is unique in a result file."""

_log = logging.getLogger("micro_agent")


class Place(NamedTuple):
    """Where a line stands: its number from 1, and the bytes before it."""

    number: int
    offset: int


class Line(NamedTuple):
    """A line that is whole and not blank, as it stands in the file."""

    place: Place
    raw: bytes


class Entry(NamedTuple):
    """A line that is whole and holds an object."""

    place: Place
    data: dict[str, Any]


class _Task(BaseModel):
    id: StrictStr


class _Keyed(BaseModel):
    """As much of a result as its key takes."""

    kind: Literal["result"]
    task: _Task
    epoch: StrictInt = 0


def whole_lines(file: IO[bytes], path: Path) -> Iterator[Line]:
    """The lines that are whole and not blank. Raises `OSError`."""
    end = 0
    for number, raw in enumerate(file, 1):
        place, end = Place(number, end), end + len(raw)
        if not raw.endswith(b"\n"):
            _warn(path, place, "cut off while it was written")
        elif raw.strip():
            yield Line(place, raw)


def header_of(lines: Iterator[Line], path: Path) -> Header:
    """The first line that holds an object; what stands after it is left in ``lines``. Raises as `header_in`."""
    return header_in((entry for line in lines if (entry := _entry(line, path)) is not None), path)


def header_in(read: Iterator[Entry], path: Path) -> Header:
    """The first entry.

    Raises:
        StorageError: There is none, it is not a header, or it is of a newer version.
    """
    first = next(read, None)
    if first is None:
        told = "it does not begin with a header. If an eval was killed as it began, delete it and start again"
        raise StorageError(f"{path} is not a result file: {told}")
    if first.data.get("kind") != "header":
        hint = ". To score recorded runs: micro-agent eval score FILE --tasks TASKS" if "question" in first.data else ""
        raise StorageError(f"{path} is not a result file: it does not begin with a header{hint}")
    version = first.data.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise StorageError(f"{path} is of version {version}, {SCHEMA_VERSION} is known: update micro-agent")
    try:
        return Header.model_validate(first.data)
    except ValidationError as error:
        raise StorageError(f"the header of {path} is damaged: {_fault(error)}") from error


def key_of(line: Line, path: Path) -> Key | None:
    """The key of a result, without a look at the rest of it; ``None`` if it has none."""
    try:
        quick = _Keyed.model_validate_json(line.raw)
    except ValidationError:
        entry = _entry(line, path)
        return None if entry is None else _key_of(entry, path)
    return quick.task.id, quick.epoch


def _key_of(entry: Entry, path: Path) -> Key | None:
    task, epoch = entry.data.get("task"), entry.data.get("epoch", 0)
    name = cast("dict[str, Any]", task).get("id") if isinstance(task, dict) else None
    if entry.data.get("kind") == "result" and isinstance(name, str) and isinstance(epoch, int):
        return name, epoch
    _warn(path, entry.place, "not a result")
    return None


def result_of(line: Line, path: Path) -> Result | None:
    """The result, ``None`` if the line holds something else."""
    try:
        return Result.model_validate_json(line.raw)  # half the time, and it takes less than JSON may be
    except ValidationError:
        entry = _entry(line, path)
    if entry is None:
        return None
    try:
        return Result.model_validate(entry.data)
    except ValidationError as error:
        _warn(path, entry.place, f"not a result: {_fault(error)}")
        return None


def _entry(line: Line, path: Path) -> Entry | None:
    try:
        return Entry(line.place, parse(line.raw))
    except ValueError as error:
        _warn(path, line.place, f"not readable: {error}")
        return None


def remove_torn_line(descriptor: int, path: Path) -> None:
    """Cut off a last line without its end. Raises `OSError`."""
    with open(descriptor, "rb", closefd=False) as file:
        whole = sum(len(line) for line in file if line.endswith(b"\n"))
        torn = file.tell() - whole
        file.seek(0)
    if torn:
        os.ftruncate(descriptor, whole)
        _log.warning("%s: the last line was cut off while it was written; its %d bytes are removed", path, torn)


def _fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _warn(path: Path, place: Place, fault: str) -> None:
    _log.warning("%s, line %d: %s; the line does not count", path, place.number, fault)

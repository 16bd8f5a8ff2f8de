"""Trace files: the records of runs, one a line, and whole runs as files of their own."""

import fcntl
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import ValidationError

from micro_agent.errors import StorageError
from micro_agent.questions import as_recorded
from micro_agent.run import SCHEMA_VERSION, Run
from micro_agent.storage.decisions import write_new
from micro_agent.storage.jsonl import append, open_file, parse, private_folder, read_lines, storage_error, sync_folder
from micro_agent.storage.masking import Mask, mask_of

_log = logging.getLogger("micro_agent")


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a trace: the run, or what is wrong with the line. Number 0 stands for the file itself."""

    line_number: int
    run: Run | None = None
    fault: str | None = None


def read_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Every record of a trace file, in the order of the file, and every fault: nothing raises, nothing is left out.

    A file that is missing, empty, a folder or a FIFO is one record with a fault. A record of a newer version is read,
    with a warning in the log.
    """
    empty = True
    try:
        with open(open_file(Path(path)), "rb") as file:
            for line in read_lines(file):
                empty = False
                yield Record(line.number, fault=line.fault) if line.data is None else _record(line.number, line.data)
    except OSError as error:
        yield Record(0, fault=f"cannot be read: {error.strerror or error}")
        return
    if empty:
        yield Record(0, fault="no record in it: the file is empty")


def _record(number: int, data: dict[str, Any]) -> Record:
    try:
        run = run_of(data)
    except ValueError as error:
        return Record(number, fault=str(error))
    return Record(number, run)


def run_of(data: dict[str, Any]) -> Run:
    """The run in a JSON object. Raises `ValueError` with one line that names the first fault."""
    version = data.get("schema_version", SCHEMA_VERSION)
    newer = isinstance(version, int) and version > SCHEMA_VERSION
    note = f" (schema version {version}, {SCHEMA_VERSION} is known: update micro-agent)" if newer else ""
    try:
        run = Run.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"not a run: {place}: {first['msg']}{note}") from error
    if run.confirmation is not None:
        run.confirmation = as_recorded(run.confirmation)
    if newer:
        _log.warning("run %s is from a newer version and may be read incompletely%s", run.id, note)
    return run


def append_record(path: Path, run: Run, *, mask: Mask, durable: bool = False) -> None:
    """Append a run to a trace file, made with its folder when missing; ``durable`` waits until it is on the disk.

    Writers of one file wait for each other for the length of a write.

    Raises:
        StorageError: the record is not in the file, or (``durable``) perhaps not on the disk.
    """
    line = mask.encode(run)
    try:
        private_folder(path.parent)
        descriptor = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    except OSError as error:
        raise storage_error("open the trace", path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        append(descriptor, line, path)
        if durable:
            os.fdatasync(descriptor)
            sync_folder(path.parent)
    except OSError as error:
        raise storage_error("write the trace", path, error) from error
    finally:
        os.close(descriptor)


def sync_record(path: Path) -> None:
    """Wait until a trace that was written by another process is on the disk. Raises `StorageError`."""
    try:
        descriptor = open_file(path, os.O_RDWR)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        sync_folder(path.parent)
    except OSError as error:
        raise storage_error("write the trace", path, error) from error


def ends_with(path: Path, run: Run) -> bool:
    """Whether the last readable record of a trace file is this run as it is now. False when there is no file."""
    last = None
    for record in read_records(path):
        last = record.run or last
    return last is not None and _state(last) == _state(run)


def _state(run: Run) -> tuple[Any, ...]:
    return run.id, run.ts, run.status, run.termination_reason, len(run.steps), len(run.calls)


def save_run(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write a whole run to a file of its own, one JSON object, for this user alone; returns its path.

    A file of that name is replaced in one step: there is always the old one or the new one. Secrets are masked
    as in a trace, and the file can be read as a trace of one record.

    Raises:
        StorageError: it cannot be written; what was there is unchanged.
    """
    target = Path(path)
    line = mask_of().encode(run)
    temporary = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
    try:
        write_new(temporary, line)
        try:
            os.replace(temporary, target)
        except OSError:
            temporary.unlink()
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise storage_error("save the run to", target, error) from error
    return target


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read a run that `save_run` wrote, also when an editor has spread it over several lines.

    Raises:
        StorageError: there is no such file, or it holds something else.
    """
    source = Path(path)
    try:
        with open(open_file(source), "rb") as file:
            return run_of(parse(file.read()))
    except OSError as error:
        raise storage_error("read the run", source, error) from error
    except ValueError as error:
        raise StorageError(f"{source} is not a saved run: {error}") from error

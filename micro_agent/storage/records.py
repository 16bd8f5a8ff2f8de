"""Trace files: the records of runs, one a line."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from micro_agent.files.jsonl import append, open_file, private_folder, read_lines, storage_error, sync_folder
from micro_agent.files.masking import Mask
from micro_agent.run import Run
from micro_agent.run.saving import run_of


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
        run = run_of(Run, data)
    except ValueError as error:
        return Record(number, fault=str(error))
    return Record(number, run)


def append_record(path: Path, run: Run, *, mask: Mask, durable: bool = False) -> None:
    """Append a run to a trace file, made with its folder when missing; ``durable`` waits until it is on the disk.

    Writers of one file wait for each other for the length of a write. The folder is given the time: who keeps an index
    of it sees by this that a trace has grown, which a folder does not show of itself.

    Raises:
        StorageError: the record is not in the file, or (``durable``) perhaps not on the disk.
    """
    append_encoded(path, mask.encode(run), durable=durable)


def append_encoded(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Append a run that is encoded already, its secrets masked; as `append_record`."""
    folder, flags = path.parent, os.O_RDWR | os.O_APPEND | os.O_CREAT
    try:
        try:
            descriptor = open_file(path, flags)
        except FileNotFoundError:
            private_folder(folder)
            descriptor = open_file(path, flags)
    except OSError as error:
        raise storage_error("open the trace", path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        append(descriptor, line, path)
        with suppress(PermissionError):  # somebody else's folder: an index looks at every file again in ten minutes
            os.utime(folder)
        if durable:
            os.fdatasync(descriptor)
            sync_folder(folder)
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

"""Result files: a header, then one result a line, written as results come and read one at a time.

A line counts when its newline is there: a process can be killed in the middle of a write. Of two results with the same
key (task and epoch) the later one counts.
"""

import os
from collections.abc import Iterator, Set
from contextlib import suppress
from itertools import chain
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple, Self

from micro_agent.errors import ConfigurationError, RunBusy, StorageError
from micro_agent.evaluation.on_disk import KnownLines, KnownTrials
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.result_lines import (
    Key,
    Line,
    Place,
    header_of,
    key_of,
    remove_torn_line,
    result_of,
    whole_lines,
)
from micro_agent.files.jsonl import append, open_file, parse, private_folder, storage_error, sync_folder
from micro_agent.files.masking import mask_of
from micro_agent.storage.locks import hold

__all__ = ["Counted", "Key", "ResultFile", "counted", "place_of", "publish", "read_results"]


class Counted(NamedTuple):
    """What a result file has to know of a line to go on with it."""

    key: Key
    failed: bool
    """Whether its run failed."""
    success: bool
    cost_usd: float | None
    """US dollars; ``None`` is unknown."""


def counted(result: Result) -> Counted:
    """What counts of a result."""
    return Counted(result.key, result.run.status == "failed", result.success, result.run.usage.cost_usd)


class ResultFile:
    """A result file that is being written, by this object alone. Use it as a context manager, or `close` it.

    Secrets are masked as in traces. Safe to share between threads.
    """

    path: Path
    header: Header
    done: Set[Key]
    """The keys that have a result. These sets grow with the file, and are on the disk where they are large."""
    errors: Set[Key]
    """Those of them whose run failed."""
    solved: Set[Key]
    """Those of them that are a success."""
    cost_usd: float | None
    """US dollars of all lines together, also of those that a later line has replaced; unknown once one's is."""

    def __init__(self, path: Path, descriptor: int, header: Header) -> None:
        self.path, self.header = path, header
        self._known, self.cost_usd = KnownTrials(), 0.0
        self.done, self.errors, self.solved = self._known.done, self._known.errors, self._known.solved
        self._descriptor = descriptor
        self._end: int | None = None
        self._lock = Lock()

    @classmethod
    def create(cls, path: str | PathLike[str], header: Header) -> Self:
        """Make a file of this name for this user alone, with its folder, and write the header.

        Raises:
            ConfigurationError: There is a file of this name.
            StorageError: It cannot be written.
        """
        target = Path(path)
        if os.path.lexists(target):
            raise ConfigurationError(f"{target} is there already: resume it, or choose another name")
        try:
            private_folder(target.parent)
            descriptor = open_file(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise storage_error("create the result file", target, error) from error
        file = cls(target, descriptor, header)
        try:
            _hold(descriptor, target)
            file._write(mask_of().encode(header))
        except BaseException:
            file.close()
            with suppress(OSError):  # the first error says more
                target.unlink()
            raise
        return file

    @classmethod
    def resume(cls, path: str | PathLike[str]) -> Self:
        """Open a file to go on with it. A last line that was cut off is removed, and said in the log.

        Raises:
            RunBusy: Another process writes to it.
            StorageError: It cannot be read or written, has no header, or is of a newer version.
        """
        target = Path(path)
        try:
            return cls._taken_up(open_file(target, os.O_RDWR | os.O_APPEND), target)
        except OSError as error:
            raise storage_error("open the result file", target, error) from error

    @classmethod
    def _taken_up(cls, descriptor: int, path: Path) -> Self:
        try:
            _hold(descriptor, path)
            remove_torn_line(descriptor, path)
            with open(descriptor, "rb", closefd=False) as source:
                lines = whole_lines(source, path)
                file = cls(path, descriptor, header_of(lines, path))
                for line in lines:
                    if (result := result_of(line, path)) is not None:
                        file._count(counted(result))
        except BaseException:
            os.close(descriptor)
            raise
        return file

    def append(self, result: Result) -> None:
        """Write a result. Raises `StorageError`; it is then not in the file."""
        self.append_line(mask_of().encode(result), counted(result))

    def append_line(self, line: bytes, counted: Counted) -> None:
        """Write a result that is a line already: encoded, its secrets masked, with its newline; raises as `append`."""
        self._write(line, counted)

    def close(self) -> None:
        """Let go of the file; nothing can be written any more. Closing again does nothing."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor >= 0:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: bytes, counted: Counted | None = None) -> None:
        with self._lock:
            if self._descriptor < 0:
                raise StorageError(f"the result file {self.path} is closed: resume it to go on with it")
            end, self._end = self._end, None  # unknown again if the write fails
            self._end = append(self._descriptor, line, self.path, end=end)
            if counted is not None:
                self._count(counted)

    def _count(self, counted: Counted) -> None:
        cost = counted.cost_usd
        self._known.add(counted.key, failed=counted.failed, success=counted.success)
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost


def read_results(path: str | PathLike[str]) -> tuple[Header, Iterator[Result]]:
    """The header of a result file and its results, each key once, in the order of the keys' first lines.

    Results are read as they are asked for, from a file of any size. A damaged line is a warning in the log, with its
    number, and does not count. A file can be read while it is written.

    Raises:
        StorageError: It cannot be read, has no header, or is of a newer version.
    """
    source, known = Path(path), KnownLines()
    try:
        with open(open_file(source), "rb") as file:
            lines = whole_lines(file, source)
            header = header_of(lines, source)
            for line in lines:
                known.add(line.place, key_of(line, source))
    except OSError as error:
        raise storage_error("read the result file", source, error) from error
    return header, _latest(source, known)


def place_of(header: Header) -> Path:
    """Where the results of an eval are written unless its user says where."""
    moment = header.ts[:19].replace("-", "").replace(":", "") + "Z"
    return Path("evals", "results", f"{moment}-{header.id[:8]}.jsonl")


def publish(temporary: Path, target: Path) -> None:
    """Give a result file its name once its content is on the disk. Raises `StorageError`."""
    try:
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except OSError as error:
        raise storage_error("write the result file", target, error) from error


def _latest(path: Path, known: KnownLines) -> Iterator[Result]:
    """Of each key the last line that is a result."""
    try:
        with open(open_file(path), "rb") as file, open(open_file(path), "rb") as again:
            for line in _firsts(file, known):
                later = (Line(place, _read_at(again, place)) for place in known.later(line.place.number))
                found = (_result(one, path) for one in chain(later, [line]))
                result = next((one for one in found if one is not None), None)
                if result is not None:
                    yield result
    except (OSError, ValueError) as error:
        raise StorageError(f"the result file {path} changed while it was read: read it again ({error})") from error


def _firsts(file: IO[bytes], known: KnownLines) -> Iterator[Line]:
    """The first line of each key. Raises `OSError`."""
    for number in range(1, known.last + 1):
        raw = file.readline()
        if number >= known.begin and known.is_first(number):
            yield Line(Place(number, 0), raw)


def _read_at(file: IO[bytes], place: Place) -> bytes:
    file.seek(place.offset)
    return file.readline()


def _result(line: Line, path: Path) -> Result | None:
    """Raises `ValueError` where there is no object any more."""
    result = result_of(line, path)
    if result is None:
        parse(line.raw)
    return result


def _hold(descriptor: int, path: Path) -> None:
    try:
        hold(descriptor, path)
    except RunBusy:
        raise RunBusy(f"another process writes to {path}: wait for it, or end it and resume again") from None

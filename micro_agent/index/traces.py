"""The index of the traces of one store: kept up to date by file and offset, asked for successes like a task."""

import errno
import fcntl
import json
import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from micro_agent.files.jsonl import open_file, private_folder
from micro_agent.index.entries import Entry, entry_of, last_record
from micro_agent.index.exemplars import Exemplar, related
from micro_agent.index.schema import Connect, NoFullText, is_damage, opened, remove
from micro_agent.index.searching import Row, candidates
from micro_agent.traces import TraceStore

T = TypeVar("T")
_NAME = re.compile(r"[0-9a-f]{32}\.jsonl")
_BATCH = 250
_LONGEST = 32 * 2**20
"""Bytes of a trace that are read at once: of a longer one the end."""
_POLL_S, _REMOVAL_S = 0.02, 1.0
_COLUMNS = tuple(field.name for field in fields(Entry))
_FIELDS = attrgetter(*_COLUMNS)
_INSERT = (
    f"INSERT INTO runs (run, size, mtime, read, {', '.join(_COLUMNS)}, listed) "
    f"VALUES ({', '.join('?' * (5 + len(_COLUMNS)))}) "
    f"ON CONFLICT (run) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, read = excluded.read, "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
)
_LISTED = "SELECT id FROM runs WHERE run = ? AND listed"
_LIST = "INSERT INTO tasks (rowid, task) VALUES (?, ?)"
_log = logging.getLogger("micro_agent")


class TraceIndex:
    """The index of a store's traces, in its folder of state. Any number of processes can use it.

    Nothing here fails a run: where there is no index to be had, that is said once and nothing is found.

    Attributes:
        path: The file of the database.
    """

    def __init__(
        self, store: TraceStore, *, announce: Callable[[str], None] = _log.warning, connect: Connect = sqlite3.connect
    ) -> None:
        """The index of this store; nothing is made before it is used.

        Args:
            store: Where the traces are.
            announce: Takes what a person has to know, a line at a time.
            connect: Opens a database as `sqlite3.connect` does.
        """
        self._traces, self.path = store.directory, store.state_dir / "index.sqlite3"
        self._announce, self._connect = announce, connect
        self._said: set[str] = set()

    def refresh(self, seconds: float | None = None) -> bool:
        """Take in what has come, changed or gone since, the traces written last first. Returns whether that is all.

        Args:
            seconds: Begin nothing after so long: the next call goes on from there. Listing the traces is not bounded,
                a second for some hundred thousand.
        """
        return bool(self._safely(lambda: self._refreshed(_deadline(seconds)), _deadline(seconds)))

    def rebuild(self) -> bool:
        """Make it again from the traces. Returns whether that could be done."""
        self._safely(lambda: remove(self.path), None)
        return self.refresh()

    def exemplars(
        self, task: str, most: int = 3, *, kind: str | None = None, without: Collection[str] = (),
        usable: Callable[[Exemplar], bool] = lambda exemplar: True,
    ) -> list[Exemplar]:  # fmt: skip
        """The past successes that are most like a task, none nearly the same as another.

        Args:
            task: What is asked. Nothing in it has a meaning for the search but its words.
            most: How many at most.
            kind: Only runs with such a coach (``Run.coach``).
            without: Ids of runs that are not shown.
            usable: Whether one may be shown, by what the index does not know.
        """
        if most < 1 or not self.path.exists():
            return []
        rows = self._safely(lambda: self._found(task, kind), _deadline(_REMOVAL_S), alone=False) or []
        found = (
            Exemplar(run, known, tuple(json.loads(tools)), tuple(json.loads(patches)))
            for run, known, tools, patches, size in rows
            if run not in without and self._size(run) == size
        )
        return list(islice(related(task, filter(usable, found)), most))

    def _found(self, task: str, kind: str | None) -> list[Row]:
        with closing(opened(self.path, self._connect)) as connection:
            return candidates(connection, task, kind)

    def _size(self, run_id: str) -> int | None:
        try:
            return (self._traces / f"{run_id}.jsonl").stat().st_size
        except OSError:
            return None

    def _refreshed(self, until: float) -> bool:
        with closing(opened(self.path, self._connect)) as connection:
            known = {run: (size, mtime) for run, size, mtime in connection.execute("SELECT run, size, mtime FROM runs")}
            there = dict(_listed(self._traces))
            gone = [run for run in known if run not in there]
            for at in range(0, len(gone), _BATCH):
                _forget(connection, gone[at : at + _BATCH])
            changed = [(mtime, run) for run, (size, mtime) in there.items() if known.get(run) != (size, mtime)]
            changed.sort(reverse=True)
            for at in range(0, len(changed), _BATCH):
                if time.monotonic() > until:
                    return False
                self._take_in(connection, [run for _, run in changed[at : at + _BATCH]])
        return True

    def _take_in(self, connection: sqlite3.Connection, runs: Sequence[str]) -> None:
        """Read these traces, each from where the row ends if it has grown since, and write their rows."""
        marks = ", ".join("?" * len(runs))
        rows = connection.execute(f"SELECT run, size, read FROM runs WHERE run IN ({marks})", runs)
        before = {run: (size, read) for run, size, read in rows}
        new = [
            (run, found) for run in runs if (found := _read(self._traces / f"{run}.jsonl", *before.get(run, (0, 0))))
        ]
        with _written(connection):
            keys: set[str] = set()
            for run, (size, mtime, whole, entry) in new:
                if entry is None:  # it grew, and not by a whole record
                    connection.execute("UPDATE runs SET size = ?, mtime = ? WHERE run = ?", (size, mtime, run))
                    continue
                first = entry.good and run not in before and _is_first(connection, entry.key)
                keys |= _listed_key(connection, run) if run in before else set()
                row = connection.execute(_INSERT, (run, size, mtime, whole, *_values(entry), first)).lastrowid
                if first:
                    connection.execute(_LIST, (row, entry.task))
                elif entry.good:
                    keys.add(entry.key)
            for key in keys:
                _list_newest(connection, key)

    def _safely(self, do: Callable[[], T], until: float | None, *, alone: bool = True) -> T | None:
        """What ``do`` returns; ``None`` where there is no index to be had, or another process is at it until then."""
        try:
            with self._alone(until) if alone else _nobody() as free:
                if not free:
                    return None
                try:
                    return do()
                except sqlite3.DatabaseError as error:
                    if not is_damage(error):
                        raise
                    self._say(f"the index of the traces was damaged ({error}): it is made again from them")
            with self._alone(until) as free:
                if free:
                    remove(self.path)
                    return do() if alone else None
        except NoFullText:
            self._say("this build of SQLite has no FTS5: there are no examples from past runs")
        except (sqlite3.Error, OSError) as error:
            self._say(f"the index of the traces {self.path} cannot be used, so past runs are not looked up: {error}")
        return None

    @contextmanager
    def _alone(self, until: float | None) -> Generator[bool]:
        """Hold the lock of those who write; false where another has it until then."""
        private_folder(self.path.parent)
        descriptor = open_file(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
        try:
            yield _locked(descriptor, until)
        finally:
            os.close(descriptor)

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            self._announce(line)


def _deadline(seconds: float | None) -> float:
    return float("inf") if seconds is None else time.monotonic() + seconds


@contextmanager
def _nobody() -> Generator[bool]:
    yield True


def _locked(descriptor: int, until: float | None) -> bool:
    if until is None or until == float("inf"):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(_POLL_S)


@contextmanager
def _written(connection: sqlite3.Connection) -> Generator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _listed(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """The runs that have a trace, with its size and when it was written."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file():
                    found = _stat(entry)
                    if found:
                        yield entry.name[:32], found
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise


def _stat(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    try:
        found = entry.stat()
    except OSError:  # it has gone since
        return None
    return found.st_size, found.st_mtime_ns


def _read(path: Path, before: int, read: int) -> tuple[int, int, int, Entry | None] | None:
    """The size and time of a trace, how many bytes of it are read now, and what it says; ``None`` if it has gone.

    What it says is ``None`` where nothing whole was added to what had been read.
    """
    try:
        with open(open_file(path), "rb") as file:
            found = os.fstat(file.fileno())
            grown = found.st_size > before and read > 0
            begin = max(read if grown else 0, found.st_size - _LONGEST)
            file.seek(begin)
            raw = file.read(_LONGEST)
    except OSError:
        return None
    record = last_record(raw)
    whole = begin + raw.rfind(b"\n") + 1
    if record is None and grown:
        return found.st_size, found.st_mtime_ns, read, None
    entry = entry_of(path.stem, record) if record is not None else Entry()
    return found.st_size, found.st_mtime_ns, whole, entry


def _values(entry: Entry) -> list[object]:
    return [json.dumps(value) if isinstance(value, tuple) else value for value in _FIELDS(entry)]


def _listed_key(connection: sqlite3.Connection, run: str) -> set[str]:
    return {key for (key,) in connection.execute("SELECT key FROM runs WHERE run = ? AND listed", (run,))}


def _is_first(connection: sqlite3.Connection, key: str) -> bool:
    return connection.execute("SELECT 1 FROM runs WHERE key = ? AND listed", (key,)).fetchone() is None


def _forget(connection: sqlite3.Connection, runs: Sequence[str]) -> None:
    with _written(connection):
        keys: set[str] = set()
        for run in runs:
            keys |= _listed_key(connection, run)
            connection.execute(
                "DELETE FROM tasks WHERE rowid IN (SELECT id FROM runs WHERE run = ? AND listed)", (run,)
            )
            connection.execute("DELETE FROM runs WHERE run = ?", (run,))
        for key in keys:
            _list_newest(connection, key)


def _list_newest(connection: sqlite3.Connection, key: str) -> None:
    """Of the good runs of one task the newest is in the table of words, and no other."""
    newest = connection.execute("SELECT id, task FROM runs WHERE key = ? AND good ORDER BY ts DESC LIMIT 1", (key,))
    listed = connection.execute("SELECT id FROM runs WHERE key = ? AND listed", (key,))
    row, task = newest.fetchone() or (None, None)
    before = [row for (row,) in listed]
    connection.executemany("DELETE FROM tasks WHERE rowid = ?", [(id,) for id in before])
    connection.executemany("UPDATE runs SET listed = 0 WHERE id = ?", [(id,) for id in before if id != row])
    if row is not None:
        connection.execute(_LIST, (row, task))
        connection.execute("UPDATE runs SET listed = 1 WHERE id = ?", (row,))

"""The index of the traces of one store: kept up to date, asked for figures, the latest runs and past successes."""

import fcntl
import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from micro_agent.files.jsonl import open_file, private_folder
from micro_agent.index.counting import Counted, counted, newest
from micro_agent.index.exemplars import Exemplar, related
from micro_agent.index.looking import is_settled, keep, look, stamp_of, was_whole
from micro_agent.index.schema import Connect, NoFullText, is_current, is_damage, make, opened, remove
from micro_agent.index.searching import Row, candidates
from micro_agent.index.writing import BATCH, forget, take_in
from micro_agent.run import Run
from micro_agent.traces import TraceStore

T = TypeVar("T")
_POLL_S, _REMOVAL_S = 0.02, 1.0
_TRUSTING = 20_000
_log = logging.getLogger("micro_agent")


class TraceIndex:
    """The index of a store's traces, in its folder of state. Any number of processes can use it.

    Nothing here fails a run: where there is no index to be had, that is said once.

    Attributes:
        path: The file of the database.
    """

    def __init__(
        self, store: TraceStore, *, announce: Callable[[str], None] = _log.warning, connect: Connect = sqlite3.connect,
        clock: Callable[[], float] = time.time, otherwise: str = "there are no examples from past runs",
        trusting: int = _TRUSTING,
    ) -> None:  # fmt: skip
        """The index of this store; nothing is made before it is used.

        Args:
            store: Where the traces are.
            announce: Takes what a person has to know, a line at a time.
            connect: Opens a database as `sqlite3.connect` does.
            clock: The time in seconds since 1970, as the file system has it.
            otherwise: What is so where there is no index to be had, for a person.
            trusting: From so many traces on, a folder that has not changed for ten minutes at most is trusted to have
                none that another program has changed in place: fewer are looked at every time.
        """
        self._traces, self.path = store.directory, _place(store)
        self._announce, self._connect, self._clock, self._otherwise = announce, connect, clock, otherwise
        self._said, self._trusting = set[str](), trusting

    def refresh(self, seconds: float | None = None, *, all_files: bool = True) -> bool:
        """Take in what has come, changed or gone since, the traces written last first. Returns whether that is all.

        Args:
            seconds: Begin nothing after so long: the next call goes on from there. Looking at the traces is not
                bounded.
            all_files: Whether to look at every file when the folder has changed. Otherwise only runs that are new,
                gone or open are seen, which takes a third of the time, and an ended run that grew is not.
        """
        until = _deadline(seconds)
        return bool(self._safely(lambda: self._with_all(lambda _: True, until, all_files=all_files), until))

    def rebuild(self) -> bool:
        """Make it again from the traces. Returns whether that could be done."""
        self._safely(self._emptied, None)
        return self.refresh()

    def statistics(self, load: Callable[[Iterable[str]], Iterable[Run]]) -> dict[str, Any] | None:
        """What `micro_agent.replay.statistics` gives of all runs on record; ``None`` if there is no index to be had.

        Args:
            load: Reads runs by their ids, as many as can be read. It is given those whose traces have anything odd.
        """
        found: Counted | None = self._safely(lambda: self._with_all(counted, _deadline(None)), None)
        return None if found is None else found.figures(load)

    def newest(self, most: int, seconds: float | None = None) -> list[str] | None:
        """The ids of the runs written last, as many as it takes until so many can be read.

        ``None`` if there is no index, or there is more to take in than can be in so many ``seconds``. It is not made
        for this: a look at the folder takes less.
        """
        if not self.path.exists():
            return None
        until = _deadline(seconds)
        do = partial(self._with_all, lambda connection: newest(connection, most), until, anew=False)
        return self._safely(do, until)

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
            return candidates(connection, task, kind) if is_current(connection) else []

    def _emptied(self) -> None:
        """Take everything out of the file, which stays: who looks for exemplars may be reading it."""
        with closing(opened(self.path, self._connect)) as connection:
            make(connection)

    def _size(self, run_id: str) -> int | None:
        try:
            return (self._traces / f"{run_id}.jsonl").stat().st_size
        except OSError:
            return None

    def _with_all(
        self, do: Callable[[sqlite3.Connection], T], until: float, *, all_files: bool = True, anew: bool = True
    ) -> T | None:  # fmt: skip
        """What ``do`` gives once everything is taken in; ``None`` if there was no time for it.

        Without ``anew`` also where it would have to be made first, or was never whole.
        """
        with closing(opened(self.path, self._connect)) as connection:
            if not anew and not (is_current(connection) and was_whole(connection)):
                return None
            if not is_current(connection):
                make(connection)
            return do(connection) if self._brought_up_to_date(connection, until, all_files=all_files) else None

    def _brought_up_to_date(self, connection: sqlite3.Connection, until: float, *, all_files: bool) -> bool:
        now, stamp = self._clock(), stamp_of(self._traces)
        whole = look(connection, self._traces, stamp, now, all_files=all_files, trusting=self._trusting)
        for batch in _batches(connection, "gone"):
            forget(connection, batch)
        for batch in _batches(connection, "changed"):
            if time.monotonic() > until:
                return False
            take_in(connection, self._traces, batch)
        if whole:
            keep(connection, stamp if is_settled(stamp, now) else None, now)
        return True

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
            self._say(f"this build of SQLite has no FTS5: {self._otherwise}")
        except (sqlite3.Error, OSError) as error:
            self._say(f"the index of the traces {self.path} cannot be used ({error}): {self._otherwise}")
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


def _batches(connection: sqlite3.Connection, table: str) -> Iterator[list[str]]:
    """The runs in a table that `look` has filled, in its order."""
    last = 0
    rows = f"SELECT id, run FROM {table} WHERE id > ? ORDER BY id LIMIT ?"
    while found := connection.execute(rows, (last, BATCH)).fetchall():
        last = found[-1][0]
        yield [run for _, run in found]


def _place(store: TraceStore) -> Path:
    """Where the index lies: one folder of state can have runs of several folders of traces."""
    traces, state = os.path.abspath(store.directory), os.path.abspath(store.state_dir)
    own = "" if os.path.dirname(traces) == state else f"-{sha256(os.fsencode(traces)).hexdigest()[:12]}"
    return store.state_dir / f"index{own}.sqlite3"

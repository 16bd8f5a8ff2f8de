"""Rows of the index: written from traces, taken away. Whoever calls this holds the lock of those who write."""

import json
import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from operator import attrgetter
from pathlib import Path

from micro_agent.index.entries import Entry
from micro_agent.index.looking import place_of
from micro_agent.index.reading import Counts, Trace, read_trace

BATCH = 250
"""So many runs are written at once: what a kill, or the end of the time that there is, can cost."""
_COUNTS = tuple(field.name for field in fields(Counts))
_NUMBERS = attrgetter(*_COUNTS)
_COLUMNS = ("part", "low", "mark", "size", "mtime", "readable", "open", *_COUNTS)
_INSERT = (
    f"INSERT INTO runs (run, {', '.join(_COLUMNS)}) VALUES ({', '.join('?' * (1 + len(_COLUMNS)))}) "
    f"ON CONFLICT (run) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS)} RETURNING id"
)
_EXAMPLE = "INSERT INTO examples (id, ts, kind, task, key, tools, patches, listed) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LIST = "INSERT INTO tasks (rowid, task) VALUES (?, ?)"


def take_in(connection: sqlite3.Connection, folder: Path, runs: Sequence[str]) -> None:
    """Read these traces, a batch of them, and write their rows."""
    found = [(run, trace) for run in runs if (trace := read_trace(folder / f"{run}.jsonl"))]
    rows = connection.execute(f"SELECT run FROM runs WHERE run IN ({', '.join('?' * len(runs))})", runs)
    before = {run for (run,) in rows}
    with written(connection):
        keys: set[str] = set()
        for run, trace in found:
            keys |= _without_example(connection, run) if run in before else set()
            (row,) = connection.execute(_INSERT, (run, *_values(run, trace))).fetchone()
            if trace.entry is not None:
                keys |= _add_example(connection, row, trace.entry)
        for key in keys:
            _list_newest(connection, key)


def forget(connection: sqlite3.Connection, runs: Sequence[str]) -> None:
    """Take the rows of these runs away."""
    with written(connection):
        keys: set[str] = set()
        for run in runs:
            keys |= _without_example(connection, run)
            connection.execute("DELETE FROM runs WHERE run = ?", (run,))
        for key in keys:
            _list_newest(connection, key)


@contextmanager
def written(connection: sqlite3.Connection) -> Generator[None]:
    """All of it is written, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _values(run: str, trace: Trace) -> list[object]:
    numbers = (None,) * len(_COUNTS) if trace.counts is None else _NUMBERS(trace.counts)
    return [*place_of(run, trace.size, trace.mtime), trace.size, trace.mtime, trace.readable, trace.open, *numbers]


def _add_example(connection: sqlite3.Connection, row: int, entry: Entry) -> set[str]:
    """Write an example. Returns the key of its task if another run may have to make room for it."""
    first = connection.execute("SELECT 1 FROM examples WHERE key = ? AND listed", (entry.key,)).fetchone() is None
    tools, patches = json.dumps(entry.tools), json.dumps(entry.patches)
    connection.execute(_EXAMPLE, (row, entry.ts, entry.kind, entry.task, entry.key, tools, patches, first))
    if first:
        connection.execute(_LIST, (row, entry.task))
    return set() if first else {entry.key}


def _without_example(connection: sqlite3.Connection, run: str) -> set[str]:
    """Take the example of a run away, if it is one. Returns the key of its task if another run may stand for it now."""
    known = "SELECT examples.id, key, listed FROM examples JOIN runs USING (id) WHERE run = ?"
    rows = connection.execute(known, (run,)).fetchall()
    for row, _, listed in rows:
        connection.execute("DELETE FROM examples WHERE id = ?", (row,))
        if listed:
            connection.execute("DELETE FROM tasks WHERE rowid = ?", (row,))
    return {key for _, key, listed in rows if listed}


def _list_newest(connection: sqlite3.Connection, key: str) -> None:
    """Of the examples of one task the newest is in the table of words, and no other."""
    newest = connection.execute("SELECT id, task FROM examples WHERE key = ? ORDER BY ts DESC LIMIT 1", (key,))
    listed = connection.execute("SELECT id FROM examples WHERE key = ? AND listed", (key,))
    row, task = newest.fetchone() or (None, None)
    before = [row for (row,) in listed]
    connection.executemany("DELETE FROM tasks WHERE rowid = ?", [(id,) for id in before])
    connection.executemany("UPDATE examples SET listed = 0 WHERE id = ?", [(id,) for id in before if id != row])
    if row is not None:
        connection.execute(_LIST, (row, task))
        connection.execute("UPDATE examples SET listed = 1 WHERE id = ?", (row,))

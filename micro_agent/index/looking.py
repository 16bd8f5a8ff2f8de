"""What has changed in a folder of traces since the index was brought up to date, found without reading them.

A folder that is as it was has no new names and has lost none, and who appends to a trace of ours sets the time of its
folder (`micro_agent.storage.records`): where there are many, nothing is looked at but the runs that are open. Otherwise
each file is asked for its size and time. What is found is not compared row by row, and not kept: sums over the files
and over the rows are compared in 65,536 parts by the first digits of the id, and only where they differ are names put
beside rows.
"""

import os
import sqlite3
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_ENDING, _LENGTH = ".jsonl", 38
_DIGITS = frozenset("0123456789abcdef")
_PARTS = 2**16
_BITS = 2**48 - 1
"""So many bits of a sum's parts: half a billion files until a sum is too large for SQLite."""
_SETTLED_S = 2.0
"""The coarsest clock of a file system: what was written so lately may be written again at the same time."""
_TRUSTED_S = 600.0
"""So long a folder that has not changed is trusted to have no trace that another program has changed in place."""
_TABLES = """
CREATE TEMP TABLE there (run TEXT PRIMARY KEY, size INTEGER, mtime INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE changed (id INTEGER PRIMARY KEY, run TEXT);
CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY, run TEXT);
"""
_CHANGED = (
    "INSERT INTO changed (run) SELECT run FROM there LEFT JOIN runs USING (run) "
    "WHERE runs.size IS NOT there.size OR runs.mtime IS NOT there.mtime ORDER BY there.mtime DESC, run DESC"
)
_GONE = "INSERT INTO gone (run) SELECT run FROM runs WHERE part = ? AND run NOT IN (SELECT run FROM there)"
_SUMS = "SELECT part, sum(low), sum(mark) FROM runs GROUP BY part"


class Stamp(NamedTuple):
    """A folder at a moment."""

    device: int
    inode: int
    mtime: int
    ctime: int


_UNKNOWN = Stamp(-1, -1, -1, -1)


def place_of(run: str, size: int, mtime: int) -> tuple[int, int, int]:
    """The part of a run, the last of its digits, and what all of this is mixed to.

    Another Python may mix it otherwise: then every part differs, and each row is compared.
    """
    low = int(run[20:], 16)
    return int(run[:4], 16), low, hash((low, size, mtime)) & _BITS


def stamp_of(folder: Path) -> Stamp | None:
    """The folder as it is; ``None`` where there is none."""
    try:
        found = folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Stamp(found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)


def is_settled(stamp: Stamp | None, now: float) -> bool:
    """Whether a folder that changes after ``now`` has another stamp."""
    return stamp is not None and now - max(stamp.mtime, stamp.ctime) / 1e9 > _SETTLED_S


def look(
    connection: sqlite3.Connection, folder: Path, stamp: Stamp | None, now: float, *, all_files: bool, trusting: int
) -> bool:  # fmt: skip
    """Note in the tables ``changed`` and ``gone`` which traces are other than their rows, those written last first.

    A folder of ``trusting`` files or more is trusted where it has not changed. Returns whether each file was looked at,
    so that `keep` may be told.

    Raises:
        OSError: The folder cannot be read.
    """
    connection.executescript(_TABLES)
    connection.execute("BEGIN")
    as_it_was = _is_as_it_was(connection, stamp, now, trusting if all_files else None)
    if as_it_was:
        _look_at_open_runs(connection, folder)
    else:
        if not all_files:
            _look_at_open_runs(connection, folder)
        _compare(connection, folder, _odd_parts(connection, folder, all_files=all_files))
    connection.execute("COMMIT")
    return all_files and not as_it_was


def was_whole(connection: sqlite3.Connection) -> bool:
    """Whether the rows have had all traces once, so that little is missing."""
    return connection.execute("SELECT 1 FROM folder").fetchone() is not None


def _is_as_it_was(connection: sqlite3.Connection, stamp: Stamp | None, now: float, trusting: int | None) -> bool:
    """Whether a folder has the stamp that was kept; and where names alone do not count, whether it is trusted."""
    same = "SELECT looked FROM folder WHERE (device, inode, mtime, ctime) = (?, ?, ?, ?)"
    looked = connection.execute(same, stamp or (0,) * 4).fetchone()
    if looked is None or trusting is None:
        return looked is not None
    many = connection.execute("SELECT 1 FROM runs LIMIT 1 OFFSET ?", (trusting - 1,)).fetchone() is not None
    return many and 0 <= now - looked[0] <= _TRUSTED_S


def keep(connection: sqlite3.Connection, stamp: Stamp | None, now: float) -> None:
    """Note that the rows have all traces, as when the folder was like this; ``None``: it may change unseen."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM folder")
    connection.execute("INSERT INTO folder VALUES (?, ?, ?, ?, ?)", (*(stamp or _UNKNOWN), now))
    connection.execute("COMMIT")


def _look_at_open_runs(connection: sqlite3.Connection, folder: Path) -> None:
    rows = connection.execute("SELECT run, size, mtime FROM runs WHERE open ORDER BY mtime DESC").fetchall()
    for run, *known in rows:
        try:
            found = (folder / f"{run}{_ENDING}").stat()
        except FileNotFoundError:
            connection.execute("INSERT INTO gone (run) VALUES (?)", (run,))
            continue
        if [found.st_size, found.st_mtime_ns] != known:
            connection.execute("INSERT INTO changed (run) VALUES (?)", (run,))


def _odd_parts(connection: sqlite3.Connection, folder: Path, *, all_files: bool) -> set[int] | None:
    """The parts in which files and rows differ: in their names, and with ``all_files`` in size or time.

    ``None``: there are no rows.
    """
    if connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone() is None:
        return None
    names, marks = array("q", bytes(8 * _PARTS)), array("q", bytes(8 * _PARTS))
    for entry in _files(folder):
        part, low, mark = place_of(entry.name[:32], *((_stat(entry) or (0, 0)) if all_files else (0, 0)))
        names[part] += low
        marks[part] += mark if all_files else 0
    for part, low, mark in connection.execute(_SUMS):
        names[part] -= low
        marks[part] -= mark if all_files else 0
    return {part for part in range(_PARTS) if names[part] or marks[part]}


def _compare(connection: sqlite3.Connection, folder: Path, parts: set[int] | None) -> None:
    """Put files beside rows, in these parts."""
    if parts == set():
        return
    entries = (entry for entry in _files(folder) if parts is None or int(entry.name[:4], 16) in parts)
    found = ((entry.name[:32], _stat(entry)) for entry in entries)
    connection.executemany(
        "INSERT OR REPLACE INTO there VALUES (?, ?, ?)", ((run, *stat) for run, stat in found if stat)
    )
    connection.execute(_CHANGED)
    connection.executemany(_GONE, ((part,) for part in parts or ()))


def _files(folder: Path) -> "Iterator[os.DirEntry[str]]":
    """What is named like a trace and is a file, in the order of the folder; nothing where there is no folder."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if len(name) == _LENGTH and name.endswith(_ENDING) and _DIGITS.issuperset(name[:32]) and _is_file(entry):
                yield entry


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads in a circle
        return False


def _stat(entry: "os.DirEntry[str]") -> tuple[int, int] | None:
    try:
        found = entry.stat()
    except OSError:  # it has gone since
        return None
    return found.st_size, found.st_mtime_ns

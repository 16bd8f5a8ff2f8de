"""The database of the index: a narrow row for each run, a wide one for each example, and the words of the tasks."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from micro_agent.files.jsonl import open_file, private_folder

VERSION = 2
_WAIT_S = 5.0
_CACHE_KB = 16_000
Connect = Callable[..., sqlite3.Connection]
_FTS5 = "CREATE VIRTUAL TABLE tasks USING fts5(task, tokenize = 'unicode61 remove_diacritics 0')"
_TABLES = ("tasks", "runs", "examples", "folder")
_SCHEMA = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, part INTEGER NOT NULL, low INTEGER NOT NULL,
    mark INTEGER NOT NULL, size INTEGER NOT NULL, mtime INTEGER NOT NULL, readable INTEGER NOT NULL,
    open INTEGER NOT NULL, status TEXT, reason TEXT, lm_calls INTEGER, tool_calls INTEGER, input_tokens INTEGER,
    input_unsaid INTEGER, output_tokens INTEGER, output_unsaid INTEGER, cost_usd REAL, cost_unsaid INTEGER,
    latency_s REAL
);
CREATE INDEX part_of_runs ON runs (part, low, mark);
CREATE INDEX newest_runs ON runs (mtime);
CREATE INDEX open_runs ON runs (id) WHERE open;
CREATE INDEX odd_runs ON runs (id) WHERE status IS NULL;
CREATE TABLE examples (
    id INTEGER PRIMARY KEY, ts TEXT, kind TEXT, task TEXT NOT NULL, key TEXT NOT NULL, tools TEXT NOT NULL,
    patches TEXT NOT NULL, listed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX newest_of_task ON examples (key, ts);
CREATE INDEX listed_of_task ON examples (key) WHERE listed;
CREATE TABLE folder (device INTEGER, inode INTEGER, mtime INTEGER, ctime INTEGER, looked REAL);
{_FTS5};
PRAGMA user_version = {VERSION};
"""
"""``open`` runs are looked at every time, and a run without ``status`` is odd, see `reading.Trace`. ``part``, ``low``
and ``mark`` are told in `looking`. An example has the ``id`` of its run; of those of one task the newest is ``listed``:
its words are in ``tasks``. ``folder`` is the folder of the traces as it was when all of them were in the rows."""


class NoFullText(Exception):
    """This build of SQLite has no FTS5."""


def opened(path: Path, connect: Connect) -> sqlite3.Connection:
    """A connection to the database, which is made empty where it is not there.

    Raises:
        sqlite3.Error: It is damaged, or cannot be used.
        OSError: It is no file of its own, or cannot be made.
    """
    private_folder(path.parent)
    os.close(open_file(path, os.O_RDWR | os.O_CREAT))  # SQLite would make it for everybody to read
    connection = connect(path, timeout=_WAIT_S, isolation_level=None)
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there, as this version has them."""
    return connection.execute("PRAGMA user_version").fetchone()[0] == VERSION


def make(connection: sqlite3.Connection) -> None:
    """Make the tables, in the place of those of another version. Who does so is alone. Raises `NoFullText`."""
    if connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is None:
        raise NoFullText
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for name in _TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in filter(str.strip, _SCHEMA.split(";")):
        connection.execute(statement)
    connection.execute("COMMIT")


def remove(path: Path) -> None:
    """Remove the database; the log goes first, since one of an older database would be read into a newer one."""
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is none of SQLite's, or not what it was: not that it is busy or full."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)

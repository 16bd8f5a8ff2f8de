"""The database of the index: one row for each run, and the words of those that may be shown."""

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from micro_agent.files.jsonl import open_file, private_folder

VERSION = 1
_WAIT_S = 5.0
Connect = Callable[..., sqlite3.Connection]
_FTS5 = "CREATE VIRTUAL TABLE tasks USING fts5(task, tokenize = 'unicode61 remove_diacritics 0')"
_SCHEMA = f"""
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime INTEGER NOT NULL,
    read INTEGER NOT NULL, ts TEXT, status TEXT, reason TEXT, kind TEXT, model TEXT, follows TEXT, steps INTEGER,
    lm_calls INTEGER, tool_calls INTEGER, input_tokens INTEGER, output_tokens INTEGER, cost_usd REAL, latency_s REAL,
    task TEXT, key TEXT, tools TEXT, patches TEXT, good INTEGER NOT NULL, listed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX good_of_task ON runs (key, ts) WHERE good;
CREATE INDEX listed_of_task ON runs (key) WHERE listed;
{_FTS5};
PRAGMA user_version = {VERSION};
"""
"""``read`` is how many bytes of the trace are in the row. Of the good runs of one task the newest is ``listed``: its
words are in ``tasks``, under its id."""


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
    return connect(path, timeout=_WAIT_S, isolation_level=None)


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there, as this version has them."""
    return connection.execute("PRAGMA user_version").fetchone()[0] == VERSION


def make(connection: sqlite3.Connection) -> None:
    """Make the tables, in the place of those of another version. Who does so is alone. Raises `NoFullText`."""
    if connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchone() is None:
        raise NoFullText
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    for name in ("tasks", "runs"):
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

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
    """A connection to the index, which is made where it is not there or of another version.

    Raises:
        NoFullText: It cannot be made.
        sqlite3.Error: It is damaged, or cannot be used.
        OSError: It is no file of its own, or cannot be made.
    """
    private_folder(path.parent)
    os.close(open_file(path, os.O_RDWR | os.O_CREAT))  # SQLite would make it for everybody to read
    connection = connect(path, timeout=_WAIT_S, isolation_level=None)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            _made(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _made(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:  # another process was first
        connection.execute("ROLLBACK")
        return
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name IN ('tasks', 'runs')").fetchall():
        connection.execute(f"DROP TABLE {name}")
    try:
        for statement in filter(str.strip, _SCHEMA.split(";")):
            connection.execute(statement)
    except sqlite3.OperationalError as error:
        if "fts5" in str(error):
            raise NoFullText from error
        raise
    connection.execute("COMMIT")


def remove(path: Path) -> None:
    """Remove the database; the log goes first, since one of an older database would be read into a newer one."""
    for suffix in ("-wal", "-shm", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is none of SQLite's, or not what it was: not that it is busy or full."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)

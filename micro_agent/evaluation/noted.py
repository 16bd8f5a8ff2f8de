"""What has to be remembered of a million runs: a temporary table, which SQLite keeps on the disk when it is large."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Self

from micro_agent.errors import StorageError

_CACHE_KB = 2_000


class Noted:
    """A database of this process alone, gone when it is closed. Use it as a context manager."""

    def __init__(self, table: str) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        for statement in (f"PRAGMA cache_size = -{_CACHE_KB}", "PRAGMA journal_mode = OFF", "BEGIN", table):
            self._connection.execute(statement)

    def run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Execute a statement. Raises `StorageError`."""
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise _full(error) from error

    def run_many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Execute a statement for each of these rows. Raises `StorageError`."""
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise _full(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _full(error: sqlite3.Error) -> StorageError:
    told = "free some space in the folder for temporary files, or set SQLITE_TMPDIR to another"
    return StorageError(f"cannot note what was read: {error}; {told}")

"""Tables of one process, for what does not fit into memory: SQLite has a large one on the disk, unnamed."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Self
from weakref import finalize

from micro_agent.errors import StorageError

_CACHE_KB = 2_000


class Scratch:
    """Tables of this process alone, gone with it or when they are closed. Safe to share between threads."""

    def __init__(self, *tables: str) -> None:
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._close = finalize(self, self._connection.close)
        # One transaction that never ends: nothing is to survive the process.
        self.run(f"PRAGMA cache_size = -{_CACHE_KB}")
        for statement in ("PRAGMA journal_mode = OFF", "BEGIN", *tables):
            self.run(statement)

    def run(self, statement: str, values: Iterable[Any] = ()) -> sqlite3.Cursor:
        """Execute a statement. Raises `StorageError`."""
        try:
            return self._connection.execute(statement, tuple(values))
        except sqlite3.Error as error:
            raise _full(error) from error

    def run_many(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Execute a statement for each of these rows. Raises `StorageError`."""
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            raise _full(error) from error

    def one(self, statement: str, *values: Any) -> Any:
        """The first row that a query gives, ``None`` without one."""
        return self.run(statement, values).fetchone()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _full(error: sqlite3.Error) -> StorageError:
    told = "free some space in the folder of temporary files (TMPDIR)"
    return StorageError(f"cannot note what was read: {error}; {told}")

"""What is known of the lines of a result file, where it does not fit into memory."""

from collections.abc import Iterable, Iterator, Set
from typing import Any, cast

from micro_agent.evaluation.result_lines import Key, Place
from micro_agent.evaluation.scratch import Scratch


def packed(key: Key) -> bytes:
    """A key as bytes, whatever a file has in the place of an id or a number."""
    return f"{key[1]}:{key[0]}".encode(errors="surrogatepass")


def unpacked(data: bytes) -> Key:
    """The key that was `packed`."""
    epoch, _, task = data.decode(errors="surrogatepass").partition(":")
    return task, int(epoch)


class Keys(Set[Key]):
    """Some of the trials of a file, as a set that grows with it."""

    def __init__(self, table: Scratch, condition: str) -> None:
        self._table, self._condition, self._size = table, condition, 0

    def __contains__(self, key: object) -> bool:
        statement = f"SELECT 1 FROM trials WHERE key = ? AND {self._condition}"
        return isinstance(key, tuple) and self._table.one(statement, packed(cast("Key", key))) is not None

    def __iter__(self) -> Iterator[Key]:
        for (key,) in self._table.run(f"SELECT key FROM trials WHERE {self._condition}"):
            yield unpacked(key)

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return repr(set(self))

    def resized(self, change: int) -> None:
        """Note that so many keys have joined or left."""
        self._size += change

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Set[Any]:
        return set(it)


class KnownTrials:
    """The trials that have a result: which there are, whose run failed, which are a success."""

    def __init__(self) -> None:
        columns = "key BLOB PRIMARY KEY, failed INTEGER, success INTEGER"
        self._table = Scratch(f"CREATE TABLE trials ({columns}) WITHOUT ROWID")
        self.done, self.errors, self.solved = (Keys(self._table, that) for that in ("TRUE", "failed", "success"))

    def add(self, key: Key, *, failed: bool, success: bool) -> None:
        """Note a result; that of the same trial before counts no more."""
        row, was = (packed(key), failed, success), (False, False)
        if self._table.run("INSERT OR IGNORE INTO trials VALUES (?, ?, ?)", row).rowcount:
            self.done.resized(1)
        else:
            was = self._table.one("SELECT failed, success FROM trials WHERE key = ?", row[0])
            self._table.run("REPLACE INTO trials VALUES (?, ?, ?)", row)
        self.errors.resized(failed - was[0])
        self.solved.resized(success - was[1])


class KnownLines:
    """Which line of a file has the result of each trial, told by the numbers of the lines."""

    def __init__(self) -> None:
        self._table = Scratch(
            "CREATE TABLE firsts (key BLOB PRIMARY KEY, number INTEGER) WITHOUT ROWID",
            "CREATE TABLE others (number INTEGER PRIMARY KEY, first INTEGER, offset INTEGER)",
            "CREATE INDEX of_first ON others (first)",
        )
        self._others = 0
        self.begin, self.last = 1, 0
        """The numbers of the first and of the last line that are known."""

    def add(self, place: Place, key: Key | None) -> None:
        """Note the line at a place, which has the result of a trial or (``None``) of none."""
        if not self.last:
            self.begin, self.last = place.number, place.number - 1
        for number in range(self.last + 1, place.number):
            self._other(number, None, None)
        self.last, row = place.number, (key and packed(key), place.number)
        if key is None:
            self._other(place.number, None, None)
        elif not self._table.run("INSERT OR IGNORE INTO firsts VALUES (?, ?)", row).rowcount:
            (first,) = self._table.one("SELECT number FROM firsts WHERE key = ?", row[0])
            self._other(place.number, first, place.offset)

    def _other(self, number: int, first: int | None, offset: int | None) -> None:
        self._others += 1
        self._table.run("INSERT INTO others VALUES (?, ?, ?)", (number, first, offset))

    def is_first(self, number: int) -> bool:
        """Whether the line is the first of a trial."""
        return not self._others or self._table.one("SELECT 1 FROM others WHERE number = ?", number) is None

    def later(self, number: int) -> list[Place]:
        """The other lines of the trial whose first line this is, the last of them first."""
        if not self._others:
            return []
        rows = self._table.run("SELECT number, offset FROM others WHERE first = ? ORDER BY number DESC", (number,))
        return [Place(*row) for row in rows]

"""The search of the index: by the words of a task that are rare in it, ranked by BM25.

A word that is in many tasks says little about any of them, and ranking all that have it takes longer than the rest.
"""

import sqlite3
from collections.abc import Sequence

from micro_agent.index.words import words_of

_COMMON = 500
"""A word that is in so many tasks does not choose among them, unless all are."""
_RANKED = 1_000
_MOST = 50
_COUNT = "SELECT count(*) FROM (SELECT 1 FROM tasks WHERE tasks MATCH ? LIMIT ?)"
_FOUND = (
    "SELECT runs.run, one.task, one.tools, one.patches, runs.size FROM tasks "
    "JOIN examples AS one ON one.id = tasks.rowid JOIN runs ON runs.id = one.id "
    "WHERE tasks MATCH ? AND (? IS NULL OR one.kind = ?) ORDER BY {} LIMIT ?"
)
_BEST, _NEWEST = "tasks.rank", "tasks.rowid DESC"
Row = tuple[str, str, str, str, int]


def candidates(connection: sqlite3.Connection, task: str, kind: str | None) -> list[Row]:
    """The successes that share words with a task, the best first, and more of them than are shown."""
    counts = {word: connection.execute(_COUNT, (_quoted([word]), _COMMON)).fetchone()[0] for word in words_of(task)}
    known = {word: count for word, count in counts.items() if count}
    rare = _rare(known)
    if rare:
        return _asked(connection, _quoted(rare, " OR "), kind, _BEST)
    # All are common: the newest tasks that have all of them.
    return _asked(connection, _quoted(list(known), " AND "), kind, _NEWEST) if known else []


def _rare(counts: dict[str, int]) -> list[str]:
    """The rarest words, as many as there is time to rank what they are in."""
    chosen: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        total += count
        if count >= _COMMON or (total > _RANKED and chosen):
            break
        chosen.append(word)
    return chosen


def _asked(connection: sqlite3.Connection, match: str, kind: str | None, order: str) -> list[Row]:
    return connection.execute(_FOUND.format(order), (match, kind, kind, _MOST)).fetchall()


def _quoted(words: Sequence[str], between: str = " ") -> str:
    """Words as FTS5 takes them: in quotes nothing has a meaning, and words have no quotes in them."""
    return between.join(f'"{word}"' for word in words)

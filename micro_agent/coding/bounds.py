"""How much of a result the model is shown, field by field: whole lines where that is possible."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

TEXT, LINES, ITEMS, TAIL, LINE = 3_000, 150, 100, 5_000, 500
"""Characters and lines of a text, items of a list, characters of the end of an output and of one line of a file."""
FAILURES, SAID = 10, 400
"""Failures of tests, and characters of what is said about each."""


def cut_text(text: str, chars: int = TEXT, lines: int = LINES) -> tuple[str, bool]:
    """The beginning of a text, and whether anything was left out. It ends with a line, unless the first is too long."""
    parts = text.split("\n", lines)
    kept = text if len(parts) <= lines else "\n".join(parts[:lines]) + "\n"
    if len(kept) > chars:
        kept = kept[: kept.rfind("\n", 0, chars) + 1 or chars]
    return kept, len(kept) < len(text)


def tail(text: str, chars: int = TAIL) -> tuple[str, bool]:
    """The end of a text, and whether anything was left out. It begins with a line, unless the last is too long."""
    if len(text) <= chars:
        return text, False
    kept = text[-chars:]
    whole = text[-chars - 1] + kept
    begin = whole.find("\n", 0, chars) + 1  # a line's end as the very last character begins nothing
    return (whole[begin:] if begin else kept), True


def cut_list(items: Sequence[T], most: int = ITEMS) -> tuple[list[T], bool]:
    """The first items, and whether there were more."""
    return list(items[:most]), len(items) > most


def cut_line(line: str, chars: int = LINE) -> tuple[str, bool]:
    """A line, or its beginning with ``…`` for the rest, and whether anything was left out."""
    return (line, False) if len(line) <= chars else (line[: chars - 1] + "…", True)

"""What the lines of a hunk can mean: as its counts say, or, where they are wrong, as the lines look."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from micro_agent.coding.patches.sections import Hunk, counted

_INDENTED = re.compile(r"([ \t]+)[+-]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a hunk.

    Attributes:
        sign: Blank for one that stays, ``-`` for one that goes, ``+`` for one that comes.
        text: What stands behind the sign.
        raw: The line with its sign; of one without a sign, which then stays, it is the text.
        ends: Whether a newline follows; it does not where the diff says so.
    """

    sign: str
    text: str
    raw: str
    ends: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """One meaning of a hunk.

    Attributes:
        lines: Its lines.
        repaired: What was taken to be wrong.
        start: The line number where it says that it is, from 1; ``None`` where its numbers are not to be relied on.
        sent_with_returns: Whether its header ends with a carriage return too: those of its lines may be none of theirs.
    """

    lines: tuple[Line, ...]
    repaired: tuple[str, ...]
    start: int | None
    sent_with_returns: bool = False

    @property
    def old(self) -> list[Line]:
        """The lines that the file is to have."""
        return [line for line in self.lines if line.sign != "+"]


def readings(hunk: Hunk) -> Iterator[Reading]:
    """The meanings of a hunk, the most literal first."""
    indented = dedented(hunk)
    for reading in _readings(indented or hunk):
        repaired = (*reading.repaired, *["indentation of the diff"] * (indented is not None))
        yield replace(reading, repaired=repaired, start=None if indented else reading.start)


def _readings(hunk: Hunk) -> Iterator[Reading]:
    if hunk.counted is not None and not _goes_on(hunk.lines[hunk.counted :]):
        repaired = ("hunk header",) if hunk.is_loose else ()
        start = None if hunk.old is None else hunk.old[0] + (hunk.old[1] == 0)
        yield Reading(_lines(hunk.lines[: hunk.counted]), repaired, start, hunk.header_returns)
        return
    why = ("hunk header",) if hunk.old is None or hunk.is_loose else ("counts",)
    whole = Reading(_lines(hunk.lines), why, None, hunk.header_returns)
    bare = next((at for at, line in enumerate(hunk.lines) if _is_bare(line)), None)
    yield replace(whole, repaired=("leading blanks",)) if bare is not None and _counts_hold(hunk, whole) else whole
    if bare is not None and not any(line.startswith(("+", "-")) for line in hunk.lines[bare:]):
        yield Reading(_lines(hunk.lines[:bare]), (*why, "prose"), None, hunk.header_returns)


def dedented(hunk: Hunk) -> Hunk | None:
    """A hunk that is indented as a whole below its header, without that; ``None`` where a line stands as it should."""
    if any(line.startswith(("+", "-")) for line in hunk.lines):
        return None
    before = next((found[1] for line in hunk.lines if (found := _INDENTED.match(line))), None)
    if before is None or any(line.strip() and not line.startswith(before) for line in hunk.lines):
        return None
    lines = [line.removeprefix(before) if line.startswith(before) else "" for line in hunk.lines]
    taken = counted(lines, 0, hunk.old[1], hunk.new[1]) if hunk.old and hunk.new else None
    return replace(hunk, lines=lines, counted=taken)


def _goes_on(rest: list[str]) -> bool:
    """Whether what follows the counted lines of a hunk looks like more of it."""
    first = next((line for line in rest if line.strip()), "")
    return first.startswith(" ") or any(line.startswith(("+", "-")) for line in rest)


def _is_bare(line: str) -> bool:
    return bool(line.strip()) and line[0] not in " +-" and not line.startswith("\\ ")


def _counts_hold(hunk: Hunk, reading: Reading) -> bool:
    lines = reading.lines
    while lines and not lines[-1].raw.strip():
        lines = lines[:-1]
    old = sum(line.sign != "+" for line in lines)
    new = sum(line.sign != "-" for line in lines)
    return hunk.old is not None and hunk.new is not None and (old, new) == (hunk.old[1], hunk.new[1])


def _lines(raws: list[str]) -> tuple[Line, ...]:
    lines: list[Line] = []
    for raw in raws:
        if raw.startswith("\\ "):
            if lines:
                lines[-1] = replace(lines[-1], ends=False)
        elif raw[:1] in ("+", "-", " "):
            lines.append(Line(raw[0], raw[1:], raw))
        else:
            lines.append(Line(" ", raw, raw))
    return tuple(lines)

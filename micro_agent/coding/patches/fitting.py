"""Where a hunk belongs in a file: at the one place that has its lines, by ever less exact comparison.

Each step is taken only if the one before found no place, and is taken back if it finds several.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import product
from typing import NamedTuple

from micro_agent.coding.indentation import carried, indent_of
from micro_agent.coding.patches.contents import Content, Key
from micro_agent.coding.patches.faults import PatchError, misfit
from micro_agent.coding.patches.readings import Line, Reading

_COMMON, _MOST_COMPARED = 50, 2_000
"""A line that a file has more often says little about which place is meant."""


class Edit(NamedTuple):
    """These lines of a file become those. Line numbers count from 0, ``end`` is the first one behind."""

    start: int
    end: int
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a hunk belongs.

    Attributes:
        start: The first of its lines in the file, from 0.
        end: The first line behind them.
        edits: What changes there.
        ends: Whether the last line ends with a newline afterwards; ``None`` where the hunk does not reach it.
        repaired: What differs between its lines and those of the file.
    """

    start: int
    end: int
    edits: tuple[Edit, ...]
    ends: bool | None
    repaired: tuple[str, ...]


_MARK = "\ufeff"
_STEPS: tuple[tuple[str, Key], ...] = (
    ("same", lambda text: text),
    ("returns", lambda text: text.removeprefix(_MARK).rstrip("\r")),
    ("blanks", lambda text: text.removeprefix(_MARK).rstrip()),
    ("raw", lambda text: text.removeprefix(_MARK).rstrip()),
    ("indents", lambda text: text.removeprefix(_MARK).strip()),
)
"""How lines are compared: in ``raw``, what stays is taken to lack the blank before it."""
_BY_NAME = dict(_STEPS)
_ALIKE, _LONGEST_TYPO = 0.8, 500
_MOST_TRIMS = 4


def at_its_number(reading: Reading, content: Content) -> Fit | None:
    """The fit of a hunk whose lines are, to the letter, where its numbers say."""
    old = reading.old
    if reading.start is None:
        return None
    if not old:
        return _fit(reading, content, 0, 0, "same") if not content.lines else None
    start = reading.start - 1
    is_there = start >= 0 and content.lines[start : start + len(old)] == [line.text for line in old]
    if is_there and _marks_hold(old, content, start + len(old)):
        return _fit(reading, content, start, start + len(old), "same")
    return None


def the_place(reading: Reading, content: Content, what: str, path: str) -> Fit:
    """The fit of a hunk at the one place that has its lines, wherever its numbers say.

    Raises:
        PatchError: No place has them, or several do.
    """
    if not reading.old:
        raise misfit(f"{what} adds lines and shows none that are there: add the lines around them", path)
    trims = _trims(reading.lines)
    for steps in (_STEPS[:3], _STEPS[3:]):
        for (first, last), (step, key) in product(trims, steps):
            lines = reading.lines[first:last]
            old = [line for line in lines if line.sign != "+"]
            if not any(line.text.strip() or line.sign == "-" for line in old):
                break
            wanted = [key(line.raw if step == "raw" and line.sign == " " else line.text) for line in old]
            places = content.places(wanted, step, key)
            if len(places) > 1:
                places = _by_the_end(wanted, old, content, key) or _raise_ambiguous(what, path, places)
            if places:
                repaired = ("blank lines around it",) if len(lines) < len(reading.lines) else ()
                part = replace(reading, lines=lines, repaired=(*reading.repaired, *repaired), start=None)
                fit = _fit(part, content, places[0], places[0] + len(old), step)
                if fit is None:
                    raise misfit(f"{what} is indented otherwise than {path}, and its added lines could be too: indent "
                                 "all of it as the file is", path, places[0] + 1)  # fmt: skip
                return fit
    fit = _despite_typo(reading, content, what, path)
    if fit is not None:
        return fit
    raise nowhere(reading, content, what, path)


def _despite_typo(reading: Reading, content: Content, what: str, path: str) -> Fit | None:
    """The fit of a hunk whose first or last line, which stays, is mistyped; the file keeps its own."""
    for edge, rest in ((reading.lines[-1], reading.lines[:-1]), (reading.lines[0], reading.lines[1:])):
        old = [line for line in rest if line.sign != "+"]
        if edge.sign != " " or not any(line.text.strip() for line in old):
            continue
        wanted = [line.text.rstrip() for line in old]
        places = content.places(wanted, "blanks", _BY_NAME["blanks"])
        if len(places) > 1:
            _raise_ambiguous(what, path, places)
        if not places:
            continue
        at = places[0] + len(old) if edge is reading.lines[-1] else places[0] - 1
        if 0 <= at < len(content.lines) and _is_typo(edge.text, content.lines[at]):
            part = replace(reading, lines=rest, repaired=(*reading.repaired, "a mistyped line around it"), start=None)
            return _fit(part, content, places[0], places[0] + len(old), "blanks")
    return None


def _is_typo(written: str, there: str) -> bool:
    """Whether one line is the other with a slip: a number that differs is none, but of another file."""
    numbers = [re.findall(r"\d+", text) for text in (written, there)]
    is_short = len(written) + len(there) <= _LONGEST_TYPO
    return is_short and numbers[0] == numbers[1] and SequenceMatcher(None, written, there).ratio() >= _ALIKE


def _raise_ambiguous(what: str, path: str, places: list[int]) -> list[int]:
    first, second = (place + 1 for place in places)
    message = (
        f"{what} fits at line {first} and at line {second} of {path}, perhaps at more: add lines around the change"
    )
    error = misfit(message, path, first)
    error.is_final = True
    raise error


def _by_the_end(wanted: list[str], old: list[Line], content: Content, key: Key) -> list[int]:
    """The last place, where the hunk says that it ends without a newline and only that one does."""
    last = len(content.lines) - len(old)
    is_said = not old[-1].ends and not content.ends
    return [last] if is_said and wanted == [key(text) for text in content.lines[last:]] else []


def _trims(lines: tuple[Line, ...]) -> list[tuple[int, int]]:
    """From where to where the lines are looked for: blank ones at either edge may be none of the file's."""
    first, last = 0, len(lines)
    while first < last and lines[first].sign == " " and not lines[first].text.strip():
        first += 1
    while last > first and lines[last - 1].sign == " " and not lines[last - 1].text.strip():
        last -= 1
    ends = [*range(len(lines), max(last, len(lines) - _MOST_TRIMS), -1), last]
    return [(0, end) for end in ends] + [(first, end) for end in ends if first]


def _marks_hold(old: list[Line], content: Content, end: int) -> bool:
    """Whether the hunk says where the file lacks its last newline."""
    lacks = end == len(content.lines) and not content.ends
    return all(line.ends for line in old[:-1]) and old[-1].ends != lacks


def _fit(reading: Reading, content: Content, start: int, end: int, step: str) -> Fit | None:
    """What the hunk does at this place; ``None`` where the indentation of its added lines stays open."""
    there = iter(content.lines[start:end])
    pairs = [(line, next(there)) for line in reading.lines if line.sign != "+"]
    added = [line.text for line in reading.lines if line.sign == "+"]
    repaired = list(reading.repaired) + _differences(pairs)
    if step == "indents":
        carried = _carried(pairs, added)
        if carried is None:
            return None
        added = carried
    if step != "same" or reading.sent_with_returns:
        added = _with_returns(reading.lines, content, start, added)
    mark, ends = _ending(reading, content, end)
    repaired += [mark] if mark else []
    edits = _edits(reading.lines, start, added)
    if step != "same" and edits and edits[0].start == 0:
        edits[0] = _with_mark(edits[0], content)
    return Fit(start, end, tuple(edits), ends, tuple(dict.fromkeys(repaired)))


def _with_mark(edit: Edit, content: Content) -> Edit:
    """A change of the first line that leaves the byte order mark where it is, at the beginning."""
    first = content.lines[0]
    if not first.startswith(_MARK) or not edit.lines or edit.lines[0].startswith(_MARK):
        return edit
    behind = [first.removeprefix(_MARK)] if edit.end == 0 else []
    return Edit(0, max(edit.end, 1), [_MARK + edit.lines[0], *edit.lines[1:], *behind])


def _differences(pairs: list[tuple[Line, str]]) -> list[str]:
    """How the lines that the hunk shows differ from those of the file, in words."""
    found: list[str] = []
    for line, there in pairs:
        if line.text == there:
            continue
        if there.startswith(_MARK) and not line.text.startswith(_MARK):
            found.append("byte order mark")
            there = there.removeprefix(_MARK)
        if line.text == there:
            continue
        if line.text.rstrip("\r") == there.rstrip("\r"):
            found.append("line endings")
        elif line.text.rstrip() == there.rstrip():
            found.append("trailing blanks")
        else:
            found.append("leading blanks" if _lost_its_blank(line, there) else "indentation")
    return found


def _lost_its_blank(line: Line, there: str) -> bool:
    return line.sign == " " and line.raw.rstrip() == there.rstrip()


def _carried(pairs: list[tuple[Line, str]], added: list[str]) -> list[str] | None:
    """The added lines as the file is indented: as the removed ones show it, else as all of them do."""
    told = [(line.text, there) for line, there in pairs if not _lost_its_blank(line, there)]
    removed = [(line.text, there) for line, there in pairs if line.sign == "-"]
    if any(indent_of(there) for _, there in removed) and all(one.rstrip() == other.rstrip() for one, other in removed):
        return added
    return carried([there for _, there in told], [written for written, _ in told], added)


def _with_returns(lines: tuple[Line, ...], content: Content, start: int, added: list[str]) -> list[str]:
    """The added lines with the line ending of the line before each, or of the first one."""
    done: list[str] = []
    at, texts = start, iter(added)
    last = len(content.lines) - (1 if content.ends else 2)  # one that lacks its newline shows no line ending
    for line in lines:
        if line.sign == "+":
            has_return = line.ends and last >= 0 and content.lines[min(max(at - 1, 0), last)].endswith("\r")
            done.append(next(texts).rstrip("\r") + "\r" * has_return)
        else:
            at += 1
    return done


def _ending(reading: Reading, content: Content, end: int) -> tuple[str, bool | None]:
    """What was wrong with what the hunk says of the last newline, and whether there is one afterwards."""
    old, new = reading.old, [line for line in reading.lines if line.sign != "-"]
    is_last = end == len(content.lines)
    if not old:
        return "", all(line.ends for line in new)
    holds = _marks_hold(old, content, end)
    marked = any(not line.ends for line in reading.lines)
    if not is_last:
        return ("mark of the last newline" if marked else ""), None
    if holds:
        return "", not new or new[-1].ends
    goes = reading.lines[-1].sign == "-" and not content.ends
    return "mark of the last newline", content.ends or goes


def _edits(lines: tuple[Line, ...], start: int, added: list[str]) -> list[Edit]:
    """The runs of lines that change."""
    edits: list[Edit] = []
    at, texts = start, iter(added)
    for line in lines:
        if line.sign == " ":
            at += 1
            continue
        if not edits or edits[-1].end != at:
            edits.append(Edit(at, at, []))
        if line.sign == "-":
            at += 1
            edits[-1] = edits[-1]._replace(end=at)
        else:
            edits[-1].lines.append(next(texts))
    return edits


def nowhere(reading: Reading, content: Content, what: str, path: str) -> PatchError:
    """The error that says what the file has where the hunk comes closest."""
    old = reading.old
    start = _closest(reading, content)
    if start is None:
        return misfit(f"{what} fits nowhere in {path}: the file has no line {_shown(_telling(old))}", path)
    lines = content.lines
    at, line = next(
        (at, line)
        for at, line in enumerate(old, start)
        if not 0 <= at < len(lines) or lines[at].strip() != line.text.strip()
    )
    has = f"the file has {_shown(lines[at])}" if 0 <= at < len(lines) else "the file has no such line"
    told = f"{what} does not fit {path}: at line {at + 1} it expects {_shown(line.text)}, {has}"
    return misfit(told, path, at + 1)


def _telling(old: list[Line]) -> str:
    return max((line.text for line in old), key=lambda text: len(text.strip()))


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 80 else text[:77] + "...")


def _closest(reading: Reading, content: Content) -> int | None:
    """Where most of its lines are at their distance from each other."""
    where: dict[str, list[int]] = {}
    for at, text in enumerate(content.lines):
        where.setdefault(text.strip(), []).append(at)
    votes: Counter[int] = Counter()
    for offset, line in enumerate(reading.old[:_MOST_COMPARED]):
        if line.text.strip():
            votes.update(at - offset for at in where.get(line.text.strip(), [])[:_COMMON])
    if not votes:
        return None
    near = reading.start or 1
    return max(votes, key=lambda start: (votes[start], -abs(start + 1 - near)))

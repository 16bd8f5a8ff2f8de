"""What a diff makes of the files of a repository, worked out before anything is touched."""

import stat
from collections.abc import Sequence
from itertools import pairwise
from os import stat_result
from pathlib import Path

from micro_agent.coding.patches.changes import Change, Edited, Plan
from micro_agent.coding.patches.contents import Content, content_of
from micro_agent.coding.patches.envelope import openings
from micro_agent.coding.patches.faults import PatchError, invalid, misfit, refused
from micro_agent.coding.patches.fitting import Edit, Fit, at_its_number, the_place
from micro_agent.coding.patches.names import Target, target_of
from micro_agent.coding.patches.normal import check_normal, normal_of
from micro_agent.coding.patches.readings import readings
from micro_agent.coding.patches.sections import Hunk, Section, sections_of
from micro_agent.coding.paths import PathForbidden, resolve

LARGEST_DIFF = 2_000_000
_MOST_SEARCHED = 1_000
"""Hunks that are looked for elsewhere than at their number."""


def plan(root: Path, diff: str) -> Plan:
    """Work out what a diff makes of the files.

    Raises:
        PatchError: It cannot be read, asks for what a patch does not do, or does not fit.
    """
    if len(diff) > LARGEST_DIFF or len(diff.encode("utf-8", "replace")) > LARGEST_DIFF:
        raise refused(f"the diff has {len(diff)} characters; {LARGEST_DIFF} bytes are the most")
    if any("\ud800" <= sign <= "\udfff" for sign in diff):
        raise refused("the diff holds half of a character, which no file can hold")
    first: PatchError | None = None
    for text, repaired in openings(diff):
        try:
            return _plan(root, text, repaired)
        except PatchError as error:
            first = first or error
            if error.is_final:
                break
    assert first is not None
    raise first


def _plan(root: Path, text: str, repaired: Sequence[str]) -> Plan:
    lines = text.split("\n")
    said = list(repaired)
    if lines[-1] == "":
        lines.pop()
    else:
        said.append("last newline")
    sections, around = sections_of(lines, ends="last newline" not in said)
    if not sections:
        raise invalid(
            "there is no diff in it: send `--- a/PATH`, `+++ b/PATH`, `@@ -LINE,COUNT +LINE,COUNT @@` and lines"
        )
    edited = [_edited(root, section) for section in sections]
    _check_apart(edited)
    texts: list[str] = []
    data: list[bytes] = []
    for one, section in zip(edited, sections, strict=True):
        text = normal_of(one, one.changes[-1].mode)
        check_normal(text, one, section)
        texts.append(text)
        data.append(text.encode(one.before.encoding if one.target.old else "utf-8"))
    for one in edited:
        if one.target.kind == "edited" and one.before == one.after:
            raise misfit(f"the diff changes nothing in {one.target.new}: add or remove a line there", one.target.new)
    files = tuple(one.target.new or one.target.old or "" for one in edited)
    said += around + [f"{name} ({files[at]})" for at, one in enumerate(edited) for name in one.repaired]
    changes = tuple(change for one in edited for change in one.changes)
    return Plan(changes, "".join(texts), b"".join(data), files, tuple(dict.fromkeys(said)))


def _check_apart(edited: Sequence[Edited]) -> None:
    """No file is named twice, and none is to be the folder of another."""
    paths = [change.path for one in edited for change in one.changes]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise refused(f"{twice} is changed in two parts of the diff: put all its hunks below one header")
    for path in paths:
        parts = path.split("/")
        for end in range(1, len(parts)):
            if "/".join(parts[:end]) in paths:
                raise refused(f"{path} lies in what the diff takes for a file")


def _edited(root: Path, section: Section) -> Edited:
    target = target_of(root, section)
    if target.old is None:
        return _made(target, section)
    data, was = read(root, target.old)
    before = content_of(data, target.old)
    fits, repaired = _fits(section, before, target.old)
    if target.kind == "deleted":
        _check_whole(fits, before, target.old)
        change = Change(target.old, data, None, was.st_mode, was)
        edits = [edit for fit in fits for edit in fit.edits]
        return Edited(target, before, Content([], ends=True), edits, (change,), (*target.repaired, *repaired))
    if not fits and target.kind != "renamed":
        raise invalid(f"the diff names {target.old} and has no hunk for it")
    _check_disjoint(fits, target.old)
    edits = [edit for fit in fits for edit in fit.edits]
    after = after_edits(before, edits, next((fit.ends for fit in fits if fit.ends is not None), None))
    path, mode = str(target.new), stat.S_IMODE(was.st_mode)
    changes = (Change(path, data, after.bytes(path), mode, was),)
    if target.kind == "renamed":
        changes = (Change(target.old, data, None, mode, was), Change(path, None, after.bytes(path), mode, None))
    return Edited(target, before, after, edits, changes, (*target.repaired, *repaired))


def read(root: Path, path: str) -> tuple[bytes, stat_result]:
    """What a file holds, and what the system says of it. Raises `PatchError`."""
    try:
        with resolve(root, path, "read") as place:
            assert place.file is not None
            assert place.was is not None
            with open(place.file, "rb", closefd=False) as file:
                return file.read(), place.was
    except (PathForbidden, OSError) as error:
        raise refused(str(error)) from error


def _made(target: Target, section: Section) -> Edited:
    """A new file: all lines of its one hunk are added."""
    path = str(target.new)
    if len(section.hunks) > 1:
        raise invalid(f"{path} is new: put all its lines into one hunk")
    lines: list[str] = []
    repaired, ends = list(target.repaired), True
    for hunk in section.hunks:
        reading = next(readings(hunk))
        repaired += reading.repaired
        shown = list(reading.lines)
        while shown and not shown[-1].raw.strip():
            shown.pop()
        wrong = next((line for line in shown if line.sign != "+" and line.raw.strip()), None)
        if wrong is not None or (shown and hunk.old is not None and hunk.old[1] and "counts" not in repaired):
            shows = ascii(wrong.raw[:80]) if wrong else "old lines"
            raise invalid(f"{path} is new, and its hunk shows {shows}: begin each of its lines with +")
        if any(line.sign != "+" for line in shown):
            repaired.append("blank lines without +")
        lines = [line.text if line.sign == "+" else "" for line in shown]
        ends = not shown or shown[-1].ends
        if all(line.endswith("\r") for line in lines) and hunk.header_returns:
            lines = [line.removesuffix("\r") for line in lines]
            repaired.append("line endings")
    if any("\0" in line for line in lines):
        raise refused(f"{path} would hold NUL: only text is made by a patch")
    after = Content(lines, ends)
    if section.hunks and not lines:
        raise invalid(f"{path} is new, and its hunk has no line")
    edits = [Edit(0, 0, lines)] if lines else []
    change = Change(path, None, after.bytes(path), target.mode, None)
    return Edited(target, Content([], ends=True), after, edits, (change,), tuple(repaired))


def _fits(section: Section, content: Content, path: str) -> tuple[list[Fit], list[str]]:
    """Where each hunk belongs, in the order of the file, and what was repaired in them."""
    fits = _by_numbers(section.hunks, content) or [
        _anywhere(hunk, content, f"hunk {hunk.number}", path, searched) for searched, hunk in enumerate(section.hunks)
    ]
    repaired = [f"{name}, hunk {hunk.number}" for hunk, fit in zip(section.hunks, fits, strict=True)
                for name in fit.repaired]  # fmt: skip
    if any(one.start > other.start for one, other in pairwise(fits)):
        repaired.append("order of the hunks")
        fits.sort(key=lambda fit: fit.start)
    return fits, repaired


def _by_numbers(hunks: Sequence[Hunk], content: Content) -> list[Fit]:
    """The fits, if every hunk is to the letter where its numbers say; else none."""
    fits: list[Fit] = []
    for hunk in hunks:
        fit = at_its_number(next(readings(hunk)), content)
        if fit is None:
            return []
        fits.append(fit)
    return fits


def _anywhere(hunk: Hunk, content: Content, what: str, path: str, searched: int) -> Fit:
    if searched >= _MOST_SEARCHED:
        raise misfit(f"more than {_MOST_SEARCHED} hunks for {path} have wrong line numbers", path)
    first: PatchError | None = None
    for reading in readings(hunk):
        if not reading.lines:
            continue
        try:
            fit = the_place(reading, content, what, path)
        except PatchError as error:
            first = first or error
            if error.is_final:
                raise
            continue
        is_moved = reading.start is not None and fit.start != reading.start - 1
        return fit if not is_moved else _with(fit, "line numbers")
    raise first or invalid(f"{what} of {path} has no lines")


def _with(fit: Fit, repaired: str) -> Fit:
    return Fit(fit.start, fit.end, fit.edits, fit.ends, (*fit.repaired, repaired))


def _check_whole(fits: Sequence[Fit], content: Content, path: str) -> None:
    """A file that goes was shown to the last line."""
    gone = sum(edit.end - edit.start for fit in fits for edit in fit.edits)
    if any(edit.lines for fit in fits for edit in fit.edits) or gone != len(content.lines):
        raise misfit(
            f"{path} is to be deleted and has {len(content.lines)} lines, of which the diff removes {gone}", path
        )


def _check_disjoint(fits: Sequence[Fit], path: str) -> None:
    """No hunk shows or changes a line that another one removes, and no two add lines at one place."""
    shown = removed = 0
    last: Edit | None = None
    for fit in fits:
        clashes = removed > fit.start
        for edit in fit.edits:
            clashes = clashes or (edit.end > edit.start and edit.start < shown)
            clashes = clashes or (last is not None and (edit.start < last.end or edit.start == last.end > fit.start))
        if clashes:
            raise misfit(f"two hunks change the lines at {fit.start + 1} of {path}: make one hunk of them", path,
                         fit.start + 1)  # fmt: skip
        shown = max(shown, fit.end)
        removed = max([removed, *(edit.end for edit in fit.edits if edit.end > edit.start)])
        last = fit.edits[-1] if fit.edits else last


def after_edits(before: Content, edits: Sequence[Edit], ends: bool | None) -> Content:
    """The text with these edits; ``ends`` says whether its last line ends with a newline, ``None`` that it stays so."""
    lines: list[str] = []
    at = 0
    for edit in edits:
        lines += before.lines[at : edit.start]
        lines += edit.lines
        at = edit.end
    lines += before.lines[at:]
    if any("\0" in line for edit in edits for line in edit.lines):
        raise refused("a patch adds no NUL: only text is changed by it")
    return Content(lines, before.ends if ends is None else ends, before.encoding)

"""A patch from the part of a file that is replaced, for a model that cannot write a diff."""

import re
from difflib import SequenceMatcher
from pathlib import Path

from micro_agent.coding.patches.changes import Edited
from micro_agent.coding.patches.contents import Content, content_of
from micro_agent.coding.patches.faults import invalid, listing, reading
from micro_agent.coding.patches.fitting import Edit, the_place
from micro_agent.coding.patches.names import Target
from micro_agent.coding.patches.normal import normal_of
from micro_agent.coding.patches.planning import after_edits, read
from micro_agent.coding.patches.readings import Line, Reading
from micro_agent.coding.paths import PathForbidden, resolve
from micro_agent.tools.error import ToolError

_MOST_COMPARED = 2_000


def diff_of(root: Path, path: str, original: str, new: str) -> tuple[str, tuple[str, ...]]:
    """The diff that puts ``new`` in the place of ``original``, and what was repaired to find it.

    Args:
        root: The top of the repository.
        path: The file.
        original: Text of the file that stands there once; empty for a file that is to be made.
        new: The text that is to stand there.

    Raises:
        ToolError: The file does not have the text, or more than once, or is not one that a patch changes.
    """
    try:
        with resolve(root, path, "write") as place:
            path, is_there = place.path, place.was is not None
    except PathForbidden as error:
        raise ToolError("PATH_FORBIDDEN", str(error)) from error
    if not is_there:
        if original.strip():
            raise _missing(path)
        return _whole(path, new), ()
    data, _ = read(root, path)
    before = content_of(data, path)
    if not original:
        if before.lines:
            raise invalid(f"{path} is there: original_content has to be the part of it that is replaced")
        edits, repaired = [Edit(0, 0, content_of(new.encode(), path).lines)], ()
        return _diff(path, before, edits, ends=new.endswith("\n")), repaired
    if original == new:
        raise invalid("new_content is the same as original_content: say what changes")
    text = before.text
    times = text.count(original)
    if times > 1:
        raise _several(path, text, original)
    if times == 1:
        after = _replaced(text, original, new)
        return _diff(path, before, _edits(before, content_of(after.encode(), path)), ends=after.endswith("\n")), ()
    return _by_lines(path, before, original, new)


def _whole(path: str, new: str) -> str:
    content = content_of(new.encode(), path)
    if not content.lines:
        raise invalid(f"{path} is not there and new_content is empty: give it a text")
    edited = Edited(Target("made", None, path), Content([], ends=True), content, [Edit(0, 0, content.lines)], (), ())
    return normal_of(edited, 0o644)


def _diff(path: str, before: Content, edits: list[Edit], *, ends: bool | None) -> str:
    after = after_edits(before, edits, ends)
    return normal_of(Edited(Target("edited", path, path), before, after, edits, (), ()), 0o644)


def _replaced(text: str, original: str, new: str) -> str:
    """The text with the replacement; whole lines stay lines, whatever is said of the newline at the end of both."""
    at = text.index(original)
    end = at + len(original)
    begins, ends = at == 0 or text[at - 1] == "\n", text[end : end + 1] in ("", "\n")
    if original.endswith("\n") and new and not new.endswith("\n"):
        new += "\n"
    elif not original.endswith("\n") and new.endswith("\n") and ends:
        new = new[:-1]
    elif not new and begins and text[end : end + 1] == "\n":
        end += 1
    return text[:at] + new + text[end:]


def _edits(before: Content, after: Content) -> list[Edit]:
    """The lines that differ."""
    old, new = before.marked(), after.marked()
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    if len(old) + len(new) - 2 * (first + last) > _MOST_COMPARED:
        return [Edit(first, len(old) - last, after.lines[first : len(new) - last])]
    found = SequenceMatcher(None, old[first : len(old) - last], new[first : len(new) - last], autojunk=False)
    return [
        Edit(first + start, first + end, after.lines[first + begin : first + stop])
        for tag, start, end, begin, stop in found.get_opcodes()
        if tag != "equal"
    ]


def _by_lines(path: str, before: Content, original: str, new: str) -> tuple[str, tuple[str, ...]]:
    """The same for whole lines that differ from the file's in line endings, blanks or indentation."""
    old, added = (text.removesuffix("\n").split("\n") if text else [] for text in (original, new))
    lines = [*(Line("-", text, f"-{text}") for text in old), *(Line("+", text, f"+{text}") for text in added)]
    try:
        fit = the_place(Reading(tuple(lines), (), None), before, "original_content", path)
    except ToolError as error:
        is_several = re.search(r" fits at line (\d+)", error.message)
        code = "TARGET_AMBIGUOUS" if is_several else "NOT_FOUND_IN_FILE"
        raise ToolError(code, error.message, recovery=error.recovery) from error
    return _diff(path, before, list(fit.edits), ends=fit.ends), fit.repaired


def _missing(path: str) -> ToolError:
    told = f"there is no file {path}; to make it, leave original_content empty"
    return ToolError("FILE_NOT_FOUND", told, recovery=listing(path))


def _several(path: str, text: str, original: str) -> ToolError:
    numbers: list[str] = []
    at = text.find(original)
    while at >= 0 and len(numbers) < 10:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(original, at + 1)
    told = (
        f"original_content stands in {path} at lines {', '.join(numbers)}: add lines around it until it is there once"
    )
    why = "Read the lines around the place that you mean, and copy more of them."
    return ToolError("TARGET_AMBIGUOUS", told, recovery=reading(path, int(numbers[0]), why))

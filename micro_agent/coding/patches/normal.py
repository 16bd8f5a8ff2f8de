"""The one form of a diff in which a patch is shown, kept, checked by git and applied: what `git diff` would print."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from micro_agent.coding.finding import common
from micro_agent.coding.patches.changes import Edited
from micro_agent.coding.patches.contents import Content
from micro_agent.coding.patches.faults import misfit
from micro_agent.coding.patches.fitting import Edit, at_its_number
from micro_agent.coding.patches.names import Target
from micro_agent.coding.patches.readings import dedented, readings
from micro_agent.coding.patches.sections import Section, sections_of

_CONTEXT, _MOST_COMPARED = 3, 2_000
_NO_NEWLINE = "\\ No newline at end of file"
_TO_QUOTE = re.compile(r'["\\\x00-\x1f\x7f]')


def difference(path: str, before: Content, after: Content) -> str:
    """The diff that makes one content of a file another."""
    return normal_of(Edited(Target("edited", path, path), before, after, _edits(before, after), (), ()), 0o644)


def _edits(before: Content, after: Content) -> list[Edit]:
    """The lines that differ."""
    old, new = before.marked(), after.marked()
    first = common(old, new)
    last = common(old[first:][::-1], new[first:][::-1])
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if len(old) + len(new) > _MOST_COMPARED:
        return [Edit(first, first + len(old), after.lines[first : first + len(new)])]
    return [
        Edit(first + start, first + end, after.lines[first + begin : first + stop])
        for tag, start, end, begin, stop in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def normal_of(edited: Edited, mode: int) -> str:
    """The part of the diff that is about one file."""
    target = edited.target
    old, new = target.old or target.new or "", target.new or target.old or ""
    lines = [f"diff --git {_quoted('a/' + old)} {_quoted('b/' + new)}"]
    if target.kind == "made":
        lines.append(f"new file mode 100{mode:o}")
    elif target.kind == "deleted":
        lines.append(f"deleted file mode 100{755 if mode & 0o100 else 644}")
    elif target.kind == "renamed":
        lines += [f"rename from {_quoted(old)}", f"rename to {_quoted(new)}"]
    hunks = list(_hunks(edited))
    if hunks:
        lines.append("--- " + ("/dev/null" if target.old is None else _header("a/" + old)))
        lines.append("+++ " + ("/dev/null" if target.new is None else _header("b/" + new)))
    return "\n".join([*lines, *hunks]) + "\n"


def _quoted(name: str) -> str:
    """A name as git prints it where it has signs that would end it."""
    if not _TO_QUOTE.search(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\{ord(found[0]):03o}", escaped) + '"'


def _header(name: str) -> str:
    """A name below ``---`` or ``+++``: a tab ends one with blanks."""
    quoted = _quoted(name)
    return quoted + "\t" if " " in quoted and quoted == name else quoted


def _hunks(edited: Edited) -> Iterable[str]:
    before, after = edited.before, edited.after
    shift = 0
    for group in _groups(_with_last(edited)):
        first = max(group[0].start - _CONTEXT, 0)
        last = min(group[-1].end + _CONTEXT, len(before.lines))
        body: list[str] = []
        at, added = first, 0
        for edit in group:
            body += [_line(" ", before, number) for number in range(at, edit.start)]
            body += [_line("-", before, number) for number in range(edit.start, edit.end)]
            new = edit.start + shift + added
            body += [_line("+", after, number) for number in range(new, new + len(edit.lines))]
            added += len(edit.lines) - (edit.end - edit.start)
            at = edit.end
        body += [_line(" ", before, number) for number in range(at, last)]
        yield f"@@ -{_range(first, last - first)} +{_range(first + shift, last - first + added)} @@"
        yield from body
        shift += added


def _with_last(edited: Edited) -> list[Edit]:
    """The edits, and the last line with them where it gets the newline that it lacked."""
    before, after, edits = edited.before, edited.after, edited.edits
    last = len(before.lines)
    stays = bool(before.lines) and not before.ends and (not edits or edits[-1].end < last or edits[-1].start == last)
    if not stays or not edits or edits[-1].end < last:
        return edits
    return [*edits[:-1], Edit(last - 1, last, [before.lines[-1], *edits[-1].lines])] if after.lines else edits


def _groups(edits: Sequence[Edit]) -> Iterable[list[Edit]]:
    group: list[Edit] = []
    for edit in edits:
        if group and edit.start - group[-1].end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _line(sign: str, content: Content, number: int) -> str:
    is_open = number == len(content.lines) - 1 and not content.ends
    return sign + content.lines[number] + (f"\n{_NO_NEWLINE}" if is_open else "")


def _range(start: int, count: int) -> str:
    """Line numbers as a hunk header says them: an empty range is said by the line before it."""
    return f"{start + (count > 0)}" + ("" if count == 1 else f",{count}")


def check_normal(text: str, edited: Edited, said: Section) -> None:
    """The diff as it is written down makes of the file what was worked out, and says what the model's diff said.

    Raises:
        PatchError: It does not: every line that was to come or to go has to be in it exactly once.
    """
    section = sections_of(text.split("\n")[:-1])[0][0]
    lines: list[str] = []
    at = 0
    ends = edited.before.ends
    for hunk in section.hunks:
        fit = at_its_number(next(readings(hunk)), edited.before)
        for edit in fit.edits if fit else ():
            lines += [*edited.before.lines[at : edit.start], *edit.lines]
            at = edit.end
        ends = fit.ends if fit and fit.ends is not None else ends
    made = Content(lines + edited.before.lines[at:], ends)
    is_same = edited.target.kind == "deleted" or (made.lines, made.ends or not made.lines) == (
        edited.after.lines, edited.after.ends or not made.lines)  # fmt: skip
    written, wanted = _edited_lines(section), _edited_lines(said)
    more = written - wanted
    if not is_same or wanted - written or any(more[sign, text] != more["+-"[sign == "+"], text] for sign, text in more):
        raise misfit(
            f"the file at line {said.at} of the diff does not come out as it was meant"
        )  # pragma: no cover (nothing is known to do so)


def _edited_lines(section: Section) -> Counter[tuple[str, str]]:
    """The lines that come and go, without what a repair may change in them."""
    lines = [line for hunk in section.hunks for line in (dedented(hunk) or hunk).lines]
    raws = [line for line in lines if line.startswith(("+", "-"))]
    return Counter((line[0], text) for line in raws if (text := line[1:].replace("\ufeff", "").strip()))

"""Lines named by their number and a tag, ``12:a3``, and edits that name them so.

The tag is drawn from the line and the one above it. It says that a line is the one that the model has read, which a
number alone does not once lines were put in or taken out before it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from micro_agent.coding.bounds import cut_line, cut_list
from micro_agent.coding.finding import Edit, edit_lines
from micro_agent.coding.opening import ErrorWithMore, reading
from micro_agent.tools.error import ToolError

_ANCHOR = re.compile(r"\s*([0-9]{1,9}):([0-9a-f]{2})(?:\|.*)?\s*", re.DOTALL)
_NUMBER = re.compile(r"\s*([0-9]{1,9})")
_TAGGED = re.compile(r"[0-9]+:[0-9a-f]{2}\|")
_AROUND, _MOST_SHOWN, _CHARS = 3, 20, 200
TOLD = (
    "Replace, delete or insert whole lines of a file, named by number and tag as read_file shows them, such as 12:a3."
)
PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "From the root of the repository."},
        "start_tag": {"type": "string", "description": "The first line that is replaced, such as 12:a3."},
        "end_tag": {"type": "string", "description": "The last one, if there are several."},
        "replacement": {"type": "string", "description": "The new lines, without tags. Empty to delete."},
        "insert": {
            "enum": ["before", "after"],
            "description": "Replace nothing: put the new lines before or after start_tag.",
        },
    },
    "required": ["path", "start_tag", "replacement"],
    "additionalProperties": False,
}


def tagged(lines: Sequence[str], number: int) -> str:
    """What stands in front of the line with this number, from 1."""
    above = lines[number - 2] if number > 1 else ""
    digest = sha256("\n".join([above, lines[number - 1]]).encode())
    return f"{number}:{digest.hexdigest()[:2]}"


def around(text: str, first: int, last: int) -> list[str]:
    """The lines from one to another, as they are read, with one before and one after them; of many, the first."""
    lines = _lines(text)
    return _shown(lines, first - 1, last + 1)


def edit_between(path: str, text: str, args: dict[str, Any]) -> Edit:
    """The edit of the lines between two tags, or at one.

    Raises:
        ToolError: ``VALIDATION_FAILED``, ``INVALID_LINE_RANGE``, or ``STALE_FILE`` with the lines that stand there now.
    """
    lines, insert = _lines(text), args.get("insert")
    first = _number(path, lines, "start_tag", args["start_tag"])
    last = _number(path, lines, "end_tag", args["end_tag"]) if args.get("end_tag") else first
    new, repaired = _new(args["replacement"])
    if insert and last != first:
        raise ToolError("VALIDATION_FAILED", "insert replaces nothing: leave end_tag out, or leave insert out")
    if insert and not new:
        raise ToolError("VALIDATION_FAILED", "replacement is empty: give the lines that are to be inserted")
    if last < first:
        hint = reading(path, last, first, len(lines))
        raise ToolError("INVALID_LINE_RANGE", f"end_tag is line {last}, before line {first}", recovery=hint)
    if insert:
        at = first if insert == "after" else first - 1
        edit = edit_lines(text, at, at, new)
    else:
        edit = edit_lines(text, first - 1, last, new)
    return replace(edit, repaired=repaired)


def _new(replacement: str) -> tuple[list[str], tuple[str, ...]]:
    """The new lines. Tags that were copied with all of them are not meant."""
    if not replacement:
        return [], ()
    new = replacement.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if all(map(_TAGGED.match, new)):
        return [_TAGGED.sub("", line, count=1) for line in new], ("tags",)
    return new, ()


def _number(path: str, lines: list[str], name: str, anchor: str) -> int:
    """The line that is named, which has to be the one that was read."""
    found = _ANCHOR.fullmatch(anchor)
    if found is None:
        begun = _NUMBER.match(anchor)
        at = min(max(int(begun[1]), 1), max(len(lines), 1)) if begun else 1
        hint = reading(path, at, at if begun else len(lines), max(len(lines), 1))
        message = (
            f"{name} {anchor!r:.80} is no number and tag as read_file shows them in front of a line, such as 12:a3"
        )
        raise ToolError("VALIDATION_FAILED", message, recovery=hint)
    number = int(found[1])
    if 1 <= number <= len(lines) and tagged(lines, number) == f"{number}:{found[2]}":
        return number
    near = min(max(number, 1), max(len(lines), 1))
    message = f"{name} {found[1]}:{found[2]} is stale: the line is another now, see lines"
    shown = _shown(lines, near - _AROUND, near + _AROUND)
    raise ErrorWithMore("STALE_FILE", message, recovery=reading(path, near, near, max(len(lines), 1)), lines=shown)


def _shown(lines: list[str], first: int, last: int) -> list[str]:
    numbers, _ = cut_list(range(max(first, 1), min(last, len(lines)) + 1), _MOST_SHOWN)
    return [f"{tagged(lines, number)}|{cut_line(lines[number - 1], _CHARS)[0]}" for number in numbers]


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []

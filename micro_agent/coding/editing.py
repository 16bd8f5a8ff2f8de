"""``edit_file``: one place of a file is replaced, as a person has seen it, or nothing is."""

import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from micro_agent.coding import tagging
from micro_agent.coding.bounds import cut_line, cut_list
from micro_agent.coding.closest import closest
from micro_agent.coding.contents import Contents, read_contents, replace, stale
from micro_agent.coding.finding import MOST_PLACES, Edit, Several, find_edit
from micro_agent.coding.opening import ErrorWithMore, opened, reading
from micro_agent.coding.patches.contents import in_lines
from micro_agent.coding.patches.normal import difference
from micro_agent.coding.paths import Place
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_MOST_CLOSEST, _LONGEST = 10, 100_000
_LONE_RETURN = re.compile("\r(?!\n)")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "From the root of the repository."},
        "target": {
            "type": "string",
            "description": "The text to replace, as it stands in the file, at one place only.",
        },
        "replacement": {"type": "string", "description": "The text to put there."},
    },
    "required": ["path", "target", "replacement"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Planned:
    """An edit of a file that is held open."""

    place: Place
    contents: Contents
    edit: Edit
    text: str
    data: bytes


Way = Callable[[str, str, dict[str, Any]], Edit]
"""How an edit is found, from a path, the text of the file and the arguments."""


def tools(place: Workplace) -> list[Tool]:
    """``edit_file``: by a text that stands once, or by the tags of lines, as the workplace has it."""
    if place.edits == "tagged":
        return [_tool(place, tagging.TOLD, tagging.PARAMETERS, tagging.edit_between)]
    told = "Replace one piece of text in a file. target must stand there exactly once: add lines around it if needed."
    return [_tool(place, told, _PARAMETERS, _edit_of_target)]


def _tool(place: Workplace, told: str, parameters: dict[str, Any], way: Way) -> Tool:
    def edit_file(**args: Any) -> dict[str, Any]:
        with _planned(place, args, way) as planned:
            replace(planned.place, planned.data)
            name, edit = planned.place.path, planned.edit
        place.read[name] = sha256(planned.data).hexdigest()
        result: dict[str, Any] = {"ok": True, "path": name, "start_line": edit.lines[0], "end_line": edit.lines[1]}
        shown = {"lines": tagging.around(planned.text, *edit.lines)} if place.edits == "tagged" else {}
        return result | shown | ({"repaired": list(edit.repaired)} if edit.repaired else {})

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        with _planned(place, args, way) as planned:
            name, edit = planned.place.path, planned.edit
            diff = difference(name, in_lines(planned.contents.text), in_lines(planned.text))
        place.read.setdefault(name, planned.contents.digest)  # what was shown is what may be changed
        shown: dict[str, Any] = {"kind": "patch", "id": f"patch_{sha256(diff.encode()).hexdigest()[:10]}", "text": diff}
        return shown | {"files": [name]} | ({"repaired": list(edit.repaired)} if edit.repaired else {})

    return Tool("edit_file", told, parameters, edit_file, preview=preview, requires_confirmation=True)


@contextmanager
def _planned(workplace: Workplace, args: dict[str, Any], way: Way) -> Generator[_Planned]:
    """What an edit comes to.

    Raises:
        ToolError: It cannot be made.
    """
    _check(args)
    with opened(workplace, args["path"], "write") as place:
        contents = _read(place)
        if workplace.read.get(place.path, contents.digest) != contents.digest:
            raise stale(place.path)
        edit = way(place.path, contents.text, args)
        text = contents.text[: edit.start] + edit.new + contents.text[edit.end :]
        if text == contents.text:
            raise ToolError("VALIDATION_FAILED", "the edit would change nothing: that is what the file says")
        yield _Planned(place, contents, edit, text, _encoded(contents, text))


def _check(args: dict[str, Any]) -> None:
    """Refuse what says nothing, whatever stands in the file, and what no text has."""
    target, replacement = args.get("target"), args["replacement"]
    if target is not None and not target.strip("\r\n"):
        raise ToolError("VALIDATION_FAILED", "target is empty: give the text that is to be replaced")
    if target is not None and len(target) > _LONGEST:
        raise ToolError("VALIDATION_FAILED", f"target has more than {_LONGEST} characters: replace a smaller part")
    if target == replacement:
        raise ToolError("VALIDATION_FAILED", "target and replacement are the same: nothing would change")
    if _LONE_RETURN.search(replacement):
        raise ToolError("VALIDATION_FAILED", "replacement holds a carriage return that is not followed by a newline")
    if "\0" in replacement:
        raise ToolError("VALIDATION_FAILED", "replacement holds a NUL character, which no text has")


def _read(place: Place) -> Contents:
    file = os.open(place.name, _OPEN, dir_fd=place.directory)
    try:
        return read_contents(file, place.path)
    finally:
        os.close(file)


def _encoded(contents: Contents, text: str) -> bytes:
    try:
        return contents.as_bytes(text)
    except UnicodeEncodeError as error:
        sign = ascii(error.object[error.start])
        message = f"replacement has the character {sign}, which a file in {contents.encoding} cannot have"
        raise ToolError("VALIDATION_FAILED", message) from None


def _edit_of_target(path: str, text: str, args: dict[str, Any]) -> Edit:
    return edit_of(path, text, args["target"], args["replacement"])


def edit_of(path: str, text: str, target: str, replacement: str, *, what: str = "target") -> Edit:
    """The replacement of a text in a file; ``what`` the model knows it as.

    Raises:
        ToolError: ``NOT_FOUND_IN_FILE`` or ``TARGET_AMBIGUOUS``, with the places that it may mean.
    """
    try:
        edit = find_edit(text, target, replacement)
    except Several as several:
        raise _ambiguous(path, several.lines, what) from None
    if edit is None:
        raise _not_found(path, text, target, what)
    return edit


def _ambiguous(path: str, lines: list[int], what: str) -> ToolError:
    shown, was_cut = cut_list(lines)
    told = ", ".join(map(str, shown)) + ", …" * was_cut
    often = f"{len(lines)} times" if len(lines) < MOST_PLACES else f"at least {MOST_PLACES} times"
    message = f"{what} stands {often} in {path!r:.200}, in lines {told}: add lines around the one you mean"
    return ErrorWithMore(
        "TARGET_AMBIGUOUS", message, recovery=reading(path, lines[0], lines[0], lines[-1]), lines=shown
    )


def _not_found(path: str, text: str, target: str, what: str) -> ToolError:
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    found = closest(lines, target)
    message = f"{what} does not stand in {path!r:.200}"
    if found is None:
        return ErrorWithMore(
            "NOT_FOUND_IN_FILE", f"{message}, nor anything like it", recovery=reading(path, 1, 1, len(lines))
        )
    first, last = found
    shown, _ = cut_list([f"{at}: {cut_line(lines[at - 1], 200)[0]}" for at in range(first, last + 1)], _MOST_CLOSEST)
    region = {"start_line": first, "end_line": last, "lines": shown}
    told = f"{message}; lines {first} to {last} are the closest: copy {what} from there"
    return ErrorWithMore("NOT_FOUND_IN_FILE", told, recovery=reading(path, first, last, len(lines)), closest=region)

"""A patch from the part of a file that is replaced, for a model that cannot write a diff."""

from pathlib import Path

from micro_agent.coding.editing import edit_of
from micro_agent.coding.opening import listing
from micro_agent.coding.patches.changes import Edited
from micro_agent.coding.patches.contents import Content, content_of, in_lines
from micro_agent.coding.patches.faults import invalid
from micro_agent.coding.patches.fitting import Edit
from micro_agent.coding.patches.names import Target
from micro_agent.coding.patches.normal import difference, normal_of
from micro_agent.coding.patches.planning import read
from micro_agent.coding.paths import PathForbidden, resolve
from micro_agent.tools.error import ToolError


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
    if not original and before.lines:
        raise invalid(f"{path} is there: original_content has to be the part of it that is replaced")
    if original == new:
        raise invalid("new_content is the same as original_content: say what changes")
    text, repaired = new, ()
    if original:
        text = before.text
        edit = edit_of(path, text, *_in_whole_lines(text, original, new), what="original_content")
        text, repaired = text[: edit.start] + edit.new + text[edit.end :], edit.repaired
    return difference(path, before, in_lines(text)), repaired


def _whole(path: str, new: str) -> str:
    content = in_lines(new)
    if not content.lines:
        raise invalid(f"{path} is not there and new_content is empty: give it a text")
    edited = Edited(Target("made", None, path), Content([], ends=True), content, [Edit(0, 0, content.lines)], (), ())
    return normal_of(edited, 0o644)


def _in_whole_lines(text: str, original: str, new: str) -> tuple[str, str]:
    """What is replaced, and by what: whole lines stay lines, whatever is said of the newline at the end of both."""
    if original.endswith("\n"):
        return original, new if new.endswith("\n") or not new else f"{new}\n"
    if not new and (original not in text or f"\n{original}\n" in f"\n{text}"):
        return f"{original}\n", new
    return original, new.removesuffix("\n")


def _missing(path: str) -> ToolError:
    told = f"there is no file {path}; to make it, leave original_content empty"
    return ToolError("FILE_NOT_FOUND", told, recovery=listing(path))

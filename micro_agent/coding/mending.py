"""The failed call itself as the one that an error suggests, mended: where one slip is plain and one thing can be meant.

A hint to look again costs a request, and the model may slip again behind it. A path whose file is somewhere else and a
text in which a word is another need no look: the call that was meant can be named.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from functools import wraps
from typing import Any

from micro_agent.coding.closest import closest
from micro_agent.coding.contents import read_contents
from micro_agent.coding.listing import list_files
from micro_agent.coding.opening import opened, suggestion
from micro_agent.coding.workplace import Workplace
from micro_agent.text.encoding import as_json
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError

_LONGEST = 1_000
"""Characters of a call that is suggested: it becomes part of the conversation a second time."""
_ALIKE = 0.75
"""The share of its words and signs that a text has in common with what it is taken for."""
_TOKEN, _WORD = re.compile(r"\w+|\W"), re.compile(r"\w+")
_PATHS, _TEXTS = ("path", "file_path"), {"target": "replacement", "original_content": "new_content"}


def mending(place: Workplace, tool: Tool) -> Tool:
    """The tool, whose errors suggest the mended call where there is one."""
    previewing = tool.preview

    @wraps(tool.handler)
    def handler(**args: Any) -> Any:
        try:
            return tool.handler(**args)
        except ToolError as error:
            error.recovery = _mended(place, tool.name, args, error.code) or error.recovery
            raise

    def preview(args: dict[str, Any]) -> dict[str, Any]:
        assert previewing is not None
        try:
            return previewing(args)
        except ToolError as error:
            error.recovery = _mended(place, tool.name, args, error.code) or error.recovery
            raise

    return replace(tool, handler=handler, preview=previewing and preview)


def _mended(place: Workplace, tool: str, args: Mapping[str, Any], code: str) -> dict[str, Any] | None:
    key = next((key for key in _PATHS if key in args), None)
    way = _WAYS.get(code)
    if key is None or way is None or len(as_json(args)) > _LONGEST:
        return None
    changed = way(place, key, args)
    return changed and suggestion(tool, {**args, **changed}, "the same call, with what is there")


def _elsewhere(place: Workplace, key: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    """The one file that has this name."""
    name = str(args[key]).rpartition("/")[2]
    found = [path for path in list_files(place) if path.rpartition("/")[2] == name]
    return {key: found[0]} if len(found) == 1 else None


def _other_words(place: Workplace, key: str, args: Mapping[str, Any]) -> dict[str, Any] | None:
    """The text that stands in the file, where the one that was given has another word in it."""
    text = next((name for name in _TEXTS if name in args), None)
    if text is None:
        return None
    with opened(place, args[key], "read") as found:
        assert found.file is not None
        there = meant(read_contents(found.file, found.path).text, args[text], args[_TEXTS[text]])
    return {text: there} if there is not None else None


_WAYS: Mapping[str, Callable[[Workplace, str, Mapping[str, Any]], dict[str, Any] | None]] = {
    "FILE_NOT_FOUND": _elsewhere, "NOT_FOUND_IN_FILE": _other_words,
}  # fmt: skip


def meant(text: str, target: str, new: str) -> str | None:
    """What stands once in a text and differs from ``target`` by a word or so.

    ``None`` where that is not plain, or where ``new``, which is to take its place, has the words that are not there.
    """
    lines = text.split("\n")
    region = closest(lines, target)
    if region is None:
        return None
    near = _TOKEN.findall("\n".join(lines[region[0] - 1 : region[1]]) + "\n")
    given = _TOKEN.findall(target)
    *blocks, _ = SequenceMatcher(None, near, given, autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) < _ALIKE * len(given):
        return None
    first, last = blocks[0], blocks[-1]
    found = "".join(near[max(first.a - first.b, 0) : last.a + len(given) - last.b])
    made_up = set(_WORD.findall(target)) - set(_WORD.findall(found))
    return None if text.count(found) != 1 or made_up & set(_WORD.findall(new)) else found

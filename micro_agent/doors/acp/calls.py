"""How a tool call is shown in an editor: its kind, its files, what it would change, what came of it."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml
from acp import text_block, tool_content, tool_diff_content
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolKind,
)

from micro_agent.coding import category_of
from micro_agent.coding.patches.faults import PatchError
from micro_agent.coding.patches.store import Patches
from micro_agent.coding.patches.texts import texts_of
from micro_agent.doors.acp.places import Place
from micro_agent.replay import asked
from micro_agent.run.questions import preview_in
from micro_agent.text.printable import visible
from micro_agent.tools.error import ToolError

_MOST_LINE = 2**32 - 1
"""The protocol has lines as numbers of 32 bits."""
Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


@cache
def tables() -> dict[str, dict[str, str]]:
    """What stands in ``tables.yaml``."""
    return yaml.safe_load(resources.files("micro_agent.doors.acp").joinpath("tables.yaml").read_text(encoding="utf-8"))


def kind_of(tool: str) -> ToolKind:
    """The kind of a call, as the protocol has kinds."""
    return cast("ToolKind", tables()["kinds"].get(category_of(tool) or "other", "other"))


def locations(place: Place, *said: Any) -> list[ToolCallLocation]:
    """The files of the repository that arguments or an observation name. What leads out of it is left out."""
    found: dict[Path, int | None] = {}
    for name, line in _named(place, said):
        try:
            path = Path(os.path.realpath(cast("Path", place.root) / name))
        except ValueError:  # half a character of two, a zero
            continue
        if path.is_relative_to(cast("Path", place.root)):
            found[path] = line
    return [ToolCallLocation(path=str(path), line=line) for path, line in found.items()]


def _named(place: Place, said: Iterable[Any]) -> Iterator[tuple[str, int | None]]:
    for one in said:
        if not isinstance(one, Mapping) or place.root is None:
            continue
        told = cast("Mapping[str, Any]", one)
        line = told.get("start_line")
        names = [told.get("path"), told.get("file_path"), *_list(told.get("files")), *_list(told.get("files_changed"))]
        for name in names:
            if isinstance(name, str) and name:
                yield name, line if isinstance(line, int) and 0 <= line <= _MOST_LINE else None


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def changes(place: Place, diff: Any) -> list[FileEditToolCallContent]:
    """What a diff would make of the files, none where it does not fit them: then there is the text alone."""
    if place.root is None or not isinstance(diff, str):
        return []
    try:
        found = texts_of(place.root, diff)
    except PatchError:
        return []
    return [tool_diff_content(str(place.root / one.path), one.after or "", one.before) for one in found]


def applied(place: Place, tool: str, args: Mapping[str, Any]) -> list[FileEditToolCallContent]:
    """What a call changes that names a patch, before it is made."""
    patch_id = args.get("patch_id")
    if category_of(tool) != "apply" or place.root is None or not isinstance(patch_id, str):
        return []
    try:
        return changes(place, Patches(place.root, place.store.state_dir).get(patch_id).diff)
    except ToolError:
        return []


def question_in(place: Place, question: Mapping[str, Any]) -> list[Content]:
    """All that a person is asked. A patch that fits the files is shown as what it makes of them, not once more."""
    shown = preview_in(question)
    made = changes(place, shown.get("text")) if shown.get("kind") == "patch" else []
    if made:
        question = {**question, "shown": {name: value for name, value in shown.items() if name != "text"}}
    return [tool_content(text_block(fenced("\n".join(asked(question))))), *made]


def outcome(observation: Any) -> list[Content]:
    """What came of a call."""
    text = observation if isinstance(observation, str) else json.dumps(observation, ensure_ascii=False, indent=1)
    return [tool_content(text_block(fenced(text)))]


def fenced(text: str) -> str:
    """A text that no editor takes for Markdown, and in which nothing hides."""
    text, fence = visible(text), "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"

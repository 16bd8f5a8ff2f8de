"""``rg_search``: ripgrep over the files that `list_files` shows, and over no other."""

import base64
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from micro_agent.coding.bounds import ITEMS, cut_line
from micro_agent.coding.git import said
from micro_agent.coding.listing import list_files, matcher
from micro_agent.coding.opening import named, not_found, suggestion
from micro_agent.coding.paths import LARGEST
from micro_agent.coding.sandbox import Bounds, Ran, Stage
from micro_agent.coding.workplace import Workplace
from micro_agent.text.encoding import encodable
from micro_agent.tools.derive import tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_BOUNDS = Bounds(timeout_s=20.0, output=4_000_000)
_LINE, _CHARS, _MOST_AROUND = 300, 6_000, 10
_MOST_FILES, _MOST_BYTES = 4_000, 400_000
"""How many names one call of ripgrep is given, and how long they are together: a system takes no more."""
_LIST = suggestion("list_files", {"glob": "**/*"}, "find the file by its name")
_LONGEST_PATTERN = 10_000
_TROUBLE, _NOT_THERE = 2, 127
"""Exit statuses: of ripgrep, also where a file went away meanwhile; of a program that is not installed."""
_OPTIONS = (
    "--json",
    "--no-config",
    "--no-follow",
    "--no-messages",
    "--no-ignore",
    "--hidden",
    "--threads=1",
    f"--max-filesize={LARGEST}",
)


@dataclass(slots=True)
class _Found:
    """What ripgrep says of one file."""

    path: str
    texts: dict[int, str] = field(default_factory=dict[int, str])
    matching: list[int] = field(default_factory=list[int])
    in_binary: int | None = None
    """Of a file that is not text: in how many of its lines something matches."""


def tools(place: Workplace) -> list[Tool]:
    """``rg_search``."""

    @tool(read_only=True)
    def rg_search(
        pattern: str, glob: str | None = None, path: str | None = None, limit: int = 50, context: int = 0
    ) -> dict[str, Any]:
        """Search the text of files with a regular expression.

        Args:
            pattern: A regular expression, as ripgrep has them; put a backslash before ( ) [ ] { } . * + ? to find them.
            glob: Only files of this pattern, such as *.py.
            path: Only this file, or the files in this folder.
            limit: At most so many matches.
            context: How many lines to show before and after each.
        """
        _check(pattern)
        files = _searched(place, glob, path)
        around = min(max(context, 0), _MOST_AROUND)
        found, total = _all_found(place, pattern, files, around)
        matches, was_cut = _shown(found, min(max(limit, 1), ITEMS), around)
        return {"matches": matches, "total": total, "truncated": was_cut or total > len(matches)}

    return [rg_search]


def _searched(place: Workplace, glob: str | None, path: str | None) -> list[str]:
    """The files that are to be searched; no links, since ripgrep follows one that it is given by name."""
    below = named(place, path)
    found = list_files(place)
    if below is not None:
        found = [name for name in found if name == below or name.startswith(f"{below}/")]
        if not found:
            raise not_found(below)
    if glob:
        matches = matcher(glob)
        found = [name for name in found if matches(name)]
    return [name for name in found if not os.path.islink(f"{place.root}/{name}")]


def _all_found(place: Workplace, pattern: str, files: Sequence[str], context: int) -> tuple[list[_Found], int]:
    """What is found in files, in their order, and how many lines match in all."""
    found: list[_Found] = []
    total = 0
    for some in _portions(files):
        ran = _search(place, pattern, some, context)
        portion = _read(_lines(ran))
        found += [one for one in portion if one.in_binary is None]
        total += _total(ran.stdout) - sum(one.in_binary or 0 for one in portion)
    return found, total


def _portions(files: Sequence[str]) -> Iterator[list[str]]:
    """The files, as many at a time as fit into one call; one call without any, which checks the pattern."""
    portion: list[str] = []
    size = 0
    for name in files:
        size += len(os.fsencode(name)) + 1
        if portion and (len(portion) == _MOST_FILES or size > _MOST_BYTES):
            yield portion
            portion, size = [], len(name)
        portion.append(name)
    yield portion or [os.devnull]


def _search(place: Workplace, pattern: str, files: Sequence[str], context: int) -> Ran:
    argv = ("rg", *_OPTIONS, f"--context={context}", f"--regexp={pattern}", "--", *files)
    ran = place.sandbox.run([Stage(argv)], "ro", bounds=_BOUNDS)
    if ran.exit == _NOT_THERE:
        missing = "ripgrep (rg) is not installed where commands run: use list_files and read_file"
        raise ToolError("RG_MISSING", missing, recovery=_LIST)
    if ran.exit not in (0, 1) and (ran.stderr or ran.exit != _TROUBLE):
        raise _failed(said(ran))
    return ran


def _failed(why: str) -> ToolError:
    return ToolError("RG_FAILED", f"rg: {why}", recovery=_LIST)


def _check(pattern: str) -> None:
    """Refuse what no program can be given."""
    if len(pattern) > _LONGEST_PATTERN:
        raise _failed(f"the pattern has more than {_LONGEST_PATTERN} characters")
    if "\0" in pattern or encodable(pattern) != pattern:
        raise _failed("the pattern holds a NUL or half a character")


def _lines(ran: Ran) -> list[bytes]:
    """The whole lines of an output of which the middle may have been dropped."""
    if ran.stdout_bytes == len(ran.stdout):
        return ran.stdout.split(b"\n")
    half = _BOUNDS.output // 2
    return [*ran.stdout[:half].split(b"\n")[:-1], *ran.stdout[half:].split(b"\n")[1:]]


def _read(lines: Sequence[bytes]) -> list[_Found]:
    """The files in ripgrep's lines of JSON, in their order."""
    found: dict[str, _Found] = {}
    for line in filter(None, lines):
        said_of: dict[str, Any] = json.loads(line)
        data = said_of["data"]
        if said_of["type"] not in ("match", "context", "end"):
            continue
        one = found.setdefault(path := _path(data["path"]), _Found(path))
        if said_of["type"] != "end":
            text = data["lines"].get("text") or base64.b64decode(data["lines"].get("bytes", "")).decode("latin-1")
            one.texts[data["line_number"]] = text.removesuffix("\n").removesuffix("\r")
            if said_of["type"] == "match":
                one.matching.append(data["line_number"])
        elif data["binary_offset"] is not None:
            one.in_binary = data["stats"]["matched_lines"]
    return list(found.values())


def _total(output: bytes) -> int:
    """How many lines match, by the last thing that ripgrep says: it is kept also where output was cut."""
    last: dict[str, Any] = json.loads(output.rstrip(b"\n").rpartition(b"\n")[2])
    return last["data"]["stats"]["matched_lines"]


def _path(value: dict[str, str]) -> str:
    """A path as it was given, which may be in another encoding."""
    return value["text"] if "text" in value else os.fsdecode(base64.b64decode(value["bytes"]))


def _shown(found: list[_Found], limit: int, context: int) -> tuple[list[dict[str, Any]], bool]:
    """The first matches, as many as fit, and whether one of their lines was cut."""
    shown: list[dict[str, Any]] = []
    size, cut_one = 0, False
    for one in found:
        texts = {number: cut_line(text, _LINE) for number, text in one.texts.items()}
        for number in one.matching:
            match: dict[str, Any] = {"path": one.path, "line": number, "text": texts[number][0]}
            if context:
                match["before"] = [texts[at][0] for at in range(number - context, number) if at in texts]
                match["after"] = [texts[at][0] for at in range(number + 1, number + context + 1) if at in texts]
            size += len(json.dumps(match, ensure_ascii=False))
            if len(shown) == limit or (shown and size > _CHARS):
                return shown, cut_one
            shown.append(match)
            cut_one = cut_one or texts[number][1]
    return shown, cut_one

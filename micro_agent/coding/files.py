"""Tools that look at a repository: what it is, which files it has, what stands in them."""

import json
from bisect import bisect_left
from collections import Counter
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

from micro_agent.coding.bounds import ITEMS, LINES, TEXT, cut_line, cut_list
from micro_agent.coding.closest import closest
from micro_agent.coding.contents import read_contents
from micro_agent.coding.git import status
from micro_agent.coding.listing import list_files as all_files
from micro_agent.coding.listing import matcher
from micro_agent.coding.opening import opened, suggestion
from micro_agent.coding.tagging import tagged
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.derive import tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_MOST_LINES, _LINES_READ, _MOST_LANGUAGES, _MOST_AROUND = 1_000, 200, 5, 100


def tools(place: Workplace) -> list[Tool]:
    """``repo_info``, ``list_files``, ``read_file`` and ``read_file_snippet``."""

    @tool(read_only=True)
    def repo_info() -> dict[str, Any]:
        """Describe the repository: its branch, whether there are changes, its languages, how many files it has."""
        return _described(place)

    @tool(read_only=True)
    def list_files(glob: str = "**/*", limit: int = 200) -> dict[str, Any]:
        """List files by a pattern of their paths.

        Args:
            glob: Such as *.py, src/**/*.ts or docs; a pattern without / finds a name in any folder.
            limit: At most so many; never more than 100 are shown.
        """
        matches = matcher(glob)
        found = [path for path in all_files(place) if matches(path)]
        shown, truncated = cut_list(found, min(max(limit, 1), ITEMS))
        return {"files": shown, "total": len(found), "truncated": truncated}

    form = "NUMBER:TAG|TEXT" if place.edits == "tagged" else "NUMBER: TEXT"
    reads = f"Read lines of a file. Each is shown as {form}. A long part is cut; `next` says where to go on."

    @tool(read_only=True, description=reads)
    def read_file(path: str, start_line: int = 1, end_line: int = _LINES_READ) -> dict[str, Any]:
        """Read lines of a file.

        Args:
            path: From the root of the repository.
            start_line: The first, from 1.
            end_line: The last; without it, 200 lines are read.
        """
        name, lines, about = _lines_of(place, path)
        is_given = end_line != _LINES_READ or start_line <= _LINES_READ
        end = end_line if is_given else start_line + _LINES_READ - 1
        _check_range(name, start_line, end, len(lines))
        wanted = range(start_line, min(end, len(lines)) + 1)
        shown = _shown(lines, wanted, tags=place.edits == "tagged")
        return {"path": name, **shown, **_next(shown["end_line"], len(lines))} | about

    @tool(read_only=True)
    def read_file_snippet(path: str, query: str, context: int = 20) -> dict[str, Any]:
        """Read the lines of a file around each place where a text stands.

        Args:
            path: From the root of the repository.
            query: The text as it stands in the file; no pattern.
            context: How many lines before and after.
        """
        return _snippet(place, path, query, context)

    return [repo_info, list_files, read_file, read_file_snippet]


def _described(place: Workplace) -> dict[str, Any]:
    try:
        state: dict[str, Any] | None = status(place)
    except ToolError as error:
        if error.code != "GIT_FAILED":  # no repository of git's
            raise
        state = None
    found = all_files(place)
    extensions = (path.rpartition("/")[2].rpartition(".")[2].lower() for path in found)
    languages = Counter(_languages()[extension] for extension in extensions if extension in _languages())
    return {
        "root": str(place.root),
        "name": place.root.name,
        "branch": state and state["branch"],
        "head": state and state["head"] and state["head"][:10],
        "dirty": state and any(state[kind] for kind in ("modified", "staged", "untracked")),
        "languages": dict(languages.most_common(_MOST_LANGUAGES)),
        "files": len(found),
    }


@cache
def _languages() -> dict[str, str]:
    """Languages by the extensions of their files."""
    table: dict[str, list[str]] = json.loads(files("micro_agent.coding").joinpath("languages.json").read_text("utf-8"))
    return {extension: language for language, extensions in table.items() for extension in extensions}


def _lines_of(place: Workplace, path: str) -> tuple[str, list[str], dict[str, Any]]:
    """The path from the root, the lines without their ends, and what else is to be said of a file.

    That the model has read it is noted.
    """
    with opened(place, path, "read") as found:
        assert found.file is not None
        contents = read_contents(found.file, found.path)
    place.read[found.path] = contents.digest
    lines = contents.text.split("\n")
    if lines[-1] == "":
        lines.pop()
    about = {} if contents.encoding == "utf-8" else {"encoding": contents.encoding}
    return found.path, [line.removesuffix("\r") for line in lines], about


def _snippet(place: Workplace, path: str, query: str, context: int) -> dict[str, Any]:
    """The lines around each place of a file where a text stands."""
    name, lines, about = _lines_of(place, path)
    if not query.strip():
        raise ToolError("VALIDATION_FAILED", "query is empty: give a text that stands in the file")
    found = _places(lines, query)
    if not found:
        raise _not_in(name, lines, query)
    wanted = _around(found, min(max(context, 0), _MOST_AROUND), len(lines))
    shown = _shown(lines, wanted, tags=place.edits == "tagged")
    more = [number for number in wanted if number > shown["end_line"]]
    matches, _ = cut_list([first for first, _ in found])
    return {
        "path": name,
        **shown,
        **_next(more[0] - 1 if more else len(lines), len(lines)),
        "matches": matches,
    } | about


def _check_range(path: str, start: int, end: int, total: int) -> None:
    if start < 1 or end < start or end - start >= _MOST_LINES or start > max(total, 1):
        first = max(1, start if start <= total else total - LINES + 1)
        valid = {"path": path, "start_line": first, "end_line": max(1, min(first + LINES - 1, total))}
        message = (
            f"lines {start} to {end} are no range of {path!r:.200}, which has {total} lines; at most {_MOST_LINES}"
        )
        raise ToolError("INVALID_LINE_RANGE", message, recovery=suggestion("read_file", valid, "a range that it has"))


def _shown(lines: list[str], wanted: range | list[int], *, tags: bool) -> dict[str, Any]:
    """The lines with these numbers, as far as they fit; ``…`` stands where some are left out between them."""
    shown: list[str] = []
    last, size, was_cut = (wanted[0] if wanted else 1) - 1, 0, False
    first = last + 1
    for number in wanted:
        text, long = cut_line(lines[number - 1])
        row = ["…"] * (number > last + 1) + [f"{tagged(lines, number)}|{text}" if tags else f"{number}: {text}"]
        size += sum(len(part) + 1 for part in row)
        if shown and (size > TEXT or len(shown) + len(row) > LINES):
            was_cut = True
            break
        shown += row
        last, was_cut = number, was_cut or long
    total = len(lines)
    return {"start_line": first, "end_line": last, "total_lines": total, "lines": shown, "truncated": was_cut}


def _next(last: int, total: int) -> dict[str, Any]:
    """The lines to read next, if there are any."""
    return {"next": {"start_line": last + 1, "end_line": min(last + LINES, total)}} if last < total else {}


def _places(lines: list[str], query: str) -> list[tuple[int, int]]:
    """The first and the last line of each place with a text; without any, also in other capitals."""
    text = "\n".join(lines)
    query = query.replace("\r\n", "\n").strip("\n")
    ends = list(accumulate(len(line) + 1 for line in lines))
    for within, sought in ((text, query), (text.lower(), query.lower())):
        found: list[tuple[int, int]] = []
        at = within.find(sought) if len(within) == len(text) else -1
        while at >= 0:
            first, last = bisect_left(ends, at + 1), bisect_left(ends, at + len(sought))
            found.append((first + 1, last + 1))
            at = within.find(sought, ends[first])  # once for each line that it begins in
        if found:
            return found
    return []


def _around(found: list[tuple[int, int]], context: int, total: int) -> list[int]:
    """The numbers of the lines around places."""
    numbers: list[int] = []
    for first, last in found:
        begin = max(first - context, 1, numbers[-1] + 1 if numbers else 1)
        numbers += range(begin, min(last + context, total) + 1)
    return numbers


def _not_in(path: str, lines: list[str], query: str) -> ToolError:
    first, last = closest(lines, query) or (1, min(len(lines), LINES))
    arguments = {"path": path, "start_line": first, "end_line": max(last, 1)}
    hint = suggestion("read_file", arguments, "see what stands there")
    return ToolError("NOT_FOUND_IN_FILE", f"{path!r:.200} does not contain this text", recovery=hint)

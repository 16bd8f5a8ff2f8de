"""The rows of a file of tasks, not yet checked: from YAML, JSON lines or CSV, each with the line it begins on."""

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from io import BytesIO, StringIO
from typing import Any, cast

from micro_agent.evaluation.datasets.yaml_text import Block, read_yaml
from micro_agent.evaluation.task import Task
from micro_agent.files.jsonl import read_lines

FIELDS = tuple(Task.model_fields)
_LISTS = frozenset({"tags", "expect_contains", "expect_key", "expect_tools", "expect_observed", "expect_changed"})
_OBJECTS = frozenset({"expect_number", "expect_args", "expect_hidden", "repository", "plan"})
_AS_IT_STANDS = frozenset({"question", "expect_regex", "note"})
_KEYS = ("version", "tasks")
_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Row:
    """What stands for one task: its values, or what is wrong with it. ``line`` counts from 1; ``None``: not known."""

    line: int | None
    data: Any = None
    fault: str | None = None


Reader = Callable[[bytes], Iterator[Row]]
"""The rows in the bytes of a file. Raises `ValueError` with one line when it cannot be read as a whole."""


def unknown_name(kind: str, name: str, known: tuple[str, ...]) -> str:
    """What to say of a name that is none of the ``known`` ones: the closest of them, or all."""
    close = get_close_matches(name[:100], known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
    return f"{name[:60]!r} is not a {kind}; {hint}"


def check_version(data: dict[str, Any]) -> None:
    """Raise `ValueError` for a file of another version than the one known; one that says none is of this one."""
    version = data.get("version")
    if version not in (None, _VERSION):
        raise ValueError(f"version {version!r:.40} is not known; write version: {_VERSION} or update micro-agent")


def text_of(content: bytes) -> str:
    """UTF-8 with or without a byte order mark. Raises `ValueError`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _yaml(content: bytes) -> Iterator[Row]:
    data = read_yaml(text_of(content))
    for item in _tasks(data):
        if isinstance(item, Block):
            yield Row(item.line, {key: value for key, value in item.items() if value is not None})
        else:
            yield Row(None, item)


def _tasks(data: Any) -> list[Any]:
    """The tasks of a document that is a list, or has them under ``tasks``."""
    if isinstance(data, Block):
        for name in data:
            if name not in _KEYS:
                raise ValueError(f"line {data.line}: {unknown_name('field', name, _KEYS)}")
        check_version(data)
        data = data.get("tasks")
    if not isinstance(data, list | None):
        raise ValueError("must be a list of tasks, or {version: 1, tasks: [...]}")
    return cast("list[Any]", data or [])


def _jsonl(content: bytes) -> Iterator[Row]:
    return jsonl_rows(BytesIO(content.removeprefix(BOM_UTF8)))


def jsonl_rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """The rows of JSON lines, read as they are asked for."""
    for line in read_lines(lines):
        data = line.data and {key: value for key, value in line.data.items() if value is not None}
        yield Row(line.number, data, line.fault)


def _csv(content: bytes) -> Iterator[Row]:
    # Strict, or a quote that is not closed swallows the rest of the file without a word.
    reader = csv.reader(StringIO(text_of(content), newline=""), strict=True, skipinitialspace=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None:
                header = _header(line, cells) if any(map(str.strip, cells)) else None
            elif any(map(str.strip, cells)):
                yield _row(line, header, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"line {line}: not CSV: {error}") from error


def _header(line: int, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    for name in names:
        if name not in FIELDS:
            separator = next((one for one in (";", "\t") if one in name), None)
            hint = " Columns are separated by commas." if separator else ""
            raise ValueError(f"line {line}: {unknown_name('column', name, FIELDS)}{hint}")
        if names.count(name) > 1:
            raise ValueError(f"line {line}: the column {name} stands there twice")
    return names


def _row(line: int, header: list[str], cells: list[str]) -> Row:
    if len(cells) > len(header):
        hint = "put cells with commas in quotes"
        return Row(line, fault=f"{len(cells)} cells where the header names {len(header)}; {hint}")
    try:
        return Row(line, {name: _cell(name, cell) for name, cell in zip(header, cells, strict=False) if cell.strip()})
    except ValueError as error:
        return Row(line, fault=str(error))


def _cell(name: str, cell: str) -> Any:
    """A cell that is not blank, by the name of its column."""
    if name in _AS_IT_STANDS:
        return cell
    text = cell.strip()
    if name in _LISTS:
        is_json = text == "[]" or text.startswith('["')
        return _json(name, text) if is_json else [part.strip() for part in text.split("|")]
    return _json(name, text) if name in _OBJECTS and text.startswith("{") else text


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: begins like JSON and is not ({error})") from error


READERS: dict[str, Reader] = {".yaml": _yaml, ".yml": _yaml, ".jsonl": _jsonl, ".csv": _csv}
"""By the file's extension, in lower case."""

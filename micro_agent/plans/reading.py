"""Files of JSON or YAML, and what is wrong with them, in one line that says what to change."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from micro_agent.files.jsonl import open_file

_LARGEST = 1_000_000
"""Bytes of a file."""
_DEEPEST = 20
_BASE: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # without libyaml it is 20 times slower


def read_data(path: Path) -> Any:
    """What stands in a file: JSON if its name says so, else YAML.

    Raises:
        ValueError: It cannot be read, or is neither.
    """
    try:
        with open(open_file(path), "rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
    if len(raw) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes: split it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("it is not text in UTF-8: save it as that") from error
    return _json(text) if path.suffix.lower() == ".json" else _yaml(text)


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except RecursionError as error:
        raise ValueError("nested too deeply: a plan is a list of tasks") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON: {error.msg}") from error


def _yaml(text: str) -> Any:
    """All values are text, as they stand there: in YAML 1.1 ``no`` and ``1.10`` would be something else."""
    try:
        _check_depth(text)
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        where = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{where}not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from error


def _check_depth(text: str) -> None:
    """Refuse what is nested deeply, before anything is built from it: that would take long, or all of the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=_BASE):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError("nested too deeply: a plan is a list of tasks")


class _Loader(_BASE):
    """YAML whose keys stand there once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        made: Callable[..., Any] = self.construct_object
        return _once([(made(key, deep=True), made(value, deep=True)) for key, value in node.value])


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in pairs:
        if not isinstance(key, str):
            raise ValueError(f"{key!r:.60} is a key: keys are text")
        if key in made:
            raise ValueError(f"the key {key[:60]!r} stands there twice in one place: leave one of them out")
        made[key] = value
    return made

"""Whole runs as files of their own, and the JSON object that a run is."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from micro_agent.errors import StorageError
from micro_agent.files.jsonl import open_file, parse, storage_error, write_over
from micro_agent.files.masking import mask_of
from micro_agent.run.questions import as_recorded

if TYPE_CHECKING:
    from micro_agent.run import Run

SCHEMA_VERSION = 1
ID = r"^[0-9a-f]{32}$"
"""What the id of a run matches: ids become names of files."""

_log = logging.getLogger("micro_agent")


def run_of(kind: type["Run"], data: dict[str, Any]) -> "Run":
    """The run in a JSON object. Raises `ValueError` with one line that names the first fault."""
    version = data.get("schema_version", SCHEMA_VERSION)
    newer = isinstance(version, int) and version > SCHEMA_VERSION
    note = f" (schema version {version}, {SCHEMA_VERSION} is known: update micro-agent)" if newer else ""
    try:
        run = kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ValueError(f"not a run: {place}: {first['msg']}{note}") from error
    if run.confirmation is not None:
        run.confirmation = as_recorded(run.confirmation)
    if newer:
        _log.warning("run %s is from a newer version and may be read incompletely%s", run.id, note)
    return run


def save(run: "Run", path: str | os.PathLike[str]) -> Path:
    """Write a whole run as one JSON object, for this user alone; what was there is replaced in one step.

    Secrets are masked as in a trace, and the file can be read as a trace of one record. Raises `StorageError`; what was
    there is unchanged then.
    """
    target = Path(path)
    earlier = [one.model_dump() for one in run.earlier]
    line = mask_of().encode({**run.model_dump(), "earlier": earlier} if earlier else run)
    try:
        write_over(target, [line])
    except OSError as error:
        raise storage_error("save the run to", target, error) from error
    return target


def load(kind: type["Run"], path: str | os.PathLike[str]) -> "Run":
    """Read a run that `save` wrote, also when an editor has spread it over several lines. Raises `StorageError`."""
    source = Path(path)
    try:
        with open(open_file(source), "rb") as file:
            return run_of(kind, parse(file.read()))
    except OSError as error:
        raise storage_error("read the run", source, error) from error
    except ValueError as error:
        raise StorageError(f"{source} is not a saved run: {error}") from error

"""Which files of traces are meant by names, folders and patterns, by name: of a million too, in little memory."""

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from glob import has_magic, iglob
from itertools import chain, islice
from pathlib import Path

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.scratch import Scratch
from micro_agent.traces import read_records

_FIRST = 3
"""So many lines tell traces from a result file; the first may be damaged."""


def holds_runs(source: str) -> bool:
    """Whether a name on the command line stands for traces: a pattern, a folder, or a file that begins with a run."""
    path = Path(source)
    if not path.is_file():
        return path.is_dir() or has_magic(source)
    return any(record.run is not None for record in islice(read_records(path), _FIRST))


def trace_files(sources: Iterable[str]) -> Iterator[Path]:
    """The files that names, folders (their ``*.jsonl``) and patterns stand for, by name.

    Raises:
        ConfigurationError: One stands for no file; nothing is given then.
    """
    named = list(sources)
    for source in named:
        if next(_files(source), None) is None:
            raise ConfigurationError(f"no trace is named {source}: name files, folders of *.jsonl, or 'traces/*.jsonl'")
    return chain.from_iterable(map(_sorted, named))


def _sorted(source: str) -> Iterator[Path]:
    """The files in the order of their paths, which goes by their parts: a zero is before all that a name has in it."""
    with Scratch("CREATE TABLE files (parts BLOB)") as files:
        files.run_many("INSERT INTO files VALUES (?)", ((_parts(path),) for path in _files(source)))
        for (parts,) in files.run("SELECT parts FROM files ORDER BY parts"):
            yield Path(os.fsdecode(parts.replace(b"\0", b"/")))


def _parts(path: str) -> bytes:
    return os.fsencode(path).replace(b"/", b"\0")


def _files(source: str) -> Iterator[str]:
    path = Path(source)
    folder, last = os.path.split(source)
    if path.is_file():
        yield str(path)
    elif path.is_dir():
        yield from _in_folder(path, re.compile(r".*\.jsonl\Z", re.DOTALL), hidden=True)
    elif has_magic(folder) or "**" in last:
        yield from (str(Path(found)) for found in iglob(source, recursive=True) if os.path.isfile(found))
    elif has_magic(last) and os.path.isdir(folder or "."):
        yield from _in_folder(Path(folder), re.compile(translate(last)), hidden=last.startswith("."))


def _in_folder(folder: Path, names: re.Pattern[str], *, hidden: bool) -> Iterator[str]:
    """The files of a folder whose names match. A dot at their beginning is matched by a dot alone, as `glob` does."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if names.match(entry.name) and (hidden or not entry.name.startswith(".")) and os.path.isfile(entry):
                yield str(folder / entry.name)

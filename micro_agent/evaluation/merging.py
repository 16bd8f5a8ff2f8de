"""The result files of shards merged into one, as a single run would have written it.

What stands in memory does not grow with the results: where each line lies is noted on the disk.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from io import BufferedReader, FileIO
from pathlib import Path
from secrets import token_hex
from typing import Any

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.faults import arms_of, twin_of
from micro_agent.evaluation.parts import Part, checked, read_parts
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.result_lines import header_of, result_of, whole_lines
from micro_agent.evaluation.results import ResultFile, publish
from micro_agent.evaluation.scratch import Scratch
from micro_agent.evaluation.trial_traces import folder_of
from micro_agent.files.jsonl import open_file, parse, storage_error
from micro_agent.files.masking import mask_of

_LINES = """CREATE TABLE lines (
    epoch INTEGER, task, part INTEGER, offset INTEGER, trace TEXT, PRIMARY KEY (epoch, task, part, offset)
) WITHOUT ROWID"""
_COUNTS = "SELECT part, count(*) FROM (SELECT DISTINCT epoch, task, part FROM lines) GROUP BY part"
_OPEN = 32
"""So many parts are open at once."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A file that was made of shards: how many there were, their trials, and the servers that they asked."""

    path: Path
    shards: int
    trials: int
    servers: list[str] = field(default_factory=list[str])


def merge(out: Path, paths: Sequence[Path]) -> list[Merged]:
    """Make one result file of those of all shards of an eval; with faults also the one beside it.

    Its lines stand by epoch, in each in the order in which the tasks were drawn (where there are too many to list them:
    by their ids), so that the same parts always give the same bytes. What a trial's trace is called is made to fit
    where it lies now, where it lies beside its part.

    Args:
        out: A name that is not taken. The file is there once it is complete.
        paths: The files of the shards, in any order. With faults, either file of a shard stands for both.

    Raises:
        ConfigurationError: The parts do not make an eval: one is missing, there twice, foreign or not complete. Or
            ``out`` is there already.
        StorageError: A file cannot be read or written, or is no result file.
    """
    arms = _arms(paths)
    targets = [out, twin_of(out)][: len(arms)]
    for target in targets:
        if os.path.lexists(target):
            raise ConfigurationError(f"{target} is there already: choose another name for the merged file")
    every = [checked(read_parts(arm)) for arm in arms]
    with ExitStack() as temporaries:
        done: list[tuple[Path, Merged]] = []
        for target, parts in zip(targets, every, strict=True):
            temporary = target.with_name(f".{token_hex(8)}.tmp")
            temporaries.callback(_remove, temporary)
            try:
                done.append((temporary, _written(temporary, target, parts)))
            except OSError as error:  # pragma: no cover (a disk that fills up, or a part that goes away, meanwhile)
                raise storage_error("merge the parts into", target, error) from error
        for temporary, merged in done:
            publish(temporary, merged.path)
    return [merged for _, merged in done]


def _arms(paths: Sequence[Path]) -> list[list[Path]]:
    """The files to merge: those without faults, and those with."""
    known: set[Path] = set()
    for path in paths:
        if path.resolve() in known:
            raise ConfigurationError(f"{path} is given twice: leave one out")
        known.add(path.resolve())
    arms: list[dict[Path, Path]] = [{}, {}]
    for path in paths:
        for arm, file in zip(arms, arms_of(path), strict=False):
            arm[file.resolve()] = file
    return [list(arm.values()) for arm in arms if arm]


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()


def _written(temporary: Path, target: Path, parts: Sequence[Part]) -> Merged:
    lines = Scratch(_LINES)
    for number, part in enumerate(parts):
        for row in _rows(part):
            lines.run("INSERT INTO lines VALUES (?, ?, ?, ?, ?)", (row[0], row[1], number, *row[2:]))
    counts: dict[int, int] = dict(lines.run(_COUNTS).fetchall())
    for number, part in enumerate(parts):
        if (found := counts.get(number, 0)) != part.planned:
            raise _incomplete(part, found, lines)
    ResultFile.create(temporary, _header(parts)).close()
    with open(temporary, "ab") as file, ExitStack() as held:
        file.writelines(_ordered(lines, _Sources(parts, held)))
    servers = list(dict.fromkeys(str(part.header.settings.get("base_url")) for part in parts))
    return Merged(target, len(parts), sum(counts.values()), servers)


def _header(parts: Sequence[Part]) -> Header:
    ids = " ".join(part.header.id for part in parts)
    return parts[0].header.model_copy(
        update={
            "id": sha256(ids.encode()).hexdigest()[:32], "ts": min(part.header.ts for part in parts),
            "shard": None, "trials": None,
        }
    )  # fmt: skip


def _rows(part: Part) -> Iterator[tuple[int, int | str, int, str | None]]:
    """Of each result epoch, place of the task, offset, and what its trace is called now if not what it was."""
    moved = folder_of(part.path) if folder_of(part.path).is_dir() else None
    with open(open_file(part.path), "rb") as file:
        lines = whole_lines(file, part.path)
        header_of(lines, part.path)
        for line in lines:
            if (result := result_of(line, part.path)) is not None:
                part.refuse_foreign(result.key, line.place.number)
                yield result.epoch, part.place(result.task.id), line.place.offset, _trace(result, moved)


def _trace(result: Result, folder: Path | None) -> str | None:
    """Where a trace lies that was written to the folder beside its part, if that is not where the result says."""
    if folder is None or result.trace is None or Path(result.trace).parent.name != folder.name:
        return None
    now = str(folder / Path(result.trace).name)
    return None if now == result.trace else now


def _incomplete(part: Part, found: int, lines: Scratch) -> ConfigurationError:
    exists = "SELECT 1 FROM lines WHERE epoch = ? AND task = ?"
    first = next((key for key in part.trials() if lines.one(exists, key[1], part.place(key[0])) is None), None)
    named = "" if first is None else f" (the first: {first[0]}, epoch {first[1]})"
    told = f"{part.path} has results of {found} of the {part.planned} trials of shard {part.shard}{named}"
    return ConfigurationError(f"{told}: go on with it, micro-agent eval run --resume {part.path}, then merge again")


class _Sources:
    """The files of the parts, some of them open."""

    def __init__(self, parts: Sequence[Part], held: ExitStack) -> None:
        self._parts, self._open = parts, dict[int, BufferedReader]()
        held.callback(lambda: [file.close() for file in self._open.values()])

    def line(self, number: int, offset: int) -> bytes:
        """The line at an offset of a part. Raises `OSError`."""
        file = self._open.get(number)
        if file is None:
            if len(self._open) >= _OPEN:
                self._open.pop(next(iter(self._open))).close()
            file = self._open[number] = BufferedReader(FileIO(open_file(self._parts[number].path)))
        file.seek(offset)
        return file.readline()


def _ordered(lines: Scratch, sources: _Sources) -> Iterator[bytes]:
    for part, offset, trace in lines.run("SELECT part, offset, trace FROM lines ORDER BY epoch, task, part, offset"):
        line = sources.line(part, offset)
        yield line if trace is None else _renamed(line, trace)


def _renamed(line: bytes, trace: str) -> bytes:
    data: dict[str, Any] = parse(line)
    return mask_of().encode(data | {"trace": trace})

"""The parts of an eval that was run in shards: whether they belong together, and what each has to hold."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any, cast

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.result import Header
from micro_agent.evaluation.result_lines import Key, header_of, whole_lines
from micro_agent.evaluation.shards import Shard, shard_of
from micro_agent.files.jsonl import open_file, storage_error

_OWN = {"id", "ts", "dataset", "shard", "trials", "tasks"}
"""Fields of the header that are not compared as they stand: of the dataset the bytes count, not its name."""
_OWN_SETTINGS = {"base_url", "demos"}
"""Settings that do: each machine may ask a server of its own; of demos the digest counts, not the file's name."""
_NAMED = 10


@dataclass(frozen=True, slots=True)
class Part:
    """The result file of a shard."""

    path: Path
    header: Header
    shard: Shard
    planned: int
    """How many trials it has to hold."""
    places: dict[str, int] = field(repr=False)
    """By the ids of the tasks, where they are listed, the order in which they were drawn."""

    def place(self, task: str) -> int | str:
        """What a task is sorted by."""
        return self.places[task] if self.places else task

    def trials(self) -> Iterator[Key]:
        """The trials that it has to hold, where the tasks are listed."""
        return _keys(self.header, self.shard)

    def refuse_foreign(self, key: Key, line: int) -> None:
        """Raise `ConfigurationError` for the trial of another shard or eval."""
        task, epoch = key
        number = shard_of(key, self.shard.of)
        if not 0 <= epoch < self.header.epochs or (self.places and task not in self.places):
            told = "is none of those that were to be asked"
        elif number != self.shard.number:
            told = f"belongs to shard {number}/{self.shard.of}, not to {self.shard}"
        else:
            return
        where = f"{self.path}, line {line}: the trial {task}, epoch {epoch},"
        raise ConfigurationError(f"{where} {told}: something was added to the file; run that shard again")


def read_parts(paths: Iterable[Path]) -> list[Part]:
    """The parts that lie in files.

    Raises:
        ConfigurationError: One is a result file, and not that of a shard.
        StorageError: One cannot be read, or is no result file.
    """
    parts: list[Part] = []
    for path in paths:
        parts.append(_read(path, parts[0] if parts else None))
    return parts


def _read(path: Path, like: Part | None) -> Part:
    """``like`` is a part that most likely has the same tasks: what is equal is there once."""
    try:
        with open(open_file(path), "rb") as file:
            header = header_of(whole_lines(file, path), path)
    except OSError as error:
        raise storage_error("read the result file", path, error) from error
    if header.shard is None:
        raise ConfigurationError(f"{path} is no part of an eval: it was not made with --shard; leave it out")
    if header.trials is None:
        raise ConfigurationError(f"{path} does not say how many trials its shard has: run it again")
    shard, planned = Shard.parse(header.shard), header.trials
    if like is not None and like.header.tasks == header.tasks:
        return Part(path, header.model_copy(update={"tasks": like.header.tasks}), shard, planned, like.places)
    return Part(path, header, shard, planned, {task: place for place, task in enumerate(header.tasks)})


def checked(parts: Sequence[Part]) -> list[Part]:
    """The parts in the order of the shards. Raises `ConfigurationError` if they are not all shards of one eval."""
    _refuse_others(parts)
    by_number: dict[int, Part] = {}
    for part in parts:
        before = by_number.setdefault(part.shard.number, part)
        if before is not part:
            raise ConfigurationError(f"{before.path} and {part.path} are both shard {part.shard}: leave one out")
    of = parts[0].shard.of
    missing = [str(Shard(number, of)) for number in range(1, of + 1) if number not in by_number]
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        names = f"{', '.join(missing[:_NAMED])}{more}"
        told = f"shard {names} is missing" if len(missing) == 1 else f"the shards {names} are missing"
        raise ConfigurationError(f"{told} beside {parts[0].path}: name the file of each, or run it with --shard")
    return [by_number[number] for number in range(1, of + 1)]


def _keys(header: Header, shard: Shard) -> Iterator[Key]:
    keys = ((task, epoch) for epoch in range(header.epochs) for task in header.tasks)
    return filter(shard.holds, keys)


def _refuse_others(parts: Sequence[Part]) -> None:
    """Refuse a part of another eval: what most of them were made with is right."""
    asked = [_asked(part) for part in parts]
    digests = list(map(_digest, asked))
    most = digests.index(Counter(digests).most_common(1)[0][0])
    for part, own in zip(parts, asked, strict=True):
        differing = [name for name in asked[most] | own if own.get(name) != asked[most].get(name)]
        if differing:
            name = differing[0]
            more = f" and {len(differing) - 1} more" if len(differing) > 1 else ""
            values = "" if name == "tasks" else f" ({own.get(name)!r:.60}, there {asked[most].get(name)!r:.60})"
            told = f"{part.path} is part of another eval than {parts[most].path}: {name}{values}{more}"
            raise ConfigurationError(f"{told}; leave it out, or run that shard again as the others")


def _asked(part: Part) -> dict[str, Any]:
    """What all shards of an eval have in common, settings of settings by ``a.b``."""
    asked = {"shards": part.shard.of, "tasks": part.header.tasks} | part.header.model_dump(mode="json", exclude=_OWN)
    return {name: value for name, value in _flat("", asked) if name.removeprefix("settings.") not in _OWN_SETTINGS}


def _flat(above: str, data: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in data.items():
        if isinstance(value, dict):
            yield from _flat(f"{above}{name}.", cast("dict[str, Any]", value))
        else:
            yield f"{above}{name}", value


def _digest(asked: dict[str, Any]) -> bytes:
    return sha256(dumps(asked, sort_keys=True).encode()).digest()

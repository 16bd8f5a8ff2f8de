"""The runs in trace files and folders of them, one a file, with what is wrong with the files that give none."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from micro_agent.errors import ConfigurationError
from micro_agent.run import SCHEMA_VERSION, Run
from micro_agent.run.chain import earlier_of
from micro_agent.traces import read_records


@dataclass(frozen=True, slots=True)
class Recorded:
    """One record of a trace: the run, or in one line why there is none to work with."""

    source: str | None = None
    run: Run | None = None
    fault: str | None = None


def recorded(paths: Iterable[str | Path], index: int = -1) -> Iterator[Recorded]:
    """One record of each file; a folder stands for its ``*.jsonl``, by name.

    Args:
        paths: Trace files and folders of them.
        index: Which of a file's readable records, as a list counts them.

    Yields:
        For each file a `Recorded`. A last line that is torn is a fault when the last record is asked for: the one
        before it is older than what the run came to. So is a record of a newer schema.

    Raises:
        ConfigurationError: A folder has no ``*.jsonl``.
    """
    for path in paths:
        yield from (_recorded(file, index) for file in _files(Path(path)))


def with_earlier(run: Run, path: Path) -> Run:
    """The run with those before it in its conversation, whose traces stand beside its own at ``path``."""
    if run.follows is not None and not run.earlier:
        run.earlier = earlier_of(run, lambda ident: _latest(path.with_name(f"{ident}.jsonl")))
    return run


def _latest(path: Path) -> Run | None:
    runs = [record.run for record in read_records(path) if record.run is not None]
    return runs[-1] if runs else None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if files := sorted(path.glob("*.jsonl")):
        return files
    raise ConfigurationError(f"no *.jsonl in the folder {path}: name a folder of traces, or files")


def _recorded(path: Path, index: int) -> Recorded:
    records = list(read_records(path))
    runs = [record.run for record in records if record.run is not None]
    if not runs or (index == -1 and records[-1].fault):
        last = records[-1]
        where = f"line {last.line_number}: " if last.line_number else ""
        return Recorded(str(path), fault=f"{where}{last.fault}")
    if not -len(runs) <= index < len(runs):
        return Recorded(str(path), fault=f"it has no record {index}, only {len(runs)}")
    run = runs[index]
    if run.schema_version > SCHEMA_VERSION:
        newer = f"schema version {run.schema_version}, {SCHEMA_VERSION} is known: update micro-agent"
        return Recorded(str(path), fault=newer)
    return Recorded(str(path), with_earlier(run, path))

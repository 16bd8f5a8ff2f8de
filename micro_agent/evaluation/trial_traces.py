"""The traces of an eval's trials: a folder beside its result file, so that those of `ask` stay among themselves."""

from pathlib import Path

from micro_agent.evaluation.result import Result
from micro_agent.run import LMCall
from micro_agent.traces import read_records


def folder_of(results: Path) -> Path:
    """Where the runs of an eval are written: ``ID.traces`` beside ``ID.jsonl``, whether it is there or not."""
    return results.with_name(f"{results.name.removesuffix('.jsonl')}.traces")


def calls_of(result: Result, folder: Path | None) -> list[LMCall] | None:
    """The model calls of a trial, from its trace in ``folder`` or where its result says; ``None`` if it is not there.

    Somebody else may have written the result file: what it names is opened only as the trace of this very run.
    """
    named = [] if result.trace is None else [Path(result.trace).parent]
    for place in [*([folder] if folder else []), *named]:
        try:
            records = read_records(place / f"{result.run.id}.jsonl")
            runs = [record.run for record in records if record.run is not None and record.run.id == result.run.id]
        except ValueError:  # no path at all, such as one with a NUL in it
            continue
        if runs:
            return runs[-1].calls
    return None

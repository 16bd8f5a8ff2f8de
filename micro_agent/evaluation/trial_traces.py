"""The traces of an eval's trials: a folder beside its result file, so that those of `ask` stay among themselves."""

from pathlib import Path


def folder_of(results: Path) -> Path:
    """Where the runs of an eval are written: ``ID.traces`` beside ``ID.jsonl``, whether it is there or not."""
    return results.with_name(f"{results.name.removesuffix('.jsonl')}.traces")

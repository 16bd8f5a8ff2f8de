"""One trace, read: what of it can be counted without the file, and what shows it as an example.

Each line is taken as `TraceStore.load` takes it, so that figures from the index are those of the files. A trace in
which anything is odd (a line that cannot be read, a record of a newer version, a number out of all measure) is not
counted from the index: it is read again whenever figures are made, and what is wrong with it is said then.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from micro_agent.files.jsonl import open_file, parse
from micro_agent.index.entries import Entry, entry_of
from micro_agent.run import SCHEMA_VERSION, Run
from micro_agent.run.totals import known

_LONGEST = 32 * 2**20
"""Bytes of a trace that are read at once: of a longer one the end, and it is odd."""
_LARGEST, _REASON = 2**40, 200


@dataclass(frozen=True, slots=True)
class Counts:
    """What `Totals` counts of one run, as numbers; ``unsaid`` are the model calls of which nothing is known."""

    status: str
    reason: str | None
    lm_calls: int
    tool_calls: int
    input_tokens: int
    input_unsaid: int
    output_tokens: int
    output_unsaid: int
    cost_usd: float
    cost_unsaid: int
    latency_s: float


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as it was when it was read.

    Attributes:
        size: In bytes; ``mtime`` in nanoseconds.
        readable: Whether it has a record.
        counts: Of its last record; ``None``: it is odd.
        entry: Of its last record, if that is an example.
    """

    size: int
    mtime: int
    readable: bool
    counts: Counts | None
    entry: Entry | None

    @property
    def open(self) -> bool:
        """Whether it is to be looked at every time: more will be written to it, or it is odd."""
        return self.counts is None or self.counts.status in ("running", "confirmation_required")


def read_trace(path: Path) -> Trace | None:
    """Read a trace; ``None`` if there is none (any more). One that cannot be opened is odd."""
    try:
        with open(open_file(path), "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            file.seek(max(0, found.st_size - _LONGEST))
            raw = file.readall()
    except FileNotFoundError:
        return None
    except OSError:
        return Trace(-1, path.lstat().st_mtime_ns, False, None, None)
    records = list(_records(raw))
    runs = [(run, record) for record in records if record and (run := _run(record))]
    if not runs:
        return Trace(found.st_size, found.st_mtime_ns, False, None, None)
    odd = found.st_size > _LONGEST or len(runs) < len(records) or any(_is_newer(record) for _, record in runs)
    run, record = runs[-1]
    counts = None if odd else _counts(run)
    return Trace(found.st_size, found.st_mtime_ns, True, counts, entry_of(path.stem, record))


def _records(raw: bytes) -> Iterator[dict[str, Any] | None]:
    """The objects in the lines that are not blank; ``None`` for a line without one."""
    for line in filter(bytes.strip, raw.split(b"\n")):
        try:
            yield _fast(line) or parse(line)
        except ValueError:
            yield None


def _fast(line: bytes) -> dict[str, Any] | None:
    """The object in a line, in a third of the time; it does not read all that `parse` does."""
    try:
        value = from_json(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _run(record: dict[str, Any]) -> Run | None:
    try:
        return Run.model_validate(record)
    except ValueError:
        return None


def _is_newer(record: dict[str, Any]) -> bool:
    version = record.get("schema_version", SCHEMA_VERSION)
    return not isinstance(version, int) or version > SCHEMA_VERSION


def _counts(run: Run) -> Counts | None:
    """The numbers of a run; ``None`` if one is not such as a run has."""
    (given, given_unsaid), (made, made_unsaid) = known(run, "input_tokens"), known(run, "output_tokens")
    cost, cost_unsaid = known(run, "cost_usd")
    numbers = [run.usage.lm_calls, run.usage.tool_calls, given, given_unsaid, made, made_unsaid, cost, cost_unsaid]
    reason, latency = run.termination_reason, run.usage.latency_s
    plain = all(-_LARGEST <= number <= _LARGEST for number in (*numbers, latency))
    if not plain or (reason is not None and not (len(reason) <= _REASON and reason.isprintable())):
        return None
    return Counts(
        run.status, reason, run.usage.lm_calls, run.usage.tool_calls, int(given), given_unsaid, int(made), made_unsaid,
        cost, cost_unsaid, latency,
    )  # fmt: skip

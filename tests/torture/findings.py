"""What is on disk after harm was done to a run, and what has become of it once the run was resumed."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from micro_agent.run import Run
from micro_agent.traces import Record, TraceStore, read_records

DONE = ("send", "pay")


@dataclass(frozen=True)
class Left:
    """The run of a folder as harm has left it: folded from its journal, and the whole lines of its files."""

    folder: Path
    store: TraceStore
    run: Run | None
    events: list[dict[str, Any]]
    records: list[bytes]
    trace: Path | None

    @classmethod
    def of(cls, folder: Path, store: TraceStore) -> "Left":
        """Look, and change nothing. The run is the one whose question names the folder."""
        open_runs = [run.id for run in store.open_runs() if run.question == question(folder)]
        ids = [run_id for run_id in store.ids() if _asks(store.path(run_id), question(folder))]
        assert len(set(open_runs + ids)) <= 1, "one folder, one run"
        journal = store.state_dir / "runs" / f"{open_runs[0]}.journal" if open_runs else None
        trace = store.path([*open_runs, *ids][0]) if open_runs or ids else None
        events = [json.loads(line) for line in _whole(journal)]
        return cls(folder, store, store.peek(open_runs[0]) if open_runs else None, events, list(_whole(trace)), trace)

    def found(self) -> dict[str, Any]:
        """What is to be counted, after the run was resumed if it could be; "why" says what a loss is."""
        final = self._final()
        why = [*self._unreadable()]
        columns: dict[str, Any] = {
            "resumed": self.run is not None, "on record": self.run is None and final is not None,
            "not begun": final is None, "torn": self._torn(),
        }  # fmt: skip
        if final is None:
            lost = [f"{letter} was done by a run that left nothing" for letter in self._effects()]
        else:
            lost = [*self._lost(final)]
        doubled, twice = [*self._doubled(final)], [*self._twice()]
        columns |= {"lost": len(lost), "doubled": len(doubled), "done twice": len(twice), "unreadable": len(why)}
        return {**columns, "why": [*lost, *doubled, *twice, *why], "status": final and final.status}

    def _final(self) -> Run | None:
        runs = [record.run for record in self._records() if record.run]
        return runs[-1] if runs else None

    def _lost(self, final: Run) -> Iterable[str]:
        after = list(_whole(self.trace))
        if after[: len(self.records)] != self.records:
            yield "records of the trace"
        if self.run is not None:
            if final.status != ("completed" if self.run.status == "running" else self.run.status):
                yield f"the end: {final.status}, {final.error}"
            if final.calls[: len(self.run.calls)] != self.run.calls:
                yield "replies"
            if final.steps[: len(self.run.steps)] != self.run.steps:
                yield "steps"
        steps = [step for step in final.steps if step.tool in DONE]
        known = {step.args["letter"] for step in steps}
        for letter in self._effects():
            if letter not in known:
                yield f"{letter} was done, and no step says so"
        for step in steps:
            if step.ok and step.args["letter"] not in self._effects():
                yield f"{step.args['letter']} is said to be done and is not"

    def _doubled(self, final: Run | None) -> Iterable[str]:
        numbers = Counter(event["n"] for event in self.events)
        yield from (f"event {number}" for number, times in numbers.items() if times > 1)
        lines = Counter(_whole(self.trace))
        yield from (f"record {line[:80]!r}" for line, times in lines.items() if times > 1)
        if sum(json.loads(line)["status"] == "completed" for line in lines) > 1:
            yield "the end"
        steps = Counter((step.call, step.call_id) for step in (final.steps if final else []) if step.is_tool)
        yield from (f"step {step}" for step, times in steps.items() if times > 1)

    def _twice(self) -> Iterable[str]:
        return (letter for letter, times in Counter(self._effects()).items() if times > 1)

    def _unreadable(self) -> Iterable[str]:
        """A journal that no run starts in is one that was killed before its first line was whole."""
        for run in self.store.open_runs():
            if run.question is None and any(_whole(self.store.state_dir / "runs" / f"{run.id}.journal")):
                yield f"journal {run.id}: {run.damage}"
        if self.run is not None:
            yield from (str(path) for path in (self.store.state_dir / "runs").glob(f"{self.run.id}.*"))

    def _torn(self) -> int:
        return sum(record.fault is not None for record in self._records() if record.line_number)

    def _records(self) -> list[Record]:
        return list(read_records(self.trace)) if self.trace else []

    def _effects(self) -> list[str]:
        path = self.folder / "effects"
        return path.read_text(encoding="utf-8").split() if path.exists() else []


def question(folder: Path) -> str:
    """What the run of a folder is asked."""
    return f"Do it in {folder}."


def _asks(path: Path, question: str) -> bool:
    return any(record.run is not None and record.run.question == question for record in read_records(path))


def _whole(path: Path | None) -> Iterable[bytes]:
    """The lines of a file that hold an object, also a last one without its newline."""
    if path is None or not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            if isinstance(json.loads(line), dict):
                yield line
        except ValueError:
            continue

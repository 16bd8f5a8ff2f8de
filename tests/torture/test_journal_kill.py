"""A journal whose writer is killed at every system call that changes a file: nothing said to be done is lost."""

import shutil
from itertools import count
from pathlib import Path

import lives
import pytest
from nursery import Nursery
from tally import Tally

from micro_agent.storage.decisions import Decision
from micro_agent.traces import TraceStore, read_records

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the kills land on a chosen system call"),
]


def check(store: TraceStore, said: list[str]) -> None:
    """What was said to be done is there; going on ends with one record and nothing left behind."""
    if "started" not in said:  # killed before anything was promised: no journal, or one that is listed as damaged
        assert all(run.question == "why?" or "no event starts a run" in str(run.damage) for run in store.open_runs())
        return
    if not store.open_runs():
        assert store.load(lives.KEPT).answer == "so"
        return
    journal = store.resume(lives.KEPT)
    run = journal.run
    assert len(run.calls) >= ("replied" in said)
    assert len(run.steps) >= ("step" in said)
    if not run.steps:
        assert journal.interrupted(0, "a") >= ("tool" in said)
        if not journal.interrupted(0, "a"):
            assert (run.confirmation == lives.ASKED) >= ("asked" in said)
            expected = Decision("approve", "go")
            assert journal.decision(lives.ASKED) in ((expected,) if "settled" in said else (expected, None))
    run.status, run.answer = "completed", "so"
    journal.finish(run)
    assert list((store.state_dir / "runs").iterdir()) == []
    records = [record for record in read_records(store.path(run.id)) if record.run]
    assert [record.run and record.run.answer for record in records] == ["so"]


@pytest.mark.parametrize("syscall", ["openat", "write", "fdatasync", "fsync", "link", "unlink", "mkdir"])
def test_killed_at_every_system_call(syscall: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    for number in count(1):
        folder = tmp_path / str(number)
        ended = nursery.live("keep", folder, inject=f"{syscall}:signal=KILL:when={number}")
        assert ended.killed or ended.last() == "finished"
        check(lives.store_of(folder), ended.said)
        tally.count("killed at a system call: journal", {"resumed": "started" in ended.said}, harmed=ended.killed)
        if not ended.killed:
            assert number > 1
            return

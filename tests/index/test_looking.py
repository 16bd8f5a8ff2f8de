"""What is looked at when the index is brought up to date, and that nothing of ours is missed by it."""

import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from micro_agent.index import TraceIndex
from micro_agent.run import Run
from micro_agent.traces import TraceStore
from tests.index.desk import Desk

HOUR = 3_600


class Later:
    """A clock that is an hour ahead: by it the folder has not changed for long."""

    def __init__(self) -> None:
        self.ahead = HOUR

    def __call__(self) -> float:
        return time.time() + self.ahead


def counts(index: TraceIndex) -> dict[str, int]:
    found = index.statistics(lambda ids: ())
    assert found is not None
    return found["status"]


def edited(store: TraceStore, run: Run, old: bytes, new: bytes) -> None:
    """Change a trace in place, as another program does: its folder does not show it."""
    path = store.path(run.id)
    path.write_bytes(path.read_bytes().replace(old, new))


def test_nothing_that_we_write_is_missed_where_the_folder_tells(desk: Desk) -> None:
    clock = Later()
    index = desk.another(clock=clock, trusting=2)
    ended, paused = desk.ran(), desk.ran(status="confirmation_required")
    assert counts(index) == {"completed": 1, "confirmation_required": 1}
    edited(desk.store, ended, b"completed", b"running")
    assert counts(index) == {"completed": 1, "confirmation_required": 1}  # the folder is trusted
    edited(desk.store, paused, b"confirmation_required", b"stopped")
    assert counts(index) == {"completed": 1, "stopped": 1}  # a run that is open is looked at in any case
    clock.ahead += 601
    assert counts(index) == {"running": 1, "stopped": 1}  # and the folder is trusted for ten minutes
    clock.ahead -= HOUR
    edited(desk.store, paused, b"stopped", b"failed")
    assert counts(index) == {"failed": 1, "running": 1}  # a clock that was set back is not
    ended.status = "stopped"
    desk.store.append(ended)
    assert counts(index) == {"failed": 1, "stopped": 1}
    edited(desk.store, ended, b"stopped", b"running")
    few = desk.another(clock=clock)
    assert counts(few) == {"failed": 1, "running": 1}  # of few each is looked at every time
    edited(desk.store, ended, b"running", b"stopped")
    desk.store.path(paused.id).unlink()
    assert counts(index) == {"stopped": 1}
    assert desk.said == []


def test_a_folder_that_was_written_to_just_now_is_not_trusted(desk: Desk) -> None:
    run = desk.ran()
    index = desk.another(clock=time.time, trusting=1)
    for old, new in ((b"completed", b"stopped"), (b"stopped", b"failed")):
        edited(desk.store, run, old, new)
        assert counts(index) == {new.decode(): 1}


class Removing(sqlite3.Connection):
    """A connection of a process beside which another one removes the traces, after the folder was looked at."""

    traces: Path

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if "WHERE open" in sql:
            for path in self.traces.glob("*.jsonl"):
                path.unlink()
        return super().execute(sql, *args)


def test_an_open_run_whose_trace_goes_is_gone(desk: Desk) -> None:
    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        return sqlite3.connect(*args, factory=Removing, **options)

    Removing.traces, clock = desk.store.directory, Later()
    desk.ran(status="running")
    assert counts(desk.another(clock=clock, trusting=1)) == {"running": 1}
    assert counts(desk.another(clock=clock, trusting=1, connect=connect)) == {}
    desk.store.directory.rmdir()
    assert counts(desk.index) == {}


def test_what_is_new_is_seen_without_a_look_at_every_file(desk: Desk) -> None:
    ended, open_, gone = desk.ran(), desk.ran(status="running"), desk.ran("Write a poem about rain")
    assert desk.index.refresh()
    new = desk.ran("The pager shows an empty page")
    desk.store.path(gone.id).unlink()
    edited(desk.store, ended, b"completed", b"failed")
    edited(desk.store, open_, b"running", b"stopped")
    assert desk.index.refresh(all_files=False)
    assert desk.index.exemplars("an empty page of the pager")[0].run_id == new.id
    assert desk.index.exemplars("a poem about rain") == []
    told = desk.index.newest(9)
    assert told is not None
    assert set(told) == {ended.id, open_.id, new.id}
    assert counts(desk.index) == {"completed": 1, "failed": 1, "stopped": 1}


def test_folders_of_traces_that_share_their_state_do_not_share_an_index(tmp_path: Path) -> None:
    stores = [TraceStore(tmp_path / name, state_dir=tmp_path / "state") for name in ("a", "b", "state/traces")]
    for number, store in enumerate(stores):
        for _ in range(number + 1):
            store.append(Run(question="Why?", status="completed"))
    for _ in range(2):
        assert [counts(TraceIndex(store)) for store in stores] == [{"completed": number} for number in (1, 2, 3)]
    assert TraceIndex(stores[2]).path == tmp_path / "state" / "index.sqlite3"


WORKING = """
import sys
from micro_agent.index import TraceIndex
from micro_agent.run import Run
from micro_agent.traces import TraceStore
name, count = sys.argv[3], int(sys.argv[4])
store = TraceStore(sys.argv[1], state_dir=sys.argv[2], environ={})
index = TraceIndex(store, trusting=1)
for number in range(count):
    run = Run(question=f"Task {name} number{number}", status="running")
    store.append(run)
    if number % 10 == 3:
        assert index.refresh() and index.refresh(all_files=False)
    run.status = "completed"
    store.append(run)
"""


def test_processes_that_write_and_refresh_at_once_lose_nothing_and_count_nothing_twice(desk: Desk) -> None:
    command = [sys.executable, "-c", WORKING, str(desk.store.directory), str(desk.store.state_dir)]
    workers = [subprocess.Popen([*command, name, "20"]) for name in "ab"]
    while any(worker.poll() is None for worker in workers):
        assert desk.index.refresh()
    assert [worker.returncode for worker in workers] == [0, 0]
    assert counts(desk.index) == {"completed": 40}
    assert desk.index.newest(99) == list(desk.store.ids())
    assert desk.said == []

"""Processes that keep the index of traces up to date, killed at any moment: what is left is good or made again."""

import random
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from micro_agent.errors import StorageError
from micro_agent.index import TraceIndex
from micro_agent.replay import statistics
from micro_agent.run import Run, Step
from micro_agent.traces import TraceStore

KEEPING = """
import sys
from micro_agent.index import TraceIndex
from micro_agent.traces import TraceStore
index = TraceIndex(TraceStore(sys.argv[1], state_dir=sys.argv[2], environ={}))
print("begun", flush=True)
while True:
    index.rebuild()
"""


WRITING = """
import sys
from micro_agent.run import Run
from micro_agent.traces import TraceStore
store = TraceStore(sys.argv[1], state_dir=sys.argv[2], environ={})
while True:
    run = Run(question="Task of many", status="running")
    store.append(run)
    run.status = "completed"
    store.append(run)
"""
REFRESHING = """
import sys
from micro_agent.index import TraceIndex
from micro_agent.traces import TraceStore
index = TraceIndex(TraceStore(sys.argv[1], state_dir=sys.argv[2], environ={}), trusting=1)
while True:
    assert index.refresh() and index.refresh(all_files=False)
    assert index.statistics(lambda ids: ()) is not None
"""


def readable(store: TraceStore, ids: Iterable[str]) -> Iterator[Run]:
    """The runs that have a record: of one that was begun as its writer was killed there is none."""
    for run_id in ids:
        with suppress(StorageError):
            yield store.load(run_id)


@pytest.mark.torture
def test_writers_and_those_who_refresh_are_killed_and_every_run_is_counted_once(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state", environ={})
    said: list[str] = []
    index, rng = TraceIndex(store, announce=said.append), random.Random(17)
    for written in (50, 100, 150, 200):
        processes = [
            subprocess.Popen([sys.executable, "-c", script, str(store.directory), str(store.state_dir)])
            for script in (WRITING, WRITING, REFRESHING, REFRESHING, REFRESHING)
        ]
        while sum(1 for _ in store.ids()) < written:
            time.sleep(rng.random() / 10)
        for process in rng.sample(processes, len(processes)):
            assert process.poll() is None
            process.kill()
            process.wait()
        ids = list(store.ids())
        assert index.statistics(partial(readable, store)) == statistics(readable(store, ids))
        assert index.newest(len(ids) + 1) == ids
        assert len(set(ids)) == len(ids)
    assert said == []


@pytest.mark.torture
def test_what_a_killed_process_leaves_is_read_or_made_again(tmp_path: Path) -> None:
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state", environ={})
    steps = [Step(tool="read_file", args={"path": "a.py"})]
    for number in range(400):
        store.append(Run(question=f"Task number{number} of many", steps=steps, answer="x", status="completed"))
    said: list[str] = []
    rng = random.Random(16)
    for _ in range(8):
        command = [sys.executable, "-c", KEEPING, str(store.directory), str(store.state_dir)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            time.sleep(rng.random() / 4)
            process.kill()
        index = TraceIndex(store, announce=said.append)
        assert index.refresh()
        assert [one.task for one in index.exemplars("number77 of many", 1)] == ["Task number77 of many"]
    assert said == []

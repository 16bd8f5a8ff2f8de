"""Processes that keep the index of traces up to date, killed at any moment: what is left is good or made again."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from micro_agent.index import TraceIndex
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

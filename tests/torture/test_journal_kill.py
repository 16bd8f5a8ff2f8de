"""A run killed at every system call that changes a file, and writes that fail: nothing said to be done is lost."""

import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from micro_agent.run import Run
from micro_agent.storage.decisions import Decision
from micro_agent.traces import TraceStore, read_records

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the kills land on a chosen system call"),
]

LIFE = """
import sys
from micro_agent.errors import StorageError
from micro_agent.run import LMCall, Run, Step
from micro_agent.traces import TraceStore

def done(word):
    print(word, flush=True)

store = TraceStore(sys.argv[1], state_dir=sys.argv[2])
run = Run(id="0" * 32, question="why?")
question = {"tool": "send", "args": {}, "call": 0, "call_id": "a", "sha256": "5" * 64}
try:
    journal = store.start(run)
    done("started")
    run.calls.append(LMCall(reply={"text": "x" * 9000}))
    journal.replied(run.calls[0])
    done("replied")
    journal.asked(question)
    done("asked")
    decision = journal.settle(question, "approve", "go")
    done("settled")
    journal.decided(decision.decision, decision.feedback)
    done("decided")
    journal.tool_started(0, "a", "send", {}, side_effects=True)
    done("tool")
    run.steps.append(Step(tool="send", call=0, call_id="a", observation={"ok": True}))
    journal.step(run.steps[0])
    done("step")
    run.status, run.answer = "completed", "so"
    journal.finish(run)
    done("finished")
except StorageError as error:
    done("StorageError")
"""
CHANGES = "write,fdatasync,fsync,link,unlink,mkdir"
QUESTION: dict[str, Any] = {"tool": "send", "args": {}, "call": 0, "call_id": "a", "sha256": "5" * 64}


def live(folder: Path, syscalls: str, injection: str) -> tuple[int, list[str]]:
    """Live a run under strace; returns its exit status and what it said was done."""
    trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={syscalls}", "-e", f"inject={syscalls}:{injection}"]
    child = [sys.executable, "-B", "-c", LIFE, str(folder / "traces"), str(folder / "state")]
    ended = subprocess.run([*trace, *child], stdout=subprocess.PIPE, text=True, check=False)
    return ended.returncode, ended.stdout.split()


def check(store: TraceStore, said: list[str]) -> None:
    """What was said to be done is there; going on ends with one record and nothing left behind."""
    if "started" not in said:  # killed before anything was promised: no journal, or one that is listed as damaged
        assert all(run.question == "why?" or "no event starts a run" in str(run.damage) for run in store.open_runs())
        return
    if not store.open_runs():
        assert store.load("0" * 32).answer == "so"
        return
    journal = store.resume("0" * 32)
    run = journal.run
    assert len(run.calls) >= ("replied" in said)
    assert len(run.steps) >= ("step" in said)
    if not run.steps:
        assert journal.interrupted(0, "a") >= ("tool" in said)
        if not journal.interrupted(0, "a"):
            assert (run.confirmation == QUESTION) >= ("asked" in said)
            expected = Decision("approve", "go")
            assert journal.decision(QUESTION) in ((expected,) if "settled" in said else (expected, None))
    run.status, run.answer = "completed", "so"
    journal.finish(run)
    assert list((store.state_dir / "runs").iterdir()) == []
    records = [record for record in read_records(store.path(run.id)) if record.run]
    assert [record.run and record.run.answer for record in records] == ["so"]


@pytest.mark.parametrize("syscall", CHANGES.split(","))
def test_killed_at_every_system_call(tmp_path: Path, syscall: str) -> None:
    for number in count(1):
        folder = tmp_path / str(number)
        status, said = live(folder, syscall, f"signal=KILL:when={number}")
        if status == 0:
            assert said[-1] == "finished"
            assert number > 1
            return
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL)
        check(TraceStore(folder / "traces", state_dir=folder / "state"), said)


@pytest.mark.parametrize(("syscall", "fault"), [("fdatasync", "EIO"), ("fsync", "EIO"), ("link", "ENOSPC")])
def test_every_failing_system_call_is_told_and_survived(tmp_path: Path, syscall: str, fault: str) -> None:
    for number in count(1):
        folder = tmp_path / str(number)
        status, said = live(folder, syscall, f"error={fault}:when={number}")
        assert status == 0
        if said[-1] == "finished":
            assert number > 1
            return
        assert said[-1] == "StorageError"
        check(TraceStore(folder / "traces", state_dir=folder / "state"), said[:-1])


def test_a_writer_killed_at_random_loses_one_record_at_most(tmp_path: Path) -> None:
    script = """
import sys
from micro_agent.run import Run
from micro_agent.traces import TraceStore
store = TraceStore(sys.argv[1], state_dir=sys.argv[1])
for number in range(1000):
    store.append(Run(id="0" * 32, question=str(number), answer="x" * 1_000_000))
    print(number, flush=True)
"""
    store = TraceStore(tmp_path, state_dir=tmp_path)
    whole = 0
    for round_ in range(10):
        child = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(1 + round_)]
        child.kill()
        said += child.communicate()[0].splitlines()
        runs = [record.run for record in read_records(store.path("0" * 32)) if record.run]
        assert len(runs) >= whole + len(said)
        assert {run.answer for run in runs} <= {"x" * 1_000_000, None}
        whole = len(runs)
        store.append(Run(id="0" * 32, question="after"))
        whole += 1
        assert store.load("0" * 32).question == "after"

"""The progress of an eval: one line with what a person wants to know, live on a terminal, now and then elsewhere."""

import io
import os
import pty
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from micro_agent.evaluation.progress import Progress, shown
from micro_agent.evaluation.result import Header, Result
from micro_agent.evaluation.results import ResultFile
from micro_agent.evaluation.task import Task
from micro_agent.run import Run, Usage


def result(number: int, *, success: bool, cost: float | None = 0.002) -> Result:
    run = Run(question="?", status="completed", usage=Usage(cost_usd=cost))
    task = Task(id=f"t{number}", question="?", expect_contains=["x"])
    return Result(task=task, run=run, wall_s=1, checks=[], score=0, success=success)


def everything(terminal: int) -> str:
    """What was written to a terminal that is closed now: reading it ends with an error."""
    read = b""
    with suppress(OSError):
        while True:
            read += os.read(terminal, 65536)
    os.close(terminal)
    return read.decode()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ResultFile]:
    header = Header(dataset="t.yaml", dataset_sha256="0" * 64, tasks=[f"t{n}" for n in range(4000)], epochs=2)
    with ResultFile.create(tmp_path / "results.jsonl", header) as file:
        yield file


def test_the_line_has_done_success_rate_time_left_and_cost(file: ResultFile):
    now = 100.0
    file.append(result(0, success=True))
    progress = Progress(file, 7999, clock=lambda: now)
    assert progress.line() == "1/8000  success 100.0%  -  left -  cost $0.0020"
    for number in (1, 2):
        file.append(result(number, success=False))
        progress(result(number, success=False))
    now = 104.0
    assert progress.line() == "3/8000  success 33.3%  0.5/s  left 4:26:34  cost $0.0060"
    now = 100.5
    assert progress.line() == "3/8000  success 33.3%  4/s  left 33:19  cost $0.0060"
    file.append(result(3, success=True, cost=None))
    assert progress.line().endswith("cost unknown")


def test_before_the_first_result_nothing_is_known(file: ResultFile):
    assert Progress(file, 8000).line() == "0/8000  success -  -  left -  cost $0.0000"


def test_errors_that_are_asked_again_count_as_open(file: ResultFile):
    for number in range(3):
        file.append(result(number, success=False))
    progress = Progress(file, 7998)
    assert progress.line().startswith("2/8000")
    progress(result(2, success=True))
    assert progress.line().startswith("3/8000")


def test_a_file_gets_a_plain_line_now_and_then_and_one_at_the_end(file: ResultFile):
    seldom, often = io.StringIO(), io.StringIO()
    for stream, every_s in ((seldom, 1000), (often, 0)):
        with shown(Progress(file, 8000), stream, every_s=every_s) as on_result:
            for number in range(3):
                on_result(result(number, success=True))
    assert [line.split()[0] for line in seldom.getvalue().splitlines()] == ["3/8000"]
    assert [line.split()[0] for line in often.getvalue().splitlines()] == ["1/8000", "2/8000", "3/8000", "3/8000"]


def test_a_terminal_gets_one_live_line_and_keeps_the_last(file: ResultFile, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()
    terminal: TextIO = os.fdopen(theirs, "w")
    with shown(Progress(file, 8000), terminal) as on_result:
        on_result(result(0, success=True))
    terminal.close()
    printed = everything(ours)
    assert "\x1b[" in printed
    assert printed.rstrip().splitlines()[-1].endswith("cost $0.0000")
    assert "1/8000" in printed.rstrip().splitlines()[-1]

"""Processes killed at every system call that changes a file, in each stage of a run's life; then it is resumed."""

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import lives
import pytest
from nursery import Ended, Nursery
from tally import Tally

from micro_agent.errors import ConfigurationError, StorageError
from micro_agent.evaluation.results import ResultFile, read_results
from micro_agent.run import Run

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the kills land on a chosen system call"),
]

CHANGES = ("openat", "write", "fdatasync", "fsync", "link", "unlink", "mkdir", "rename", "ftruncate", "flock")
Prepare = Callable[[Path], Any]


def killed_at_every(
    nursery: Nursery, task: str, syscall: str, base: Path, prepare: Prepare = lambda folder: None
) -> Iterator[tuple[Path, Ended]]:
    """Have a task killed at its first call of a kind, its second, and so on, until one ends unharmed."""
    for number in count(1):
        folder = base / f"{syscall}-{number}"
        folder.mkdir()
        prepare(folder)
        ended = nursery.live(task, folder, inject=f"{syscall}:signal=KILL:when={number}")
        assert ended.killed or ended.status == 0, ended
        yield folder, ended
        shutil.rmtree(folder)
        if not ended.killed:
            return


def left_by(nursery: Nursery, *tasks: str) -> Prepare:
    """A life up to here: that of a run that pauses, then these."""

    def prepare(folder: Path) -> None:
        assert nursery.live("ask", folder, pause=True).last()["status"] == "confirmation_required"
        for task in tasks:
            nursery.live(task, folder).last()
        shutil.copytree(folder / "disk", folder / "before")

    return prepare


@pytest.mark.parametrize("syscall", CHANGES)
def test_a_run_that_is_asked_for(syscall: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    for folder, ended in killed_at_every(nursery, "ask", syscall, tmp_path):
        assert ended.killed or ended.last()["status"] == "completed"
        tally.count("killed at a system call: run", nursery.live("mend", folder).last(), harmed=ended.killed)


@pytest.mark.parametrize(
    ("tasks", "last"),
    [([], "decide"), (["decide"], "go on"), ([], "edit"), (["edit"], "go on"), (["edit", "go on", "decide"], "go on")],
)
def test_a_run_that_paused(tasks: list[str], last: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    for syscall in CHANGES:
        for folder, ended in killed_at_every(nursery, last, syscall, tmp_path, left_by(nursery, *tasks)):
            tally.count("killed at a system call: paused run", nursery.live("mend", folder).last(), harmed=ended.killed)


@pytest.mark.parametrize("first", range(1, 20, 3))
def test_a_run_that_was_killed_before(first: int, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    def kill_once(folder: Path) -> None:
        nursery.live("ask", folder, inject=f"write:signal=KILL:when={first}")
        shutil.copytree(folder / "disk", folder / "before")

    for syscall in ("write", "fdatasync", "link", "unlink"):
        for folder, ended in killed_at_every(nursery, "resume", syscall, tmp_path, kill_once):
            found = nursery.live("mend", folder).last()
            tally.count("killed at a system call: killed run", found, harmed=ended.killed)


@pytest.mark.parametrize("syscall", ["openat", "write", "fdatasync", "mkdir"])
def test_an_eval(syscall: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    for folder, ended in killed_at_every(nursery, "evaluate", syscall, tmp_path):
        path = folder / "results.jsonl"
        if path.exists() and not path.read_bytes():  # killed before its first line
            with pytest.raises(StorageError, match="does not begin with a header"):
                ResultFile.resume(path)
            with pytest.raises(ConfigurationError, match="choose another name"):
                ResultFile.create(path, lives.header_of_an_eval())
            path.unlink()
        again = nursery.live("evaluate", folder)
        assert again.status == 0
        names = [result.task.id for result in read_results(path)[1]]
        doubled = len(path.read_bytes().splitlines()) - 1 - len(set(names))
        found = {"resumed": ended.killed, "lost": lives.TASKS_OF_AN_EVAL - len(names), "doubled": doubled}
        assert sorted(ended.said + again.said) == names
        tally.count("killed at a system call: eval", found, harmed=ended.killed)


@pytest.mark.parametrize("syscall", ["openat", "write", "fdatasync", "rename", "fsync"])
def test_a_run_that_is_saved(syscall: str, nursery: Nursery, tally: Tally, tmp_path: Path) -> None:
    def prepare(folder: Path) -> None:
        Run(question="old").save(folder / "run.json")

    for folder, ended in killed_at_every(nursery, "save", syscall, tmp_path, prepare):
        question = Run.load(folder / "run.json").question
        lost = question not in ("old", "new") or (not ended.killed and question != "new")
        tally.count("killed at a system call: saved run", {"on record": 1, "lost": lost}, harmed=ended.killed)

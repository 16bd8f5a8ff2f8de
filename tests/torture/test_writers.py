"""Eight processes that write to one trace and one store at once, some killed meanwhile, and others in their places."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import sleep

import lives
import pytest
from nursery import GO, Ended, Nursery
from tally import Tally

from micro_agent.run import Run
from micro_agent.traces import read_records

pytestmark = pytest.mark.torture

WRITERS = "abcdefgh"
LINES = 6


def write(nursery: Nursery, folder: Path, random: Random, first: int) -> list[Ended]:
    """Have all write a few lines, of which half is killed while it does."""
    options = {"seed": random.randrange(10**9), "first": first, "lines": LINES}
    started = [nursery.start("write", folder, name=name, **options) for name in WRITERS]
    for pid in started:
        os.kill(pid, GO)
    for pid in random.sample(started, len(WRITERS) // 2):
        sleep(random.uniform(0, 0.05))
        os.kill(pid, signal.SIGKILL)
    return [nursery.wait(pid) for pid in started]


def test_eight_writers(
    nursery: Nursery, tally: Tally, rounds: Callable[[str], Iterator[Random]], tmp_path: Path
) -> None:
    kind = "8 writers, lines to 300 KB"
    for number, random in enumerate(rounds(kind)):
        folder = tmp_path / str(number % 4)  # each folder is written to again in later rounds
        ended = write(nursery, folder, random, number * LINES)
        assert all(one.killed or one.status == 0 for one in ended), ended
        said = [tuple(word) for one in ended for word in one.said]
        found = Counter(cases=len(said), harmed=sum(one.killed for one in ended))
        found.update(shared_trace(folder, [text for kind_, text in said if kind_ == "shared"]))
        found.update(runs(folder, [run_id for kind_, run_id in said if kind_ == "run"]))
        tally.count(kind, found)


def shared_trace(folder: Path, said: list[str]) -> dict[str, int]:
    """What is wrong in the trace that all append to, which is then emptied."""
    path = lives.store_of(folder).path(lives.SHARED)
    records = list(read_records(path)) if path.exists() else []
    kept = [record.run for record in records if record.run]
    written = Counter(run.question for run in kept)
    torn = sum(record.fault is not None for record in records if record.line_number)
    assert torn <= len(WRITERS) // 2, [record.fault for record in records if record.fault]
    path.unlink(missing_ok=True)
    return {
        "lost": sum(text not in written for text in said),
        "doubled": sum(times > 1 for times in written.values()), "torn": torn,
        "unreadable": sum(not whole(run) for run in kept),
    }  # fmt: skip


def whole(run: Run) -> bool:
    """Whether a run of a writer says from its first to its last letter what that writer wrote."""
    name, _, size = run.question.split()
    return run.answer == name[0] * int(size)


def runs(folder: Path, said: list[str]) -> dict[str, int]:
    """What is wrong with the runs of the writers, after those that were killed are resumed."""
    store = lives.store_of(folder)
    found = Counter[str]()
    for left in store.open_runs():
        if left.question is None:  # killed before its first line was whole
            assert "no event starts a run" in str(left.damage)
            found["not begun"] += 1
            (store.state_dir / "runs" / f"{left.id}.journal").unlink()
            continue
        journal = store.resume(left.id)
        run, found["resumed"] = journal.run, found["resumed"] + 1
        run.status, run.answer = "completed", run.question.split()[2]
        journal.finish(run)
    for run_id in store.ids():
        kept = [record.run for record in read_records(store.path(run_id)) if record.run]
        sizes = [(len(run.calls[0].reply["text"]), run.answer) for run in kept if run.calls]
        found["doubled"] += len(kept) - 1
        found["unreadable"] += any(str(size) != answer for size, answer in sizes)
        found["lost"] += run_id in said and not sizes
        found["on record"] += 1
        store.path(run_id).unlink()
        said = [other for other in said if other != run_id]
    found["lost"] += len(said)
    return found

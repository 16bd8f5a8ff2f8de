"""The power fails after every system call that changes a file: whatever had an effect is known, and done once."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from nursery import Nursery
from power import CALLS, Disk
from tally import Tally

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace tells what was written and what was synced"),
]


KILLS = ("write:signal=KILL:when=8", "fdatasync:signal=KILL:when=6", "unlink:signal=KILL:when=3")
"""In the middle, between the record and its sync, and in the middle of the end."""
LIVES: dict[str, list[dict[str, Any]]] = {
    "in one go": [{"task": "ask"}],
    "paused": [{"task": "ask", "pause": True}, {"task": "decide"}, {"task": "go on"}],
    **{f"killed at {kill}": [{"task": "ask", "inject": kill}, {"task": "resume"}] for kill in KILLS},
}


@pytest.mark.parametrize("life", LIVES)
def test_the_power_fails_at_every_system_call(
    life: str, nursery: Nursery, tally: Tally, rounds: Callable[[str], Iterator[Random]], tmp_path: Path
) -> None:
    kind = "power cut"
    random = next(rounds(kind))  # the one seed of all
    whole = tmp_path / "whole"
    whole.mkdir()
    stages = [nursery.live(folder=whole, log=CALLS, **stage) for stage in LIVES[life]]
    assert all(stage.killed or stage.status == 0 for stage in stages), stages
    log = "".join(stage.log for stage in stages)
    (tmp_path / "log").write_text(log)  # what to look at when something is lost
    disk = Disk(whole)
    for line in disk.follow(log):
        disk.tell(line)
        for chance in (None, random):
            shutil.rmtree(whole)
            disk.leave(whole, chance)
            found = nursery.live("mend", whole).last()
            tally.count(kind, found, harmed=1)
            assert found["status"] == "completed" or not (whole / "effects").exists()

"""Agents on the command line, several at once on one disk, get a signal at a random moment; then each is resumed."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from time import monotonic, sleep

import lives
import pytest
from nursery import GO, Ended, Nursery
from tally import Tally

from micro_agent.testing import ModelServer

pytestmark = pytest.mark.torture

AT_ONCE = 4
SIGNALS = (
    (signal.SIGKILL,), (signal.SIGKILL,), (signal.SIGTERM,), (signal.SIGINT,), (signal.SIGINT, signal.SIGINT),
    (signal.SIGTERM, signal.SIGKILL),
)  # fmt: skip


def begun_by(nursery: Nursery, task: str, folders: list[Path]) -> list[int]:
    """Children that have begun."""
    started = [nursery.start(task, folder) for folder in folders]
    for pid in started:
        os.kill(pid, GO)
    return started


def together(nursery: Nursery, task: str, folders: list[Path]) -> list[Ended]:
    """What becomes of children that live at once."""
    return [nursery.wait(pid) for pid in begun_by(nursery, task, folders)]


def send(started: list[int], random: Random, longest: float) -> None:
    """Send each child its signals, at a moment of its own."""
    moments: list[tuple[float, int, signal.Signals]] = []
    for pid in started:
        moment, apart = random.uniform(0.2, 1) * longest, random.choice((0, 0.002))
        moments += [(moment + number * apart, pid, one) for number, one in enumerate(random.choice(SIGNALS))]
    begun = monotonic()
    for moment, pid, one in sorted(moments):
        sleep(max(0, begun + moment - monotonic()))
        os.kill(pid, one)


def made(base: Path, number: int) -> list[Path]:
    """Folders for runs that share a disk."""
    folders = [base / f"{number}-{one}" for one in range(AT_ONCE)]
    for folder in folders:
        folder.mkdir()
        (folder / "disk").symlink_to(base / "disk")
    return folders


@pytest.fixture
def slow_nursery(tmp_path: Path) -> Iterator[Nursery]:
    """Children of which each takes most of its time between two replies of its model, as in life."""
    (tmp_path / "nursery").mkdir()
    with (
        ModelServer(lives.model, latency_s=0.02) as server,
        Nursery(server.openai_url, tmp_path / "nursery") as nursery,
    ):
        yield nursery


def test_signals_at_random(
    slow_nursery: Nursery, tally: Tally, rounds: Callable[[str], Iterator[Random]], tmp_path: Path
) -> None:
    nursery = slow_nursery
    (tmp_path / "disk").mkdir()
    kind = "signals at random"
    folders, begun = made(tmp_path, 0), monotonic()
    unharmed = together(nursery, "command", folders)
    longest = 1.2 * (monotonic() - begun)
    assert [one.last() for one in unharmed] == [0] * AT_ONCE
    for folder in folders:
        tally.count(kind, nursery.live("mend", folder).last())
    for number, random in enumerate(rounds(kind), 1):
        folders = made(tmp_path, number)
        started = begun_by(nursery, "command", folders)
        send(started, random, longest)
        harmed = [hit(nursery.wait(pid)) for pid in started]
        # Two processes resume each run at once: one of them does, the other is told so or comes too late.
        both = [one.last() for one in together(nursery, "mend", folders * 2)]
        for one, other, harm in zip(both[:AT_ONCE], both[AT_ONCE:], harmed, strict=True):
            for found in (one, other):
                if found != "beaten":
                    tally.count(kind, found, harmed=harm, cases=1)


def hit(ended: Ended) -> bool:
    """Whether a signal came in time. One that comes before the command listens ends it as it ends any program."""
    if ended.status in (-signal.SIGKILL, -signal.SIGTERM):
        return True
    assert ended.status == 0 or not ended.said or "KeyboardInterrupt" in ended.said[-1], ended
    return ended.said != [0]

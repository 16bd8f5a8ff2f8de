"""What the tests of durability share, and the table that they print when they are through."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the nursery's children import the same modules in a process of theirs

import decoding_before
import lives
from nursery import Nursery
from tally import Tally, table

from micro_agent.testing import ModelServer


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """The model of all children."""
    with ModelServer(lives.model) as server:
        yield server


@pytest.fixture(scope="module")
def nursery(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """Where children come from."""
    with Nursery(server.openai_url, tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    """What a test counts; the rows of all tests together are the report."""
    tally = Tally()
    record_property(Tally.PROPERTY, tally.rows)  # it goes with the test's report, also from a worker of xdist
    return tally


Rounds = Callable[[str], Iterator[Random]]
MINUTES = 2.0
"""What ``TORTURE_MINUTES`` is unless it is set: the random tests of durability take a tenth of it each."""


@pytest.fixture
def rounds(tally: Tally) -> Rounds:
    """A generator of random numbers for each round of a test, until its time is over; ``TORTURE_SEED`` repeats one."""
    seed = int(os.environ.get("TORTURE_SEED") or SystemRandom().randrange(10**9))

    def drawn(kind: str) -> Iterator[Random]:
        tally.seeded(kind, seed)
        random, end = Random(seed), monotonic() + 6 * float(os.environ.get("TORTURE_MINUTES") or MINUTES)
        yield random
        while monotonic() < end:
            yield random

    return drawn


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was done to runs and files, and what came of it."""
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    found = [value for report in reports for name, value in report.user_properties if name == Tally.PROPERTY]
    if any(found):
        terminalreporter.section("durability")
        for line in table(found):
            terminalreporter.write_line(line)
    seen = [value for report in reports for name, value in report.user_properties if name == decoding_before.PROPERTY]
    if seen:
        terminalreporter.section(f"decisions that differ from those of {decoding_before.BEFORE}")
        for line in decoding_before.table(seen):
            terminalreporter.write_line(line)

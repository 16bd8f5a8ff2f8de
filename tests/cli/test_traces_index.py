"""`traces list` and `traces stats` with the index, and without one where it cannot be had."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.run import Run
from micro_agent.traces import TraceStore

if TYPE_CHECKING:
    from tests.cli.conftest import Command


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TraceStore:
    """Five runs; the second and the last one cannot be read."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    for age in range(5):
        path = store.append(Run(id=f"{age}" * 32, question=f"Why {age}?", status="completed"))
        if age in (1, 4):
            path.write_text("garbage\n")
        os.utime(path, (1e9 - age, 1e9 - age))
    return store


def listed(out: str) -> list[str]:
    return [line[:1] for line in out.splitlines()]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("broken", "indexed"), [(False, False), (False, True), (True, False)])
def test_the_same_is_listed_and_counted_with_and_without_an_index(
    command: "Command", tmp_path: Path, *, broken: bool, indexed: bool
) -> None:
    if broken:
        (tmp_path / "state").write_text("a file in the place of the folder of state")
    elif indexed:
        assert command("traces", "stats").code == 0
    for limit, shown, unread in ((1, "0", ""), (2, "02", "1"), (3, "023", "1"), (4, "023", "14"), (0, "023", "14")):
        done = command("traces", "list", "--limit", str(limit))
        assert (done.code, "".join(listed(done.out))) == (0, shown)
        errors = [line for line in done.err.splitlines() if "has no readable record" in line]
        assert [error.split("traces/")[1][0] for error in errors] == list(unread)
    done = command("traces", "stats")
    assert done.out.startswith("runs: 3\nstatus: completed 3\n")
    lines = done.err.splitlines()
    assert len(lines) == 2 + broken
    assert ("cannot be used" in lines[0]) == broken
    assert (tmp_path / "state").is_file() == broken


def test_a_damaged_index_is_made_again_for_a_list_too(command: "Command", store: TraceStore) -> None:
    assert command("traces", "stats").code == 0
    (index,) = store.state_dir.glob("index*.sqlite3")
    index.write_bytes(b"nothing of SQLite's" * 100)
    done = command("traces", "list", "--limit", "1")
    assert listed(done.out) == ["0"]
    assert "the index of the traces was damaged" in done.err
    assert done.err.count("\n") == 1


def test_an_index_that_another_command_keeps_busy_is_not_waited_for(command: "Command", store: TraceStore) -> None:
    import fcntl

    assert command("traces", "stats").code == 0
    (lock,) = store.state_dir.glob("index*.lock")
    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert listed(command("traces", "list").out) == ["0", "2", "3"]

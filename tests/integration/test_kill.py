"""A process killed in the middle of a run: resuming it ends the run, and nothing is done twice."""

import os
import signal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from micro_agent.testing import ModelServer, Received, Reply
from micro_agent.traces import TraceStore
from tests.warm import Process, Warm

pytestmark = pytest.mark.usefixtures("prose_is_final")

CHILD = Path(__file__).with_name("killed.py")
_spec = spec_from_file_location("killed", CHILD)
assert _spec is not None
assert _spec.loader is not None
killed: Any = module_from_spec(_spec)
_spec.loader.exec_module(killed)


def live(warm: Warm, url: str, folder: Path, die: str = "") -> Process:
    """A child that runs until it is killed."""
    return warm.start(CHILD, url, folder, die)


@pytest.mark.parametrize("place", ["before a", "after a", "step a", "before b", "after b", "step b"])
def test_killed_around_a_tool(place: str, tmp_path: Path, warm: Warm) -> None:
    with ModelServer(killed.model) as server:
        assert live(warm, server.openai_url, tmp_path, place).wait() == -signal.SIGKILL
        run = killed.check(server.openai_url, tmp_path)
    when, letter = place.split()
    interrupted = [letter] if when in ("before", "after") else []
    assert [step.args["letter"] for step in run.steps if step.error == "INTERRUPTED"] == interrupted


@pytest.mark.parametrize("number", [1, 2, 3])
def test_killed_while_the_model_is_asked(number: int, tmp_path: Path, warm: Warm) -> None:
    child: list[Process] = []

    def model(request: Received) -> Reply:
        if len(server.chats) == number and child[0].poll() is None:
            child[0].kill()
            child[0].wait()
        return killed.model(request)

    with ModelServer(model) as server:
        child.append(live(warm, server.openai_url, tmp_path))
        assert child[0].wait() == -signal.SIGKILL
        run = killed.check(server.openai_url, tmp_path)
        assert len(server.chats) == 4
    assert [step.error for step in run.steps] == [None, None]


def test_a_run_that_ended_and_was_killed_before_its_journal_was_removed(tmp_path: Path) -> None:
    def model(request: Received) -> Reply:
        (journal,) = (tmp_path / "state" / "runs").glob("*.journal")
        if not (tmp_path / "kept").exists():
            os.link(journal, tmp_path / "kept")
        return killed.model(request)

    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    with ModelServer(model) as server:
        run = killed.agent_of(server.openai_url, tmp_path).ask("Send a and b.")
        os.rename(tmp_path / "kept", store.state_dir / "runs" / f"{run.id}.journal")
        asked = len(server.chats)
        again = killed.check(server.openai_url, tmp_path)
        assert len(server.chats) == asked
    assert again == run


def test_a_run_can_be_resumed_by_a_process_of_its_own(tmp_path: Path, warm: Warm) -> None:
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; import killed; "
        "run = killed.check(sys.argv[2], Path(sys.argv[3])); print(run.status)"
    )
    with ModelServer(killed.model) as server:
        assert live(warm, server.openai_url, tmp_path, "after b").wait() == -signal.SIGKILL
        done = warm.run("-c", script, CHILD.parent, server.openai_url, tmp_path)
    assert done.stdout == "completed\n", done.stderr

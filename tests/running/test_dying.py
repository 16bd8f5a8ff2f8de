"""A process killed between a question, its decision and the call: what was approved runs once, or is not made."""

import signal
from pathlib import Path

import pytest

from micro_agent import Run
from micro_agent.effects import Approval
from micro_agent.testing import ModelServer, call, text
from micro_agent.traces import TraceStore
from tests.running import dying
from tests.warm import Warm

EDITED = {"letter": "b"}


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


@pytest.mark.parametrize(
    ("die", "asks", "sent"),
    [
        ("shown 1", {"letter": "a"}, []),  # before anybody is asked
        ("asked 1", {"letter": "a"}, []),
        ("shown 2", EDITED, []),  # the edit is on record, nobody was asked about it yet
        ("asked 2", EDITED, []),
        ("shown 3", None, ["b"]),  # between the decision and the call
        ("sent 1", None, ["b"]),  # the call has happened, and no step says so
    ],
)
def test_what_is_approved_runs_once_or_not(
    die: str, asks: dict[str, str] | None, sent: list[str], tmp_path: Path, warm: Warm
) -> None:
    store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
    with ModelServer([call("send", {"letter": "a"}), text("Done.")]) as server:
        child = warm.start(Path(dying.__file__), server.openai_url, tmp_path, die)
        assert child.wait() == -signal.SIGKILL
        (left,) = store.open_runs()
        if die == "shown 2":  # the first question is behind the run
            assert (left.status, left.confirmation, left.decision) == ("running", None, None)
        run: Run = dying.agent_of(server.openai_url, tmp_path).resume(left.id)
        if asks is not None:
            assert run.status == "confirmation_required"
            assert run.confirmation is not None
            assert (run.confirmation["args"], run.confirmation.get("edited")) == (
                asks, {"letter": "a"} if asks == EDITED else None,
            )  # fmt: skip
            assert effects(tmp_path) == []
            run = dying.agent_of(server.openai_url, tmp_path).resume(run.id, Approval("approve"))
            sent = [asks["letter"]]
    assert (run.status, effects(tmp_path)) == ("completed", sent)
    (step,) = [step for step in run.steps if step.is_tool]
    assert step.error == ("INTERRUPTED" if die == "sent 1" else None)
    assert step.args == (asks or EDITED)

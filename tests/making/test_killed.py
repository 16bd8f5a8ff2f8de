"""A process killed between the question and the call: the run goes on, neither is there a second time."""

import json
import signal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from micro_agent.replay import verify
from micro_agent.run import MAKE_ASKED
from micro_agent.testing import ModelServer, Received, Reply, text
from micro_agent.traces import TraceStore
from tests.warm import Process, Warm

CHILD = Path(__file__).with_name("killed.py")
_spec = spec_from_file_location("killed", CHILD)
assert _spec is not None
assert _spec.loader is not None
killed: Any = module_from_spec(_spec)
_spec.loader.exec_module(killed)

INSIDE = text(f"I write it: {json.dumps({'tool': {'name': 'write', 'args': {'path': 'a'}}})} So be it.")


def effects(folder: Path) -> list[str]:
    path = folder / "effects"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


@pytest.mark.parametrize("at", [MAKE_ASKED, "write", "the question"])
@pytest.mark.parametrize("make", [True, False])
def test_killed_around_the_question(at: str, make: bool, tmp_path: Path, warm: Warm) -> None:
    child: list[Process] = []

    def model(request: Received) -> Reply:
        if request.asks_to_make:
            if at == "the question" and child[0].poll() is None:
                child[0].kill()
                child[0].wait()
            return text(json.dumps({"make": make}))
        return INSIDE if len(server.chats) == 1 else text("Well.")

    with ModelServer(model) as server:
        child.append(warm.start(CHILD, server.openai_url, tmp_path, at))
        code = child[0].wait()
        if at == "write" and not make:
            assert (code, effects(tmp_path)) == (0, [])
            return
        assert code == -signal.SIGKILL
        store = TraceStore(tmp_path / "traces", state_dir=tmp_path / "state")
        (left,) = store.open_runs()
        agent = killed.agent_of(server.openai_url, tmp_path)
        run = agent.resume(left.id)
        asked = sum(chat.asks_to_make for chat in server.chats)
    assert asked == (2 if at == "the question" else 1)  # the answer to the first was never there
    assert effects(tmp_path) == (["a"] if make else [])
    assert [step.tool for step in run.steps] == [MAKE_ASKED, *(["write"] if make else [])]
    assert (run.status, run.answer) == ("completed", "Well." if make else INSIDE.text)
    assert [verdict.outcome for verdict in verify([store.load(run.id)], agent)] == ["same"]

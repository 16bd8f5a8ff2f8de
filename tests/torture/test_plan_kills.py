"""A plan of five tasks with approvals, killed at every event of a journal and every write of its state: it goes on."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.workplace import store_of
from micro_agent.testing import ModelServer
from tests.torture import plan_life
from tests.warm import Warm, empty_environment

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="the commands of the plan run in bubblewrap"),
]

PARTS = 6
STEP = 1 if os.environ.get("TORTURE_ALL") else 3
"""Every third event is enough for each time; all of them take ten minutes of a processor."""
DONE = dict.fromkeys(["patch", "edit", "log", "break", "again", "fix_break"], "completed") | {"break": "needs_fix"}


def lived(warm: Warm, folder: Path, url: str, dies_at: int) -> tuple[int, str, str]:
    """The exit code of a life, and what it printed."""
    done = warm.run(
        Path(plan_life.__file__), str(folder), url, str(dies_at), cwd=folder,
        env=empty_environment(folder) | {"MICRO_AGENT_STATE_DIR": str(folder / "state")},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("part", range(1, PARTS + 1, STEP))
def test_a_plan_killed_anywhere_comes_to_the_same_end(part: int, warm: Warm, tmp_path: Path) -> None:
    number = part
    with ModelServer(plan_life.model) as server:
        while True:
            folder = tmp_path / str(number)
            root = plan_life.begin(folder)
            code, out, err = lived(warm, folder, server.openai_url, number)
            if is_killed := code == -signal.SIGKILL:
                first = runs_of(folder)
                code, out, err = lived(warm, folder, server.openai_url, 0)
                assert first <= runs_of(folder)
            assert code == 0, (number, err)
            state: dict[str, Any] = json.loads(out)
            assert state["task_status"] == DONE, (number, state)
            # A call that may have happened was made again only where a person looked and agreed: all happened once.
            assert {name: (root / name).read_text() for name in plan_life.END} == plan_life.END, number
            # No task was begun twice, and no run is left open.
            assert runs_of(folder) == {result["run_id"] for result in state["results"].values()}, number
            assert store_of(root, state_dir=folder / "state").open_runs() == [], number
            shutil.rmtree(folder)
            if not is_killed:
                break
            number += PARTS
    assert number > 100


def runs_of(folder: Path) -> set[str]:
    """The ids of all runs that there is anything of."""
    store = store_of(folder / "repository", state_dir=folder / "state")
    return {*store.ids(), *store.open_ids()}

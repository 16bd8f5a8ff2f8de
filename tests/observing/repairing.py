"""A run of the coding tools that has spans of every kind: a bug in a real repository, found, changed and tested."""

import subprocess
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, Run
from micro_agent.coding.toolset import coding_toolset
from micro_agent.effects import Approval, Question
from micro_agent.rules.coach import Coach
from micro_agent.testing import ModelServer, Reply, call, text
from micro_agent.traces import TraceStore

QUESTION = "Why does total() fail? Fix it."
WRONG, RIGHT = "return sum(x)\n", "return sum(xs)\n"
REPLIES: list[Reply] = [
    call("rg_search", {"pattern": "def total"}),
    call("read_file", {"path": "totals.py"}),
    call("read_file", {"path": "total.py"}),
    call("edit_file", {"path": "total.py", "target": WRONG, "replacement": RIGHT}),
    call("run_tests", {"test_cmd": "pytest -q"}),
    text("total() used a name that is not there; it sums its argument now."),
]
TEST = "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
GATES = {
    "understanding": True, "change": True, "verification": True, "readiness": True, "no_progress_yet": False,
    "steps_taken": 5, "all_passed": True, "evidence": {"change": 4},
}  # fmt: skip


def repository(folder: Path) -> Path:
    """A repository with a bug and its test."""
    folder.mkdir()
    (folder / "total.py").write_text(f"def total(xs):\n    {WRONG}")
    (folder / "test_total.py").write_text(
        "from total import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    )
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "1"]):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder


def approved(question: Question) -> Approval:
    """What a person says."""
    return Approval("approve", "as shown")


def agent(folder: Path, lm: Any, **options: Any) -> MicroAgent:
    """Who repairs the repository in ``folder``."""
    root, state = repository(folder / "repo"), folder / "state"
    tools = coding_toolset(root, state_dir=state, sandbox=options.pop("sandbox", "auto"))
    coach = Coach(record={"kind": "test"}, status=lambda run: dict(GATES))
    store = TraceStore(folder / "traces", state_dir=state)
    return MicroAgent(tools=tools, lm=lm, rules=[], traces=store, confirm=approved, coach=coach, **options)


def repaired(folder: Path, **options: Any) -> Run:
    """The run, at a real server on a real wire."""
    from micro_agent import configure_lm

    with ModelServer(REPLIES) as server:
        lm = configure_lm("openai", "tiny", server.openai_url)
        return agent(folder, lm, **options).ask(QUESTION)

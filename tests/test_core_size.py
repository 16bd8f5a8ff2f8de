"""The core can be read in one sitting: the files one must understand to change the agent stay small together."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "micro_agent"
CORE = [
    "loop/agent_loop.py", "run/__init__.py", "planning/planner.py", "planning/adapter.py", "agent.py",
    "running/session.py", "running/setup.py",
]  # fmt: skip


def test_the_core_stays_under_1180_lines() -> None:
    lines = {name: len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in CORE}
    assert sum(lines.values()) <= 1180, lines

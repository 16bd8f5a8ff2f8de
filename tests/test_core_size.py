"""The core can be read in one sitting: the files one must understand to change the agent stay small together."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "micro_agent"
CORE = ["loop.py", "run.py", "planner.py", "adapter.py", "agent.py"]


def test_the_core_stays_under_700_lines() -> None:
    lines = {name: len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in CORE}
    assert sum(lines.values()) < 700, lines

"""A store of runs with its index, for the tests of the index."""

from pathlib import Path
from typing import Any

from micro_agent.index import TraceIndex
from micro_agent.run import WARNING, Run, Step
from micro_agent.traces import TraceStore

PAGER = "Fix the off by one in the pager"
STEPS = [
    Step(tool="rg_search", args={"pattern": "pager", "limit": 50}),
    Step(tool=WARNING, args={"code": "X"}),
    Step(tool="read_file", args={"path": "gone.py"}, ok=False, error="FILE_NOT_FOUND"),
    Step(tool="read_file", args={"path": "src/pager.py"}),
    Step(tool="read_file", args={"path": "src/pager.py"}),
    Step(tool="edit_file", args={"path": "src/pager.py", "target": "a\nb", "replacement": "c\nd"}),
    Step(tool="run_tests", args={"test_cmd": "pytest -q"}, observation={"ok": True, "cmd": "pytest -q"}),
]
CALLS = ('rg_search("pager")', 'read_file("src/pager.py")', 'edit_file("src/pager.py")', 'run_tests("pytest -q")')


class Desk:
    """One store with its index, and what the index said."""

    def __init__(self, where: Path) -> None:
        self.store = TraceStore(where / "traces", state_dir=where / "state", environ={})
        self.said: list[str] = []
        self.index = self.another()

    def another(self, **more: Any) -> TraceIndex:
        return TraceIndex(self.store, announce=self.said.append, **more)

    def ran(self, question: str = PAGER, **more: Any) -> Run:
        fields: dict[str, Any] = {
            "question": question,
            "steps": STEPS,
            "answer": "Done.",
            "status": "completed",
            **more,
        }
        made = Run(**fields)
        self.store.append(made)
        return made

    def ids(self, task: str = PAGER, **more: Any) -> list[str]:
        assert self.index.refresh()
        return [one.run_id for one in self.index.exemplars(task, **more)]

"""An agent for plans: a scripted model that knows where it is from what it is sent, and tools on a real folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from micro_agent import Limits, MicroAgent, Tool
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.testing import Received, Reply, ScriptedLM, text
from micro_agent.traces import TraceStore

EDIT = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("path", "target", "replacement")},
    "required": ["path", "target", "replacement"],
}
TESTS: dict[str, Any] = {
    "type": "object",
    "properties": {"test_cmd": {"type": "string", "default": "pytest -q"}},
    "required": [],
}


class Model:
    """Says the replies that stand under the beginning of a question, one after the other. It keeps no place.

    Attributes:
        asked: The question of each request.
    """

    def __init__(self, replies: Mapping[str, Sequence[Reply]]) -> None:
        self.replies, self.asked = replies, list[str]()

    def __call__(self, request: Received) -> Reply:
        """The reply to a request."""
        if request.yes is not None:
            return text(request.yes)
        question = next(str(message["content"]) for message in request.messages if message["role"] == "user")
        self.asked.append(question)
        begin = next((begin for begin in self.replies if question.startswith(begin)), None)
        if begin is None:
            return text("Done.")
        said = sum(message["role"] == "assistant" for message in request.messages)
        return self.replies[begin][said]

    @property
    def questions(self) -> list[str]:
        """The questions, each once."""
        return list(dict.fromkeys(self.asked))


def tools_of(folder: Path, *, asks: bool = False, repository: Path | None = None) -> list[Tool]:
    """``edit_file``, and ``run_tests``: the tests pass when no file says ``bad``."""

    def edit_file(path: str, target: str, replacement: str) -> dict[str, Any]:
        file = folder / path
        file.write_text((file.read_text() if file.exists() else target).replace(target, replacement))
        return {"ok": True, "path": path}

    def run_tests(test_cmd: str = "pytest -q") -> dict[str, Any]:
        if test_cmd == "none":
            return {"ok": False, "cmd": test_cmd, "exit": 127, "stderr_tail": "no such program"}
        bad = sorted(path.name for path in folder.glob("*.py") if "bad" in path.read_text())
        failures = [
            {"test": f"test_{name}::test_it", "assertion": "assert 'bad' == 'good'", "place": f"test_{name}:3"}
            for name in bad
        ]
        return {
            "ok": not bad, "cmd": test_cmd, "failed": len(bad), "stdout_tail": f"{len(bad)} failed",
            **({} if "plain" in test_cmd else {"failures": failures}),
        }  # fmt: skip

    return [
        Tool("edit_file", "Edit.", EDIT, edit_file, requires_confirmation=asks, repository=repository),
        Tool("run_tests", "Test.", TESTS, run_tests, repository=repository),
    ]


def store_of(folder: Path) -> TraceStore:
    """Where the runs of a folder's agent are."""
    return TraceStore(folder / "disk" / "traces", state_dir=folder / "disk" / "state")


def agent_of(
    folder: Path, model: Any, *, asks: bool = False, repository: Path | None = None, **more: Any
) -> MicroAgent:
    """The agent of a folder."""
    options: dict[str, Any] = {
        "tools": tools_of(folder, asks=asks, repository=repository), "rules": [], "traces": store_of(folder),
        "limits": Limits(max_steps=6), "coach": coding_coach(CoachSettings(gates="off")), "finish": "text",
        "resamples": 0, **more,
    }  # fmt: skip
    return MicroAgent(lm=ScriptedLM(model), **options)


def on_disk(path: Path) -> Any:
    """The state as it is written."""
    return json.loads(path.read_text())

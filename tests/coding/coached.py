"""Runs of the coding agent as data, and an agent with its coach, whose tools have the names of the toolset's."""

from collections.abc import Sequence
from typing import Any, cast

from micro_agent import Limits, MicroAgent, Run, Step, Tool
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.run import POLICY_VIOLATION, SELF_CORRECTION, WARNING
from micro_agent.testing import Reply, ScriptedLM, call, decision, final, text
from micro_agent.tools.error import ToolError

Done = tuple[str, dict[str, Any], Any]
"""A step: the name of the tool or marker, its arguments, and what came of it."""

_FILE: dict[str, Any] = {"path": "sums.py"}
_PATCHED: dict[str, Any] = {"files": ["sums.py"]}
_TESTS: dict[str, Any] = {"test_cmd": "pytest -q"}
_RAN: dict[str, Any] = {"cmd": "pytest -q"}
SEARCH: Done = ("rg_search", {"pattern": "add"}, {"matches": [{"path": "sums.py", "line": 1, "text": "def add"}]})
READ: Done = ("read_file", _FILE, {"path": "sums.py", "lines": ["1: def add"]})
LIST: Done = ("list_files", {}, {"files": ["README.md", "sums.py"], "total": 2})
EDIT: Done = ("edit_file", _FILE, {"ok": True, "path": "sums.py", "start_line": 1, "end_line": 1})
PROPOSED: Done = ("propose_patch", {"file_path": "sums.py"}, {"patch_id": "patch_1", **_PATCHED, "approved": True})
REJECTED: Done = ("propose_patch", {"file_path": "sums.py"}, {"patch_id": "patch_2", **_PATCHED, "approved": False})
APPLIED: Done = ("apply_patch", {"patch_id": "patch_1"}, {"patch_id": "patch_1", "files_changed": ["sums.py"]})
MISFIT: Done = ("apply_patch", {"patch_id": "patch_1"}, {"error": "PATCH_APPLY_FAILED", "message": "it does not fit"})
FAILURE = {"test": "tests/test_sums.py::test_add", "assertion": "assert 6 == 5", "place": "tests/test_sums.py:5"}
GREEN: Done = ("run_tests", _TESTS, {"ok": True, **_RAN, "exit": 0, "passed": 1, "failed": 0})
RED: Done = ("run_tests", _TESTS, {"ok": False, **_RAN, "exit": 1, "passed": 2, "failed": 1, "failures": [FAILURE]})
CMD: Done = ("run_cmd", {"cmd": "ls"}, {"cmd": "ls", "exit": 0})
NO_SANDBOX: Done = ("run_tests", {}, {"error": "SANDBOX_UNAVAILABLE", "message": "nothing holds it"})
ASKED: Done = (POLICY_VIOLATION, {"answer": "Done.", "wants": "edit_file"}, "…")
REFUSED: Done = (POLICY_VIOLATION, {"answer": "Done.", "wants": "run_tests"}, "…")

TASK = "Fix `add` in sums.py"


def made(*steps: Done, answer: str | None = None, **more: Any) -> Run:
    """A run with these steps, each the name, the arguments and what came of it; finished if there is an answer."""
    run = Run(question=TASK, answer=answer, limits={"max_steps": 25}, **more)
    for name, args, seen in steps:
        error: str | None = cast("dict[str, Any]", seen).get("error") if isinstance(seen, dict) else None
        words = {POLICY_VIOLATION: "POLICY"}.get(name)
        run.steps.append(Step(tool=name, args=args, observation=seen, ok=not (error or words), error=error or words))
    run.status = "running" if answer is None else "completed"
    return run


def warned(said: str) -> tuple[str, dict[str, Any], str]:
    """A warning as a step."""
    return WARNING, {}, said


CORRECTED: Done = (SELF_CORRECTION, {}, "Fix these failing tests …")


def stand_ins(results: dict[str, list[Any]]) -> list[Tool]:
    """Tools with names of the toolset, each of which gives its results in turn, the last one for ever."""

    def played(name: str) -> Tool:
        left = list(results[name])

        def run(**_: Any) -> Any:
            seen = left.pop(0) if len(left) > 1 else left[0]
            if "error" in seen:
                raise ToolError(seen["error"], seen["message"])
            return seen

        parameters: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": True}
        return Tool(name, name, parameters, run, read_only=name.startswith(("read", "rg", "list")))

    return [played(name) for name in results]


def agent(
    steps: Sequence[Done | str | Reply], *, mode: Any = "native", tools: list[Tool] | None = None, **coached: Any
) -> MicroAgent:
    """An agent whose model makes these calls and gives these answers, under a coach with these settings."""
    agents: dict[str, Any] = {"lm": ScriptedLM(script(steps, mode), mode="json" if mode == "json" else "native")}
    agents |= {name: coached.pop(name) for name in ("traces", "signature", "confirm", "lm") if name in coached}
    results: dict[str, list[Any]] = {}
    for step in steps:
        if isinstance(step, tuple):
            results.setdefault(step[0], []).append(step[2])
    everything = {"rg_search": [SEARCH[2]], "read_file": [READ[2]], "edit_file": [EDIT[2]], "run_tests": [GREEN[2]]}
    return MicroAgent(
        tools=tools or stand_ins({**everything, **results}), limits=Limits(max_steps=25), resamples=0,
        coach=coding_coach(CoachSettings(**coached)), **agents,
    )  # fmt: skip


def script(steps: Sequence[Done | str | Reply], mode: str = "native") -> list[Reply]:
    """The replies of a model: a call for each step, an answer for each text; what is a reply stays one."""
    calls, says = (call, text) if mode == "native" else (decision, final)

    def reply(step: Done | str | Reply) -> Reply:
        return says(step) if isinstance(step, str) else calls(step[0], step[1]) if isinstance(step, tuple) else step

    return [reply(step) for step in steps]

"""A process that works on a plan of five tasks, decides what it asks as a person does, and may be killed.

The killed process gets SIGKILL right before its n-th write to a journal, sync of one, replacement or removal of a file
of the state, or right after the state was replaced.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from micro_agent import MicroAgent, configure_lm
from micro_agent.coding.coach import CoachSettings, coding_coach
from micro_agent.coding.toolset import coding_toolset
from micro_agent.coding.workplace import store_of
from micro_agent.plans import Plan, PlanTask, run_plan
from micro_agent.testing import Received, Reply, call, text
from tests.coding.repositories import repository

FILES = {
    "list.txt": "one\n",
    "test_list.py": "import unittest\nfrom pathlib import Path\n\n\n"
    "class Lines(unittest.TestCase):\n    def test_odd(self):\n"
    '        self.assertNotIn("odd", Path("list.txt").read_text())\n',
}
END = {"list.txt": "one\npatched\nedited\neven\npatched again\n", "log.txt": "once\n"}
TEST = ("run_tests", {"test_cmd": "python3 -m unittest -q"})
APPLY = ("apply_patch", {"patch_id": ""})


def _patch(last: str, new: str) -> tuple[str, dict[str, str]]:
    contents = {"original_content": f"{last}\n", "new_content": f"{last}\n{new}\n"}
    return "propose_patch", {"intent": new, "file_path": "list.txt", **contents}


def _edit(last: str, new: str) -> tuple[str, dict[str, str]]:
    return "edit_file", {"path": "list.txt", "target": f"{last}\n", "replacement": new}


WORK: Mapping[str, list[tuple[str, dict[str, str]]]] = {
    "Patch it.": [_patch("one", "patched"), APPLY],
    "Edit it.": [_edit("patched", "patched\nedited\n"), TEST],
    "Log it.": [("run_cmd", {"cmd": "echo once >> log.txt"})],
    "Break it.": [_edit("edited", "edited\nodd\n"), TEST],
    "Tests fail": [_edit("odd", "even\n"), TEST],
    "Patch it again.": [_patch("even", "patched again"), APPLY, TEST],
}
PLAN = Plan(
    tasks=[
        PlanTask(id="patch", task="Patch it."),
        PlanTask(id="edit", task="Edit it.", depends_on=["patch"]),
        PlanTask(id="log", task="Log it.", depends_on=["patch"]),
        PlanTask(id="break", task="Break it.", depends_on=["edit", "log"]),
        PlanTask(id="again", task="Patch it again.", depends_on=["break"], verify=TEST[1]["test_cmd"]),
    ]
)


def model(request: Received) -> Reply:
    """Makes the calls of a task one by one, and again what was interrupted. All that it knows is in the messages."""
    if request.yes is not None:
        return text(request.yes)
    question = next(str(message["content"]) for message in request.messages if message["role"] == "user")
    begin = max((begin for begin in WORK if question.startswith(begin)), key=len)
    made: dict[str, tuple[str, dict[str, str]]] = {}
    known: dict[str, str] = {}
    for message in request.messages:
        for one in message.get("tool_calls") or ():
            made[one["id"]] = one["function"]["name"], json.loads(one["function"]["arguments"])
        if message["role"] == "tool":
            known[made[message["tool_call_id"]][0]] = str(message["content"])
    for tool, args in WORK[begin]:
        if tool not in known or "INTERRUPTED" in known[tool]:
            patch = re.findall(r"patch_[0-9a-f]{10}", known.get("propose_patch", ""))
            return call(tool, {"patch_id": patch[0]} if tool == "apply_patch" else args)
    return text("Done.")


def begin(folder: Path) -> Path:
    """The repository of a life."""
    return repository(folder / "repository", FILES)


def is_done(root: Path, question: Mapping[str, Any]) -> bool:
    """What a person sees who looks whether a call has happened already."""
    if question["tool"] == "run_cmd":
        return (root / "log.txt").exists()
    return question["tool"] == "edit_file" and question["args"]["replacement"] in (root / "list.txt").read_text()


def live(folder: Path, url: str) -> None:
    """Work on the plan to its end; print how it stands."""
    root, store = folder / "repository", store_of(folder / "repository", state_dir=folder / "state")
    store.directory.mkdir(parents=True, exist_ok=True)
    tools = coding_toolset(root, sandbox="bwrap", state_dir=folder / "state")
    agent = MicroAgent(
        tools=tools, lm=configure_lm("openai", "scripted", url, fallback=False), rules=[], traces=store,
        coach=coding_coach(CoachSettings(gates="off")), resamples=0,
    )  # fmt: skip
    while (state := run_plan(PLAN, agent)).status == "paused":
        for open_run in store.open_runs():
            if (question := open_run.confirmation) is not None and open_run.decision is None:
                again = "interrupted" in question["reason"] and is_done(root, question)
                store.decide(open_run.id, "reject" if again else "approve")
    sys.stdout.write(json.dumps(state.record()))


def die_at(number: int, state: Path) -> None:
    """End this process at its n-th call that changes a journal or the state of the plan."""
    made = 0

    def passed() -> None:
        nonlocal made
        made += 1
        if made == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(name: str, counts: Callable[[Any], bool], *, after: bool = False) -> None:
        real = getattr(os, name)

        def counting(*args: Any, **options: Any) -> Any:
            if is_counted := counts(args[0]):
                passed()
            found = real(*args, **options)
            if is_counted and after:
                passed()
            return found

        setattr(os, name, counting)

    def of_journal(descriptor: Any) -> bool:
        return os.readlink(f"/proc/self/fd/{descriptor}").endswith(".journal")

    def of_state(path: Any) -> bool:
        return str(path).startswith(f"{state}/repos/") and ("/runs/" in str(path) or "/plans/" in str(path))

    counted("write", of_journal)
    counted("fdatasync", of_journal)
    counted("unlink", of_state)
    counted("link", of_state, after=True)
    counted("replace", of_state, after=True)


if __name__ == "__main__":
    die_at(int(sys.argv[3]), Path(sys.argv[1]) / "state")
    live(Path(sys.argv[1]), sys.argv[2])

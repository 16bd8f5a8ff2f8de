"""What came of a trial in a repository: what was changed, what hidden tests say, whether it ended too early."""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from micro_agent.coding import category_of
from micro_agent.coding.workplace import Wanted
from micro_agent.evaluation.coding.places import Place, written
from micro_agent.evaluation.task import Task
from micro_agent.run import Run
from micro_agent.tools.error import ToolError

NAME = "outcome"
"""The field of a run that holds an `Outcome`, in its trace and in its result."""
_CACHES = frozenset({"__pycache__", ".pytest_cache"})
_GITS = frozenset({"HEAD", "config", "packed-refs", "refs", "hooks"})
"""What git does with a repository goes by these; the index and objects follow what is read and written."""
_TIMEOUT_S = 120


Hidden = tuple[bool | None, str]
"""What hidden tests said: whether they passed, and what they printed where they did not."""


class Outcome(BaseModel):
    """What came of a trial, as JSON in ``Run.outcome``."""

    changed: list[str] = Field(default_factory=list[str])
    """Files of the repository that were changed, made or removed. What lies elsewhere begins with ``../``."""
    hidden: bool | None = None
    """Whether the hidden tests passed; ``None``: there are none, or they could not be run."""
    told: str = ""
    """The end of what the hidden tests printed where they failed, or why they could not be run."""
    premature: Literal["no change", "not verified"] | None = None
    """How an answer came too early: before anything was changed, or with no test after the last change."""
    tokens: int | None = None
    """Of all requests together, as estimated."""


def outcome_of(run: Run) -> Outcome | None:
    """That of a run; ``None`` for one that was not asked by `ask_in_place`."""
    found = (run.model_extra or {}).get(NAME)
    return None if found is None else Outcome.model_validate(found)


def with_outcome(
    run: Run, task: Task, place: Place, sandbox: Wanted = "auto", *, known: "dict[str, Hidden] | None" = None
) -> Run:
    """The run with its outcome, which is measured in its place: first what changed, then the hidden tests.

    Args:
        run: As it ended.
        task: What was asked.
        place: Where.
        sandbox: What the hidden tests run in.
        known: What the hidden tests said of a repository is noted here, and looked up where it is the same again.
    """
    before, after = _prints(place.template), _prints(place.folder)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    outcome = Outcome(changed=list(map(_shown, names)), tokens=_tokens(run))
    outcome.premature = premature(task, run, outcome.changed)
    if task.expect_hidden is not None:
        known = {} if known is None else known
        key = repr((task.id, sorted(after.items())))
        if key not in known:
            known[key] = _hidden(task, place, sandbox)
        outcome.hidden, outcome.told = known[key]
    return run.model_copy(update={NAME: outcome.model_dump(mode="json")})


def premature(task: Task, run: Run, changed: Sequence[str]) -> Literal["no change", "not verified"] | None:
    """How the answer of a run came too early, where the task needs a change: it has hidden tests.

    Args:
        task: What was asked.
        run: As it ended.
        changed: The files that are not as they were.
    """
    if run.status != "completed" or not task.expect_hidden:
        return None
    if not changed:
        return "no change"
    done = [step.tool for step in run.steps if step.is_tool and step.ok]
    last = max((number for number, tool in enumerate(done) if category_of(tool) in ("change", "apply")), default=0)
    return None if any(category_of(tool) == "verify" for tool in done[last:]) else "not verified"


def _tokens(run: Run) -> int | None:
    counts = [count for call in run.calls if isinstance(count := call.request.get("tokens"), int)]
    return sum(counts) if len(counts) == len(run.calls) else None


def _hidden(task: Task, place: Place, sandbox: Wanted) -> Hidden:
    from micro_agent.coding.toolset import coding_toolset  # reads the rules of commands, which scoring does not need

    assert task.repository is not None
    assert task.expect_hidden is not None
    try:
        written(task.expect_hidden, place.repo)
        tools = coding_toolset(place.repo, sandbox=sandbox, state_dir=place.state)
        seen: dict[str, Any] = tools["run_tests"].handler(test_cmd=task.repository.test, timeout=_TIMEOUT_S)
    except (ToolError, OSError) as error:
        return None, f"the hidden tests could not be run: {error}"[:500]
    # `unittest` finds no test and ends with 0: that is no pass.
    ok = bool(seen["ok"] and seen["passed"])
    return ok, "" if ok else f"{seen['stdout_tail']}{seen['stderr_tail']}"[-1000:]


def _shown(name: str) -> str:
    head, _, rest = name.partition("/")
    return rest if head == "repo" else f"../{name}"


def _prints(folder: Path) -> dict[str, str]:
    """What each file below a folder is, by its path: its content, its mode, where a link leads."""
    return {path.relative_to(folder).as_posix(): _print(path) for path in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    for at, folders, files in os.walk(folder):
        git = os.path.basename(at) in (".git", "origin.git")
        folders[:] = [name for name in folders if name not in _CACHES and (not git or name in _GITS)]
        links = [name for name in folders if os.path.islink(os.path.join(at, name))]
        yield from (Path(at, name) for name in [*links, *files] if not git or name in _GITS)


def _print(path: Path) -> str:
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    found = path.lstat()
    content = sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
    return f"{found.st_mode:o} {content}"

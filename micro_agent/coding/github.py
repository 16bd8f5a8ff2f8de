"""The two tools that leave the machine: ``git_push`` and ``create_pr``, each after a person has seen the commands."""

import re
import shlex
from functools import partial
from typing import Any

from micro_agent.coding.bounds import tail
from micro_agent.coding.git import run_git
from micro_agent.coding.outside import Program, find, run
from micro_agent.coding.pushing import OPTIONS, TIMEOUT_S, Push, planned, without_credentials
from micro_agent.coding.running import command_id
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

_CALLS = 12
"""More calls of git and gh than a tool makes."""
_REPO = re.compile(
    r"(?:(?:https?|ssh)://(?:[^/@]*@)?(?P<host>[\w.-]+)(?::\d+)?/|(?:[^/@:]*@)?(?P<scp>[\w.-]+):/?)"
    r"(?P<path>[\w.-]+/[\w.-]+?)(?:\.git)?/?"
)
_GITHUB = "github.com"
_BRANCH = {"type": "string", "minLength": 1, "maxLength": 200}
_OF_PUSH = {
    "type": "object",
    "properties": {"branch": {**_BRANCH, "description": "the branch to push; default: the current one"}},
    "additionalProperties": False,
}
_OF_PR = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 250},
        "body": {"type": "string", "maxLength": 60_000},
        "branch": {**_BRANCH, "description": "the branch with the commits; it is pushed first"},
        "draft": {"type": "boolean", "default": True},
    },
    "required": ["title", "body", "branch"],
    "additionalProperties": False,
}


def tools(place: Workplace) -> list[Tool]:
    """``git_push`` and ``create_pr`` of one repository."""
    return [
        Tool(
            "git_push", "Push the commits of a branch to the remote: not to its default branch, never by force.",
            _OF_PUSH, partial(_push, place), preview=lambda args: _shown_push(place, **args),
            requires_confirmation=True, destructive=True, timeout_s=_CALLS * TIMEOUT_S,
        ),
        Tool(
            "create_pr", "Push a branch and open a pull request for it on GitHub, as a draft by default.",
            _OF_PR, partial(_create, place), preview=lambda args: _shown_pr(place, **args),
            requires_confirmation=True, destructive=True, timeout_s=_CALLS * TIMEOUT_S,
        ),
    ]  # fmt: skip


def _push(place: Workplace, branch: str | None = None) -> dict[str, Any]:
    with planned(place.root, branch) as push:
        pushed = push.make()
    return _result(place, pushed, success=True)


def _create(place: Workplace, title: str, body: str, branch: str, draft: bool = True) -> dict[str, Any]:
    gh = _gh(place)
    with planned(place.root, branch) as push:
        pushed = push.make()
        # gh asks git about the repository that it is in, with whatever is set there: it is in the empty one.
        done = run(gh, *_argv(push, title, body, draft=draft), cwd=push.folder, timeout_s=TIMEOUT_S)
    # Whatever gh says, the push has happened: this is a result and no error.
    return _result(place, f"{pushed}{without_credentials(done.output)}", success=done.exit == 0)


def _result(place: Workplace, text: str, *, success: bool) -> dict[str, Any]:
    output, cut = tail(text)
    result: dict[str, Any] = {"success": success, "output": output}
    if cut:
        result["truncated"] = True
    if run_git(place, "status", "--porcelain", "--ignore-submodules=dirty").stdout:
        result["note"] = "Some changes are not committed: they are not part of what was pushed."
    return result


def _shown_push(place: Workplace, branch: str | None = None) -> dict[str, Any]:
    with planned(place.root, branch) as push:
        return _shown(place, push)


def _shown_pr(place: Workplace, title: str, body: str, branch: str, draft: bool = True) -> dict[str, Any]:
    _gh(place)
    with planned(place.root, branch) as push:
        shown = _shown(place, push, ["gh", *_argv(push, title, body, draft=draft)])
    return {**shown, "draft": draft}


def _shown(place: Workplace, push: Push, *further: list[str]) -> dict[str, Any]:
    """What a person is shown: the commands, but for credentials, and what goes where."""
    text = "\n".join(shlex.join(argv) for argv in (["git", "push", *OPTIONS, push.shown, push.refspec], *further))
    return {
        "kind": "command", "id": command_id(text), "text": text, "cwd": str(place.root), "sandbox": None,
        "remote": push.shown, "branch": push.branch, "commit": push.commit, "subject": push.subject,
    }  # fmt: skip


def _argv(push: Push, title: str, body: str, *, draft: bool) -> list[str]:
    """What gh is told. A title or a body that begins with ``-`` is joined to its option and cannot become one."""
    repo = _repo(push.shown) or _repo(push.url)
    argv = ["pr", "create", *([f"--repo={repo}"] if repo else []), f"--head={push.branch}"]
    return [*argv, f"--title={title}", f"--body={body}", *(["--draft"] if draft else [])]


def _repo(url: str) -> str | None:
    """The repository as gh names it, ``OWNER/REPO`` or ``HOST/OWNER/REPO``; ``None`` for an address of no such form."""
    found = _REPO.fullmatch(url)
    if found is None:
        return None
    host = found["host"] or found["scp"]
    return found["path"] if host == _GITHUB else f"{host}/{found['path']}"


def _gh(place: Workplace) -> Program:
    gh = find("gh", place.root)
    if gh is None:
        raise ToolError("GH_MISSING", "there is no `gh` on the PATH outside the repository: nothing was pushed")
    return gh

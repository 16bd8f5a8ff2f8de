"""Git that runs nothing of the repository's, and the tools that read from it.

A repository's own configuration names programs: hooks, monitors, filters, pagers, drivers of diffs, helpers of
transports, verifiers of signatures. Each of them is overridden here, by variables, whose names and values git takes as
they are (``-c NAME=VALUE`` cannot hold a name with ``=``). Nothing is looked for above the root.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from micro_agent.coding.bounds import ITEMS, cut_line, cut_list, cut_text
from micro_agent.coding.opening import named, not_found
from micro_agent.coding.paths import is_closed
from micro_agent.coding.sandbox import Bounds, Profile, Ran, Stage
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.derive import tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool

BOUNDS = Bounds(timeout_s=20.0, output=32_000_000)
"""What a call of git may use, and how much of what it says is kept."""
_DIFF_CHARS, _DIFF_LINES = 5_000, 200
_VARIABLES = {
    "GIT_DIR": ".git",  # given, it is not searched for above, and whose files they are does not matter
    "GIT_WORK_TREE": ".",  # wins over core.worktree
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",  # an object that is missing is not fetched from a "promisor"
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
}
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "core.pager": "cat",
    "log.showSignature": "false",  # it would run gpg.program
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "diff.autoRefreshIndex": "false",
    "diff.orderFile": "/dev/null",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
}
_PLAIN_DIFF = (
    "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--unified=3",
    "--inter-hunk-context=0", "--ignore-submodules=dirty", "--submodule=short",
)  # fmt: skip


def disarmed(filters: Iterable[str] = ()) -> dict[str, str]:
    """The variables with which git, run at the root, runs no program that the repository's configuration names.

    Not overridden, since there is no setting for it: ``git diff`` needs ``--no-ext-diff --no-textconv`` and, as
    ``git status``, ``--ignore-submodules=dirty``.

    Args:
        filters: The names of the filters in the repository's configuration (`filters_in`).
    """
    settings = dict(_SETTINGS)
    for name in filters:
        settings |= {f"filter.{name}.{key}": "" for key in ("clean", "smudge", "process")}
        settings[f"filter.{name}.required"] = "false"
    found = {**_VARIABLES, "GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return found


LIST_SETTINGS = ("config", "--list", "--name-only", "-z")
"""What git is asked for `filters_in`. It runs no program."""


def filters_in(listed: bytes) -> list[str]:
    """The names of the filters in what git says to `LIST_SETTINGS`."""
    parts = (key.partition(".")[::2] for key in listed.decode("utf-8", "surrogateescape").split("\0"))
    return sorted({name.rpartition(".")[0] for section, name in parts if section == "filter" and "." in name})


def filters_of(place: Workplace) -> list[str]:
    """The names of the filters in the configuration of a repository."""
    return filters_in(beginning(_run(place, LIST_SETTINGS, disarmed()), BOUNDS))


def run_git(
    place: Workplace, *args: str, profile: Profile = "ro", env: Mapping[str, str] | None = None, stdin: bytes = b"",
    bounds: Bounds = BOUNDS,
) -> Ran:  # fmt: skip
    """Run git at the root, in the sandbox, disarmed.

    Args:
        place: The repository.
        *args: What comes behind ``git --no-pager``.
        profile: What it may touch.
        env: More variables; they win over the disarming ones.
        stdin: What it reads.
        bounds: What it may use.
    """
    listed = _run(place, LIST_SETTINGS, disarmed(), bounds=bounds)
    if listed.timed_out:  # a file that is included may be a pipe
        return listed
    filters = filters_in(beginning(listed, bounds))
    return _run(place, args, {**disarmed(filters), **(env or {})}, profile, stdin, bounds)


def git_output(place: Workplace, *args: str, reads_files: bool = True) -> bytes:
    """What git says.

    Args:
        place: The repository.
        *args: What comes behind ``git --no-pager``.
        reads_files: Whether it may read the contents of files, which the repository's filters would see.

    Raises:
        ToolError: ``GIT_FAILED``, with git's own words.
    """
    if not os.path.lexists(place.root / ".git"):
        raise ToolError("GIT_FAILED", "the folder is not a git repository")
    ran = run_git(place, *args) if reads_files else _run(place, args, disarmed())
    if ran.exit != 0:
        raise ToolError("GIT_FAILED", f"git {args[0]}: {said(ran)}")
    return beginning(ran, BOUNDS)


def names_in(listed: bytes) -> list[str]:
    """The paths in what git says with ``-z``."""
    return [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]


def beginning(ran: Ran, bounds: Bounds) -> bytes:
    """The output of a program, up to where a part of it was dropped."""
    return ran.stdout if ran.stdout_bytes == len(ran.stdout) else ran.stdout[: bounds.output // 2]


def said(ran: Ran) -> str:
    """Why a program failed, on one line."""
    if ran.timed_out:
        return "it took too long and was ended"
    words = ran.stderr.decode("utf-8", "replace").split("\n")
    told = " ".join(line.strip() for line in words if line.strip())
    return cut_text(told, 500)[0] or f"exit status {ran.exit}"


def _run(
    place: Workplace, args: Iterable[str], env: Mapping[str, str], profile: Profile = "ro", stdin: bytes = b"",
    bounds: Bounds = BOUNDS,
) -> Ran:  # fmt: skip
    stage = Stage(("git", "--no-pager", *args))
    return place.sandbox.run([stage], profile, env=env, stdin=stdin, bounds=bounds)


def status(place: Workplace) -> dict[str, Any]:
    """The branch and what differs from the last commit.

    Returns:
        ``branch`` and ``head`` (``None``: none yet, or no branch), ``modified``, ``staged``, ``untracked``: sorted
        paths, without those that are closed.

    Raises:
        ToolError: ``GIT_FAILED``.
    """
    asked = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    found: dict[str, Any] = {"branch": None, "head": None, "modified": [], "staged": [], "untracked": []}
    for record in names_in(git_output(place, "status", *asked)):
        kind, _, rest = record.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            if key == "branch.oid" and value != "(initial)":
                found["head"] = value
            elif key == "branch.head" and value != "(detached)":
                found["branch"] = value
        else:
            _add_change(found, kind, rest)
    return found


def _add_change(found: dict[str, Any], kind: str, rest: str) -> None:
    """Add what one record of ``git status --porcelain=v2`` says of a path."""
    fields_before = {"1": 7, "u": 9, "?": 0}
    *fields, path = rest.split(" ", fields_before[kind])
    if is_closed(path.rstrip("/")):
        return
    if kind == "?":
        found["untracked"].append(path)
    elif kind == "u":
        found["modified"].append(path)
    else:
        staged, modified = fields[0]
        found["staged"] += [path] * (staged != ".")
        found["modified"] += [path] * (modified != ".")


def tools(place: Workplace) -> list[Tool]:
    """``git_status``, ``git_diff`` and ``git_log``."""

    @tool(read_only=True)
    def git_status() -> dict[str, Any]:
        """Show which files were modified, are staged for the next commit, or are new (untracked)."""
        found = status(place)
        kinds = ("modified", "staged", "untracked")
        total = len({path for kind in kinds for path in found[kind]})
        cut = {kind: cut_list(found[kind]) for kind in kinds}
        result: dict[str, Any] = {kind: items for kind, (items, _) in cut.items()}
        return result | {"total_changes": total, "truncated": any(was_cut for _, was_cut in cut.values())}

    @tool(read_only=True)
    def git_diff(file_path: str | None = None, staged: bool = False) -> dict[str, Any]:
        """Show what changed in files that git tracks, as a unified diff.

        Args:
            file_path: One file or folder, from the root of the repository; all without it.
            staged: What is staged for the next commit, instead of what is not.
        """
        path = named(place, file_path)
        diff, truncated = _diff(place, path, ("--cached",) if staged else ())
        if not diff and path and not _knows(place, path):
            raise not_found(path)
        return {"diff": diff, "truncated": truncated, "file_path": path, "staged": staged}

    @tool(read_only=True)
    def git_log(limit: int = 10, file_path: str | None = None) -> dict[str, Any]:
        """List the last commits, newest first.

        Args:
            limit: How many, at most 100.
            file_path: Only those that changed this file or folder.
        """
        path = named(place, file_path)
        commits = _commits(place, min(max(limit, 1), ITEMS), path)
        return {"commits": commits, "count": len(commits), "file_path": path}

    return [git_status, git_diff, git_log]


def _diff(place: Workplace, path: str | None, which: tuple[str, ...]) -> tuple[str, bool]:
    """The diff of a path or of all, without files that are closed, and whether it was cut."""
    asked = ("diff", *which, *_PLAIN_DIFF)
    wanted = _literally(path)
    changed = names_in(git_output(place, *asked, "--name-only", "-z", "--", *wanted))
    closed = [f":(top,exclude,literal){name}" for name in changed if is_closed(name)]
    found = git_output(place, *asked, "--", *(wanted or [":(top)"]), *closed)
    return cut_text(found.decode("utf-8", "replace"), _DIFF_CHARS, _DIFF_LINES)


def _literally(path: str | None) -> list[str]:
    """A path as git is told it: no sign in it means anything else."""
    return [] if path is None else [f":(top,literal){path}"]


def _knows(place: Workplace, path: str) -> bool:
    """Whether a path is one of a tracked or a new file, or of a folder with such."""
    asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_literally(path))
    return bool(git_output(place, *asked, reads_files=False))


def _commits(place: Workplace, limit: int, path: str | None) -> list[dict[str, str]]:
    """The last commits; none where there is none yet."""
    if _run(place, ("rev-parse", "--verify", "--quiet", "HEAD"), disarmed()).exit == 1:
        return []
    asked = (
        "log",
        "-z",
        f"--max-count={limit}",
        "--format=%h %s",
        "--encoding=UTF-8",
        "--no-color",
        "--no-show-signature",
    )
    told = git_output(place, *asked, "--", *_literally(path), reads_files=False).decode("utf-8", "replace")
    records = (record.partition(" ") for record in told.split("\0") if record)
    return [{"hash": name, "message": cut_line(message)[0]} for name, _, message in records]

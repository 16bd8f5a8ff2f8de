"""Git is read, and nothing that a repository names is run."""

import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from shutil import copytree
from subprocess import CalledProcessError
from typing import Any

import pytest

from micro_agent.coding import files, git, search
from micro_agent.coding.git import beginning, said, tools
from micro_agent.coding.git import run_git as run_disarmed
from micro_agent.coding.sandbox import Bounds, choose
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool
from tests.coding.plain_sandbox import PlainSandbox
from tests.coding.repository import fails, make, run_git, workplace
from tests.each import each

FILES: dict[str, str | bytes] = {"a.py": "X = 1\n", "b.txt": "one\ntwo\n", "keys/.env": "TOKEN=1\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "root", FILES)


def git_tools(root: Path) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools(workplace(root))}


def call(root: Path, name: str, **args: Any) -> dict[str, Any]:
    return git_tools(root)[name].handler(**args)


def test_status_tells_what_differs(root: Path) -> None:
    (root / "a.py").write_text("X = 2\n")
    run_git(root, "add", "a.py")
    (root / "a.py").write_text("X = 3\n")
    (root / "b.txt").unlink()
    (root / "new").mkdir()
    (root / "new" / "ä b.py").write_text("")
    (root / "keys" / ".env").write_text("TOKEN=2\n")
    found = call(root, "git_status")
    assert found == {
        "modified": ["a.py", "b.txt"], "staged": ["a.py"], "untracked": ["new/ä b.py"], "total_changes": 3,
        "truncated": False,
    }  # fmt: skip


def test_a_conflict_is_a_modified_file(root: Path) -> None:
    run_git(root, "checkout", "-q", "-b", "other")
    (root / "a.py").write_text("X = 2\n")
    run_git(root, "commit", "-q", "-a", "-m", "Two")
    run_git(root, "checkout", "-q", "main")
    (root / "a.py").write_text("X = 3\n")
    run_git(root, "commit", "-q", "-a", "-m", "Three")
    with pytest.raises(Exception, match="merge"):
        run_git(root, "merge", "-q", "other")
    assert call(root, "git_status")["modified"] == ["a.py"]


def test_long_lists_of_changes_are_cut(root: Path) -> None:
    for number in range(120):
        (root / f"{number:03}").write_text("")
    found = call(root, "git_status")
    assert (len(found["untracked"]), found["total_changes"], found["truncated"]) == (100, 120, True)


def test_diffs(root: Path) -> None:
    (root / "a.py").write_text("X = 2\n")
    (root / "b.txt").write_text("one\n2\n")
    (root / "keys" / ".env").write_text("TOKEN=2\n")
    run_git(root, "add", "b.txt")
    found = call(root, "git_diff")
    assert "-X = 1\n+X = 2\n" in found["diff"]
    assert "TOKEN" not in found["diff"]
    assert "two" not in found["diff"]
    assert (found["truncated"], found["file_path"], found["staged"]) == (False, None, False)
    staged = call(root, "git_diff", staged=True, file_path=f"{root}/b.txt")
    assert "-two\n+2\n" in staged["diff"]
    assert (staged["file_path"], staged["staged"]) == ("b.txt", True)
    assert call(root, "git_diff", file_path="b.txt")["diff"] == ""
    (root / "*").write_text("")
    assert call(root, "git_diff", file_path="*")["diff"] == "", "a sign is not a pattern"


def test_closed_and_missing_paths(root: Path) -> None:
    found = git_tools(root)
    for name in ("git_diff", "git_log"):
        fails(found[name], "PATH_FORBIDDEN", file_path="keys/.env")
        fails(found[name], "PATH_FORBIDDEN", file_path="../root/a.py")
    missing = fails(found["git_diff"], "FILE_NOT_FOUND", file_path="src/c.py")
    assert missing["recovery_suggestion"]["tool_call"] == {"name": "list_files", "arguments": {"glob": "**/c.py*"}}


def test_a_long_diff_is_cut(root: Path) -> None:
    (root / "b.txt").write_text("word\n" * 300)
    found = call(root, "git_diff")
    assert found["truncated"]
    assert found["diff"].count("\n") == 200
    (root / "b.txt").write_text("word " * 20_000)
    assert len(call(root, "git_diff")["diff"]) <= 5000


def test_logs(root: Path) -> None:
    (root / "a.py").write_text("X = 2\n")
    run_git(root, "commit", "-q", "-a", "-m", "Two things\n\nAnd more")
    found = call(root, "git_log")
    assert [commit["message"] for commit in found["commits"]] == ["Two things", "Begin"]
    assert run_git(root, "rev-parse", "HEAD").startswith(found["commits"][0]["hash"])
    assert (found["count"], found["file_path"]) == (2, None)
    assert call(root, "git_log", limit=1)["count"] == 1
    assert call(root, "git_log", limit=-5)["count"] == 1
    of_one = call(root, "git_log", file_path="./b.txt")
    assert ([commit["message"] for commit in of_one["commits"]], of_one["file_path"]) == (["Begin"], "b.txt")
    assert call(root, "git_log", file_path="c.txt")["count"] == 0


def test_before_the_first_commit(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.py": ""}, commit=False)
    run_git(root, "init", "-q")
    assert call(root, "git_log") == {"commits": [], "count": 0, "file_path": None}
    assert call(root, "git_status")["untracked"] == ["a.py"]


def test_a_folder_of_a_repository_is_none(root: Path) -> None:
    (root / "below").mkdir()
    for name in ("git_status", "git_diff", "git_log"):
        told = fails(git_tools(root / "below")[name], "GIT_FAILED")["message"]
        assert "not a git repository" in told
        assert "\n" not in told


def test_a_linked_worktree_is_read(root: Path) -> None:
    run_git(root, "worktree", "add", "-q", str(root.parent / "linked"))
    (root.parent / "linked" / "a.py").write_text("X = 2\n")
    assert call(root.parent / "linked", "git_status")["modified"] == ["a.py"]


def test_what_takes_too_long_is_ended(root: Path) -> None:
    os.mkfifo(root / "pipe")
    run_git(root, "config", "include.path", str(root / "pipe"))
    ran = run_disarmed(workplace(root), "status", bounds=Bounds(timeout_s=0.2))
    assert (ran.timed_out, ran.exit) == (True, None)
    assert said(ran) == "it took too long and was ended"


def planted(root: Path) -> tuple[str, Path]:
    """A program that leaves a mark when it is run, and the mark."""
    mark = root.parent / "mark"
    program = root.parent / "trap"
    program.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    program.chmod(0o755)
    return str(program), mark


def setting(key: str, *, attributes: str = "", where: str = ".gitattributes") -> Callable[[Path, str], None]:
    """A setting that names the trap, and attributes that have it used."""

    def set_up(root: Path, trap: str) -> None:
        if attributes:
            (root / where).write_text(attributes + "\n")
        run_git(root, "config", key, trap)

    return set_up


def included(root: Path, trap: str) -> None:
    (root / ".gitattributes").write_text("* filter=x\n")
    (root / "more.txt").write_text(f'[filter "x"]\n clean = {trap}\n')
    run_git(root, "config", "include.path", "../more.txt")


def of_the_worktree(root: Path, trap: str) -> None:
    (root / ".gitattributes").write_text("* filter=x\n")
    run_git(root, "config", "extensions.worktreeConfig", "true")
    run_git(root, "config", "--worktree", "filter.x.clean", trap)


def hook(root: Path, trap: str) -> None:
    (root / ".git" / "hooks").mkdir(exist_ok=True)
    (root / ".git" / "hooks" / "post-index-change").symlink_to(trap)
    os.utime(root / "b.txt", (1, 1))  # the index is written anew


def hooks_path(root: Path, trap: str) -> None:
    (root / "hooks").mkdir()
    (root / "hooks" / "post-index-change").symlink_to(trap)
    run_git(root, "config", "core.hooksPath", "hooks")
    os.utime(root / "b.txt", (1, 1))


def signed(root: Path, trap: str) -> None:
    text = run_git(root, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n\n", 1
    )
    commit = run_git(root, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text).strip()
    run_git(root, "reset", "-q", "--soft", commit)
    run_git(root, "config", "log.showSignature", "true")
    run_git(root, "config", "gpg.program", trap)


def submodule(root: Path, trap: str) -> None:
    inner = make(root / "inner", {"c.txt": "1\n"})
    run_git(root, "add", "inner")
    run_git(root, "config", "-f", ".gitmodules", "submodule.inner.path", "inner")
    run_git(root, "config", "-f", ".gitmodules", "submodule.inner.url", "./inner")
    run_git(inner, "config", "core.fsmonitor", trap)
    (inner / "c.txt").write_text("2\n")
    run_git(root, "config", "diff.submodule", "diff")
    run_git(root, "config", "status.submoduleSummary", "true")


def promised(root: Path, trap: str) -> None:
    run_git(root, "config", "remote.origin.url", str(root))
    run_git(root, "config", "remote.origin.promisor", "true")
    run_git(root, "config", "remote.origin.uploadpack", trap)
    run_git(root, "config", "extensions.partialClone", "origin")
    blob = run_git(root, "rev-parse", "HEAD:a.py").strip()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()


TRAPS: dict[str, Callable[[Path, str], None]] = {
    "fsmonitor": setting("core.fsmonitor"),
    "diff.external": setting("diff.external"),
    "a driver's command": setting("diff.x.command", attributes="* diff=x"),
    "a driver's textconv": setting("diff.x.textconv", attributes="* diff=x"),
    "clean": setting("filter.x.clean", attributes="* filter=x"),
    "process": setting("filter.x.process", attributes="* filter=x"),
    "a filter's name with =": setting("filter.a=b.clean", attributes="* filter=a=b"),
    "a filter's name with a dot and capitals": setting("filter.A.b.clean", attributes="* filter=A.b"),
    "attributes in .git": setting("filter.x.clean", attributes="* filter=x", where=".git/info/attributes"),
    "attributes elsewhere": lambda root, trap: (
        setting("filter.x.clean", attributes="* filter=x", where="b.txt")(root, trap),
        run_git(root, "config", "core.attributesFile", "b.txt"),
    )[0],
    "a filter in a file that is included": included,
    "a filter of the worktree": of_the_worktree,
    "a hook": hook,
    "hooks elsewhere": hooks_path,
    "signatures": signed,
    "a submodule": submodule,
    "a missing object": promised,
}


@each(("name", "set_up"), TRAPS.items())
def test_nothing_that_the_repository_names_is_run(
    name: str, set_up: Callable[[Path, str], None], tmp_path: Path
) -> None:
    top = tmp_path / "".join(filter(str.isalnum, name))
    if not (tmp_path / "base").exists():
        make(tmp_path / "base", FILES)
    root = Path(copytree(tmp_path / "base", top / "root"))
    trap, mark = planted(root)
    set_up(root, trap)
    (root / "a.py").write_text("X = 2\n")
    mark.unlink(missing_ok=True)
    index = (root / ".git" / "index").read_bytes()
    found = git_tools(root)
    for tool in found.values():
        with nullcontext() if name != "a missing object" else suppress(ToolError):
            tool.handler()
    found["git_log"].handler(file_path="a.py")
    assert not mark.exists(), "disarmed"
    assert (root / ".git" / "index").read_bytes() == index
    for args in ("status",), ("diff",), ("log",):
        with suppress(CalledProcessError):
            run_git(root, *args)
    assert mark.exists(), "the trap is none: git as it comes must fall into it"


def test_a_filter_that_is_required_is_not(root: Path) -> None:
    (root / ".gitattributes").write_text("* filter=x\n")
    run_git(root, "config", "filter.x.required", "true")
    run_git(root, "config", "filter.x.clean", "false")
    (root / "a.py").write_text("X = 2\n")
    assert "+X = 2" in call(root, "git_diff")["diff"]


def test_the_tree_is_the_root(root: Path) -> None:
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "secret.txt").write_text("")
    run_git(root, "config", "core.worktree", str(root.parent / "outside"))
    run_git(root, "config", "core.bare", "true")
    assert call(root, "git_status") == {
        "modified": [], "staged": [], "untracked": [], "total_changes": 0, "truncated": False,
    }  # fmt: skip


def test_files_of_another_user_are_read(root: Path) -> None:
    if os.geteuid() == 0:
        for folder, folders, names in os.walk(root):
            for name in [*folders, *names, "."]:
                os.chown(os.path.join(folder, name), 12345, 12345)
    assert call(root, "git_log")["count"] == 1


def test_settings_of_how_things_look_change_nothing(root: Path) -> None:
    (root / "a.py").write_text("X = 2\n")
    (root / "new.py").write_text("")
    before = [tool.handler() for tool in tools(workplace(root))]
    for key, value in {
        "color.ui": "always", "diff.noprefix": "true", "diff.context": "0", "status.showUntrackedFiles": "no",
        "log.decorate": "full", "core.pager": "false", "diff.orderFile": "nowhere", "diff.mnemonicPrefix": "true",
        "alias.status": "!false", "log.showRoot": "false", "i18n.logOutputEncoding": "utf-16",
    }.items():  # fmt: skip
        run_git(root, "config", key, value)
    assert [tool.handler() for tool in tools(workplace(root))] == before


def test_output_that_was_cut_ends_where_it_was_cut(root: Path) -> None:
    (root / "a.py").write_text("X = 2\n" * 10)
    sandbox = PlainSandbox(root)
    bounds = Bounds(output=40)
    ran = run_disarmed(workplace(root, sandbox), "diff", bounds=bounds)
    assert ran.stdout_bytes > len(ran.stdout) == 40
    assert beginning(ran, bounds) == b"diff --git a/a.py b/"


def test_in_the_strongest_sandbox_of_this_machine(root: Path) -> None:
    state = root.parent / "state"
    state.mkdir()
    place = Workplace(root, state, choose("auto", root, state=state))
    trap, mark = planted(root)
    setting("core.fsmonitor")(root, trap)
    (root / "a.py").write_text("X = 2\n")
    found = {tool.name: tool for module in (git, files, search) for tool in module.tools(place)}
    assert found["git_status"].handler()["modified"] == ["a.py"]
    assert "+X = 2" in found["git_diff"].handler()["diff"]
    assert found["git_log"].handler()["count"] == 1
    assert found["repo_info"].handler()["languages"] == {"Python": 1, "Text": 1}
    assert found["rg_search"].handler(pattern="X = .")["matches"] == [{"path": "a.py", "line": 1, "text": "X = 2"}]
    assert not mark.exists()

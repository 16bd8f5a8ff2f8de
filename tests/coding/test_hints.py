"""Errors of the toolset say which call comes next, and that call works; none is named where a retry is useless."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding import category_of, editing, files, git, github, running, search
from micro_agent.coding.patches import tools as patches
from micro_agent.coding.workplace import Workplace
from micro_agent.effects import Approval, expired, refusal
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.execute import execute
from tests.coding.plain_sandbox import PlainSandbox
from tests.coding.repository import make, workplace

CODES = {
    "FILE_NOT_FOUND", "FILE_TOO_LARGE", "NOT_FOUND_IN_FILE", "TARGET_AMBIGUOUS", "INVALID_LINE_RANGE", "PATH_FORBIDDEN",
    "STALE_FILE", "RG_FAILED", "RG_MISSING", "GIT_FAILED", "GH_MISSING", "INVALID_DIFF", "PATCH_NOT_FOUND",
    "PATCH_APPLY_FAILED", "APPROVAL_REQUIRED", "APPROVAL_REJECTED", "APPROVAL_EXPIRED", "COMMAND_DENIED", "CMD_TIMEOUT",
    "SANDBOX_UNAVAILABLE", "NOT_TEXT",
}  # fmt: skip
TEXT = "".join(f"line {number}\n" for number in range(1, 40)) + "same\nsame\n"
FIX = "--- a/a.py\n+++ b/a.py\n@@ -4,3 +4,3 @@\n line 4\n-line 5\n+LINE 5\n line 6\n"
INTENT = {"intent": "x"}

CASES: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("read_file", {"path": "src/b[1].py"}, "FILE_NOT_FOUND", "list_files"),
    ("propose_patch", {**INTENT, "file_path": "b[1].py", "original_content": "x", "new_content": "y"},
     "FILE_NOT_FOUND", "list_files"),
    ("read_file_snippet", {"path": "a.py", "query": "line twelve"}, "NOT_FOUND_IN_FILE", "read_file"),
    ("edit_file", {"path": "a.py", "target": "lime 12", "replacement": "y"}, "NOT_FOUND_IN_FILE", "read_file"),
    ("propose_patch", {**INTENT, "file_path": "a.py", "original_content": "lime 12\n", "new_content": "y\n"},
     "NOT_FOUND_IN_FILE", "read_file"),
    ("edit_file", {"path": "a.py", "target": "same", "replacement": "y"}, "TARGET_AMBIGUOUS", "read_file"),
    ("propose_patch", {**INTENT, "file_path": "a.py", "original_content": "same", "new_content": "y"},
     "TARGET_AMBIGUOUS", "read_file"),
    ("propose_patch", {**INTENT, "file_path": "a.py", "original_content": "  same", "new_content": "y"},
     "TARGET_AMBIGUOUS", "read_file"),
    ("read_file", {"path": "a.py", "start_line": 900, "end_line": 920}, "INVALID_LINE_RANGE", "read_file"),
    ("read_file", {"path": "../state"}, "PATH_FORBIDDEN", None),
    ("read_file", {"path": "large"}, "FILE_TOO_LARGE", None),
    ("read_file", {"path": "binary"}, "NOT_TEXT", None),
    ("rg_search", {"pattern": "("}, "RG_FAILED", "list_files"),
    ("rg_search", {"pattern": "x", "path": "no"}, "FILE_NOT_FOUND", "list_files"),
    ("git_push", {"branch": "a..b"}, "GIT_FAILED", None),
    ("create_pr", {"title": "t", "body": "b", "branch": "main"}, "GH_MISSING", None),
    ("propose_patch_unified", {**INTENT, "unified_diff": "add the numbers"}, "INVALID_DIFF", None),
    ("propose_patch_unified", {**INTENT, "unified_diff": FIX.replace("-line 5", "-lime")}, "PATCH_APPLY_FAILED",
     "read_file"),
    ("propose_patch_unified", {**INTENT, "unified_diff": FIX.replace("a.py", "no.py")}, "PATCH_APPLY_FAILED",
     "list_files"),
    ("propose_patch_unified", {**INTENT, "unified_diff": "diff --git a/b b/c\nrename from b\nrename to c\n"},
     "PATCH_APPLY_FAILED", "list_files"),
    ("apply_patch", {"patch_id": "patch_0123456789"}, "PATCH_NOT_FOUND", None),
    ("run_cmd", {"cmd": "rm -rf /"}, "COMMAND_DENIED", None),
    ("run_cmd", {"cmd": "cat pipe", "timeout": 0.1}, "CMD_TIMEOUT", None),
    ("run_tests", {}, "SANDBOX_UNAVAILABLE", None),
]  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """A repository, on a machine without `gh`."""
    root = make(tmp_path / "root", {"a.py": TEXT, "binary": b"\0\1\2", "large": ""})
    os.truncate(root / "large", 10_000_001)
    os.mkfifo(root / "pipe")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return workplace(root)


def tools_at(place: Workplace) -> dict[str, Tool]:
    modules = (files, search, editing, patches, git, github, running)
    return {tool.name: tool for module in modules for tool in module.tools(place)}


def observed(tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
    """What the model sees of a call, to which a person agrees."""
    try:
        if tool.preview is not None and tool.requires_confirmation is True:
            tool.preview(args)
    except ToolError as error:
        return error.observation()
    return execute(tool, args).observation


def hint_of(seen: dict[str, Any], code: str, tools: dict[str, Tool]) -> str | None:
    """The tool that an error suggests, whose call works."""
    assert seen["error"] == code, seen
    suggested = seen.get("recovery_suggestion")
    if suggested is None:
        return None
    assert suggested["rationale"]
    call = suggested["tool_call"]
    assert execute(tools[call["name"]], call["arguments"]).ok, call
    return call["name"]


def others(place: Workplace) -> Iterator[tuple[dict[str, Any], str, str | None]]:
    """Errors that need more than one call."""
    tools = tools_at(place)
    tools["read_file"].handler(path="a.py")
    (place.root / "a.py").write_text(TEXT.replace("line 1\n", "line one\n"))
    yield (
        observed(tools["edit_file"], {"path": "a.py", "target": "line 2\n", "replacement": ""}),
        "STALE_FILE",
        "read_file",
    )
    poor = Workplace(place.root, place.state, PlainSandbox(place.root, str(place.root.parent / "bin")))
    yield observed(tools_at(poor)["rg_search"], {"pattern": "x"}), "RG_MISSING", "list_files"
    proposal = observed(tools["propose_patch_unified"], {**INTENT, "unified_diff": FIX})
    known = {"patch_id": proposal["patch_id"]}
    yield observed(tools["show_patch"], {"patch_id": "patch_0123456789"}), "PATCH_NOT_FOUND", "show_patch"
    (place.root / "a.py").write_text(TEXT.replace("line 5\n", "line five\n"))
    yield observed(tools["apply_patch"], known), "PATCH_APPLY_FAILED", "show_patch"
    (place.root / "a.py").write_text(TEXT)
    assert observed(tools["apply_patch"], known)["ok"]
    yield observed(tools["apply_patch"], known), "PATCH_APPLY_FAILED", None
    waiting = {**INTENT, "unified_diff": FIX.replace("5", "9").replace("@@ -4,3 +4,3", "@@ -8,3 +8,3").replace(
        "line 4", "line 8").replace("line 6", "line 10")}  # fmt: skip
    preview = tools["propose_patch_unified"].preview
    assert preview is not None
    asked = preview(waiting)
    yield observed(tools["apply_patch"], {"patch_id": asked["id"]}), "APPROVAL_REQUIRED", None
    yield refusal(Approval("never")).observation, "APPROVAL_REQUIRED", None
    yield refusal(Approval("reject")).observation, "APPROVAL_REJECTED", None
    yield expired().observation, "APPROVAL_EXPIRED", None


def test_each_error_says_which_call_comes_next_or_that_none_helps(place: Workplace) -> None:
    seen: set[str] = set()
    for name, args, code, wanted in CASES:
        tools = tools_at(place)
        assert hint_of(observed(tools[name], args), code, tools) == wanted, (name, args)
        seen.add(code)
    for found, code, wanted in others(place):
        assert hint_of(found, code, tools_at(place)) == wanted, found
        seen.add(code)
    assert seen == CODES


def test_each_tool_has_a_kind_of_work(place: Workplace) -> None:
    assert {name: category_of(name) for name in tools_at(place) if category_of(name) is None} == {}

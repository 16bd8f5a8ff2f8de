"""`micro-agent patches` and `micro-agent undo`: a person reads, applies and takes back what was proposed."""

import os
import pty
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from micro_agent.cli.coloured import coloured
from micro_agent.coding.patches import check
from micro_agent.coding.patches.store import Patches
from micro_agent.coding.workplace import state_of
from tests.coding.patching import CHANGE, CHANGED, LINES, repository

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, Command


@pytest.fixture
def patches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Patches:
    """A repository in tmp_path/root with two proposals, the second with signs that a terminal would obey."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    root = repository(tmp_path).resolve()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    patches = Patches(root, state_of(root, tmp_path / "state"))
    patches.propose(check(root, "```\n" + CHANGE + "```\n"), "five as a digit")
    evil = "--- /dev/null\n+++ b/evil.txt\n@@ -0,0 +1 @@\n+\x1b[2J\u202eevil\n"
    patches.propose(check(root, evil), "more \x1b[2J")
    return patches


def ids(patches: Patches) -> list[str]:
    return [patch.id for patch in patches.all()[0]]


def test_the_queue_is_listed_and_shown(command: "Command", patches: Patches, tmp_path: Path) -> None:
    evil, digit = ids(patches)
    (tmp_path / "root" / "deep").mkdir()
    listed = command("patches", "list", "--repo", str(tmp_path / "root" / "deep"))
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[:3] for line in listed.out.splitlines()] == [
        [evil, "proposed", "evil.txt"], [digit, "proposed", "f.txt"]
    ]  # fmt: skip
    as_json = command("patches", "list", "--json", "--repo", "root").record
    assert [row["id"] for row in as_json] == [evil, digit]
    patches.decide(digit, approved=False, feedback="as a word")
    shown = command("patches", "show", digit, "--repo", "root")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"{digit}: five as a digit\n  proposed 20")
    assert "  feedback: as a word\n  repaired: fences\n\ndiff --git a/f.txt b/f.txt\n" in shown.out
    assert shown.out.endswith("\n-five\n+5\n six\n seven\n eight\n")
    record = command("patches", "show", digit, "--json", "--repo", "root").record
    assert (record["status"], record["diff"]) == ("rejected", patches.get(digit).diff)


def test_what_cannot_be_read_is_told_and_the_rest_is_listed(
    command: "Command", patches: Patches, tmp_path: Path
) -> None:
    evil, digit = ids(patches)
    (found,) = (tmp_path / "state").rglob(f"{evil}.json")
    found.write_text("garbage")
    listed = command("patches", "list", "--repo", "root")
    assert [line.split()[0] for line in listed.out.splitlines()] == [digit]
    assert listed.err == f"micro-agent: {found} cannot be read\n"
    (tmp_path / "other").mkdir()
    nothing = command("patches", "list", "--repo", "other")
    assert (nothing.out, nothing.err) == ("", "No patch was proposed for this repository.\n")
    missing = command("patches", "list", "--repo", "none")
    assert (missing.code, missing.err) == (
        2,
        "micro-agent: the repository 'none' is not there: name the folder of one\n",
    )


def test_a_person_applies_a_patch_and_takes_it_back(command: "Command", patches: Patches, tmp_path: Path) -> None:
    _, digit = ids(patches)
    path = tmp_path / "root" / "f.txt"
    applied = command("patches", "apply", digit, "--repo", "root")
    assert (applied.code, applied.out, applied.err) == (0, f"{digit} is applied: f.txt\n", "")
    assert path.read_text() == CHANGED
    again = command("patches", "apply", digit, "--repo", "root")
    assert (again.code, again.err) == (1, f"micro-agent: {digit} was applied already: nothing is left to do\n")
    path.write_text(CHANGED + "eleven\n")
    changed = command("undo", digit, "--repo", "root")
    assert (changed.code, changed.out) == (1, "")
    assert changed.err == "micro-agent: f.txt has changed since: nothing was undone; `git diff` shows it\n"
    path.write_text(CHANGED)
    undone = command("undo", digit, "--repo", "root")
    assert (undone.code, undone.out, undone.err) == (0, f"{digit} is undone: f.txt\n", "")
    assert path.read_text() == LINES
    for args in (["undo"], ["patches", "show"], ["patches", "apply"]):
        unknown = command(*args, "patch_0000000000", "--repo", "root")
        assert (unknown.code, unknown.err.count("\n")) == (1, 1)
        assert "there is no patch 'patch_0000000000'" in unknown.err


def test_a_terminal_is_shown_colours_and_obeys_nothing_else(cli: "Cli", patches: Patches, tmp_path: Path) -> None:
    evil, _ = ids(patches)
    env = {"MICRO_AGENT_STATE_DIR": str(tmp_path / "state"), "MICRO_AGENT_REPO": "root"}
    ours, theirs = pty.openpty()
    assert cli.end(cli.start("patches", "show", evil, stdout=theirs, env=env)).code == 0
    shown = os.read(ours, 8192).decode()
    os.close(ours)
    os.close(theirs)
    assert "more \\x1b[2J" in shown
    assert "\x1b[32m+\\x1b[2J\\u202eevil\x1b[0m" in shown
    assert "\x1b[1mdiff --git a/evil.txt b/evil.txt\x1b[0m" in shown
    assert "\x1b[2J" not in shown
    assert coloured(CHANGE).split("\n")[2:5] == ["\x1b[36m@@ -4,3 +4,3 @@\x1b[0m", " four", "\x1b[31m-five\x1b[0m"]

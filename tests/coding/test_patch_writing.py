"""Whatever happens while a patch is written: all of it is there afterwards, or nothing."""

import errno
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.patches import PatchError, apply
from tests.coding.patching import CHANGE, CHANGED, LINES, everything, files_of, repository
from tests.each import each

TOP = Path(__file__).parents[2]
DONE = "--- /dev/null\n+++ b/done\n@@ -0,0 +1 @@\n+x\n"
DYING = """
import os, sys
from pathlib import Path
from micro_agent.coding.patches import apply

rename, made = os.rename, []

def dying(*args, **options):
    made.append(args)
    if len(made) == 3:
        os._exit(9)
    rename(*args, **options)

os.rename = dying
apply(sys.argv[1], sys.stdin.read(), state=Path(sys.argv[2]))
"""
MORE = CHANGE + "--- /dev/null\n+++ b/new/deep/x.py\n@@ -0,0 +1 @@\n+X = 1\n"


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.torture)])
@each("act", ["apply", "undo"])
def test_a_process_that_dies_anywhere_leaves_all_or_nothing(act: str, tmp_path: Path, step: int) -> None:
    command = [sys.executable, "-m", "tests.coding.patch_deaths", str(tmp_path), act, str(step)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    lines: list[Any] = [json.loads(line) for line in done.stdout.splitlines()]
    deaths: list[str] = [line for line in lines if isinstance(line, str)]
    lives: list[tuple[bool, bool, str, list[str], str]] = [line for line in lines if not isinstance(line, str)]
    assert len(lives) == len(deaths) + 1 > 15 // step
    assert {"rename", "replace", "unlink", "fsync"} <= set(deaths)
    done_status, other = ("undone", "applied") if act == "undo" else ("applied", "approved")
    for as_it_was, is_done, status, folders, later in lives:
        assert (as_it_was, is_done) in ((True, False), (False, True))
        assert status == (done_status if is_done else other)
        if act == "apply":
            assert folders == (["new", "new/deep", "other"] if is_done else [])
        assert later == "proposed"
    assert lives[-1][1]
    assert sum(is_done for _, is_done, *_ in lives) > 2 // step


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    return repository(tmp_path)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, code: int) -> None:
    """Have the n-th call of a function of the system fail."""
    made, call = 0, getattr(os, name)

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal made
        made += 1
        if made == number:
            raise OSError(code, os.strerror(code))
        return call(*args, **options)

    monkeypatch.setattr(os, name, counted)


@each("fault", [("rename", 1, errno.EIO), ("rename", 2, errno.EIO), ("fsync", 3, errno.ENOSPC)])
def test_a_fault_of_the_system_changes_nothing(fault: tuple[str, int, int], root: Path) -> None:
    before = everything(root)
    with pytest.MonkeyPatch.context() as patched:
        failing(patched, *fault)
        with pytest.raises(PatchError, match="the patch cannot be written, and nothing was changed"):
            apply(root, MORE)
    assert everything(root) == before


@each("number", range(1, 8))
def test_a_fault_at_the_end_is_no_fault_of_the_patch(number: int, root: Path) -> None:
    """A journal that cannot be removed is removed by who comes next; what is said of the files is true."""
    apply(root, "--- /dev/null\n+++ b/first\n@@ -0,0 +1 @@\n+x\n") if number == 1 else None
    (root / "f.txt").write_text(LINES)
    with pytest.MonkeyPatch.context() as patched:
        failing(patched, "fsync", number, errno.EIO)
        try:
            apply(root, CHANGE)
            expected = CHANGED
        except PatchError:
            expected = LINES
    assert (root / "f.txt").read_text() == expected
    apply(root, "--- a/f.txt\n+++ b/f.txt\n@@ -9,2 +9,2 @@\n nine\n-ten\n+10\n")
    assert (root / "f.txt").read_text() == expected.replace("ten", "10")


def test_a_journal_that_stays_is_finished_by_who_comes_next(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        failing(patched, "unlink", 1, errno.EIO)
        assert apply(root, CHANGE).files == ("f.txt",)
    assert list((root.parent / "state").rglob("pending.json"))
    assert apply(root, "--- a/f.txt\n+++ b/f.txt\n@@ -9,2 +9,2 @@\n nine\n-ten\n+10\n").repaired == ()
    assert (root / "f.txt").read_text() == CHANGED.replace("ten", "10")
    assert not list((root.parent / "state").rglob("pending.json"))


def test_modes_are_kept_and_new_files_have_the_usual_one(root: Path) -> None:
    (root / "f.txt").chmod(0o750)
    umask = os.umask(0o027)
    try:
        apply(
            root,
            MORE
            + "diff --git a/run.sh b/run.sh\nnew file mode 100755\n--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+ls\n",
        )
    finally:
        os.umask(umask)
    modes = {name: oct(shown[0]) for name, shown in files_of(root).items()}
    assert modes == {"f.txt": "0o750", "new/deep/x.py": "0o640", "run.sh": "0o750"}


def test_the_owner_is_kept(root: Path) -> None:
    owner = (1234, 2345) if os.getuid() == 0 else (os.getuid(), os.getgid())
    os.chown(root / "f.txt", *owner)
    apply(root, CHANGE)
    assert ((root / "f.txt").stat().st_uid, (root / "f.txt").stat().st_gid) == owner
    assert (root / "f.txt").read_text() == CHANGED


def test_a_file_that_changes_before_it_is_replaced_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rename = os.rename

    def meanwhile(*args: Any, **options: Any) -> None:
        if not (root / "new" / "deep" / "x.py").exists():
            rename(*args, **options)  # that of f.txt
            (root / "f.txt").write_text("somebody else\n")
            (root / "new" / "deep" / "x.py").write_text("somebody else\n")

    monkeypatch.setattr(os, "rename", meanwhile)
    with pytest.raises(PatchError, match=r"new/deep/x\.py was changed by somebody else"):
        apply(root, MORE)
    assert {name: shown[1] for name, shown in files_of(root).items()} == {
        "f.txt": b"somebody else\n", "new/deep/x.py": b"somebody else\n"
    }  # fmt: skip


def test_what_somebody_changed_after_a_death_is_left_alone_and_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    diff = MORE + "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+y\n"
    assert apply(root, DONE).files == ("done",)
    (state,) = (root.parent / "state" / "repos").iterdir()
    died = subprocess.run([sys.executable, "-c", DYING, root, str(state)], cwd=TOP, input=diff, text=True, check=False)
    assert died.returncode == 9
    assert (root / "f.txt").read_text() == CHANGED
    (root / "f.txt").write_text("somebody else\n")
    (root / "new" / "mine").touch()
    monkeypatch.setattr(logging.getLogger("micro_agent"), "propagate", True)
    with caplog.at_level(logging.WARNING, "micro_agent"), pytest.raises(PatchError):
        apply(root, CHANGE)
    assert "'f.txt' stays as it is after a patch that was not finished: " in caplog.text
    assert sorted(files_of(root)) == ["done", "f.txt", "new/mine"]
    assert (root / "f.txt").read_text() == "somebody else\n"
    assert not (root / "new" / "deep").exists()
    (root / "f.txt").write_text(LINES)
    assert apply(root, CHANGE).files == ("f.txt",)


def test_a_state_that_cannot_be_kept_is_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "full").touch()
    with pytest.raises(PatchError, match="patches cannot be kept in "):
        apply(root, CHANGE, state=tmp_path / "full")
    assert (root / "f.txt").read_text() == LINES

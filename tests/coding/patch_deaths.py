"""A program that applies a patch again and again, and dies some system calls later each time: what is left of it.

It prints a line of JSON for each death: what the call was, and what somebody who comes next finds.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

from micro_agent.coding.patches.planning import plan
from micro_agent.coding.patches.store import Patches
from tests.coding.patching import CHANGE, Agreeing, files_of, repository

CALLS = ("rename", "replace", "unlink", "mkdir", "fsync")
DIFF = (
    CHANGE + "--- a/old.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
    "--- /dev/null\n+++ b/new/deep/x.py\n@@ -0,0 +1 @@\n+X = 1\n"
    "diff --git a/name.txt b/other/name.txt\nrename from name.txt\nrename to other/name.txt\n"
)  # fmt: skip


def die_at(number: int) -> None:
    """End this process, without a word, at its n-th call that could change something."""
    made = 0

    def dying(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            nonlocal made
            made += 1
            if made == number:
                os.write(1, f'"{name}"\n'.encode())
                os._exit(9)
            return call(*args, **options)

        return counted

    for name in CALLS:
        setattr(os, name, dying(name, getattr(os, name)))


def main(folder: Path, act: str, step: int) -> None:
    """Let processes die until one lives, ``step`` calls later each time."""
    number, is_alive = 0, False
    while not is_alive:
        number += step
        place = folder / "place"
        root = repository(place)
        (root / "old.sh").write_text("one\n")
        (root / "old.sh").chmod(0o755)
        (root / "name.txt").write_text("name\n")
        before = files_of(root)
        patches = Patches(root, place / "state")
        patch = patches.propose(plan(root, DIFF), "all kinds")
        patches.decide(patch.id, approved=True)
        if act == "undo":
            patches.apply(patch.id, Agreeing(root))
        during = files_of(root)
        child = os.fork()
        if not child:
            die_at(number)
            patches.undo(patch.id) if act == "undo" else patches.apply(patch.id, Agreeing(root))
            os._exit(0)
        is_alive = os.waitpid(child, 0)[1] == 0
        later = patches.propose(plan(root, "--- /dev/null\n+++ b/later\n@@ -0,0 +1 @@\n+x\n"), "whoever comes next")
        found, status = files_of(root), patches.get(patch.id).status
        folders = sorted(
            str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir() and path.name != ".git"
        )
        as_it_was = found == during
        is_done = found == before if act == "undo" else sorted(found) == ["f.txt", "new/deep/x.py", "other/name.txt"]
        os.write(1, json.dumps([as_it_was, is_done, status, folders, later.status]).encode() + b"\n")
        rmtree(place)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))

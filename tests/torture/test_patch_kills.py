"""A patch is applied by a process that is killed at a system call: all of it is there afterwards, or nothing."""

import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from micro_agent.coding.patches import apply
from tests.coding.patching import CHANGE, files_of, repository

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the kills land on a chosen system call"),
]

MORE = (
    CHANGE
    + "--- /dev/null\n+++ b/new/deep/x.py\n@@ -0,0 +1 @@\n+X = 1\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
)
PROGRAM = """
import sys
from pathlib import Path
from micro_agent.coding.patches import apply
apply(sys.argv[1], sys.stdin.read(), state=Path(sys.argv[2]))
"""


@pytest.mark.parametrize("syscall", ["rename,renameat,renameat2", "unlink,unlinkat", "mkdir,mkdirat", "fsync"])
def test_a_killed_process_leaves_all_or_nothing(syscall: str, tmp_path: Path) -> None:
    outcomes: list[bool] = []
    for number in count(1):
        folder = tmp_path / str(number)
        root = repository(folder)
        (root / "old").write_text("one\n")
        before = files_of(root)
        inject = f"inject={syscall}:signal=KILL:when={number}"
        command = f"strace -f -qq -o /dev/null -e trace={syscall} -e {inject}".split()
        command += [sys.executable, "-B", "-c", PROGRAM, str(root), str(folder / "state")]
        ended = subprocess.run(command, input=MORE, text=True, capture_output=True, check=False)
        apply(root, "--- /dev/null\n+++ b/next\n@@ -0,0 +1 @@\n+x\n", state=folder / "state")
        found = files_of(root)
        del found["next"]
        assert found == before or sorted(found) == ["f.txt", "new/deep/x.py"]
        assert (root / "new").exists() == (found != before)
        outcomes.append(found != before)
        if ended.returncode == 0:
            break
    assert outcomes[-1]
    assert len(outcomes) > 1

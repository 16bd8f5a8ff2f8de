"""A run of an agent killed at every system call that changes a file."""

import shutil
import signal
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from micro_agent.testing import ModelServer

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the kills land on a chosen system call"),
]

CHILD = Path(__file__).resolve().parents[1] / "integration" / "killed.py"
_spec = spec_from_file_location("killed", CHILD)
assert _spec is not None
assert _spec.loader is not None
killed: Any = module_from_spec(_spec)
_spec.loader.exec_module(killed)


@pytest.mark.parametrize("syscall", ["write", "fdatasync", "fsync", "unlink"])
def test_killed_at_every_system_call(tmp_path: Path, syscall: str) -> None:
    with ModelServer(killed.model) as server:
        for number in count(1):
            folder = tmp_path / str(number)
            folder.mkdir()
            inject = ["-e", f"trace={syscall}", "-e", f"inject={syscall}:signal=KILL:when={number}"]
            child = [sys.executable, "-B", str(CHILD), server.openai_url, str(folder)]
            status = subprocess.run(["strace", "-f", "-o", "/dev/null", *inject, *child], check=False).returncode
            if status == 0:
                assert number > 1
                return
            assert status in (-signal.SIGKILL, 128 + signal.SIGKILL)
            killed.check(server.openai_url, folder)

"""Servers to connect to: a rude one without the SDK, a polite one with it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from micro_agent.tools import Outcome, Tool, execute
from tests.warm import ROOT, Warm

HERE = Path(__file__).parent

Spec = dict[str, Any]


@pytest.fixture
def rude() -> Callable[..., Spec]:
    """One server of `rude.py`, of this kind, under this name."""

    def named(name: str, kind: str = "", **more: Any) -> Spec:
        return {"name": name, "command": sys.executable, "args": ["-IS", str(HERE / "rude.py"), kind], **more}

    return named


@pytest.fixture
def polite(warm: Warm) -> Spec:
    """The server of `polite.py`, on its standard streams. The first time it takes as long as the import of the SDK."""
    command = str(warm.scripts / "python")
    script, environment = str(HERE / "polite.py"), {"PYTHONPATH": str(ROOT)}
    return {"name": "polite", "command": command, "args": [script], "env": environment, "start_timeout_s": 600}


def called(tool: Tool, **args: Any) -> Outcome:
    """Call a tool, as an agent does."""
    return execute(tool, args)


def seen(tool: Tool, **args: Any) -> Any:
    """What a model sees of a call."""
    return called(tool, **args).observation


def ends(pid: int) -> bool:
    """Whether a process ends, which takes a moment after it was killed."""
    for _ in range(1000):
        if not is_running(pid):
            return True
        time.sleep(0.01)
    return False


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False

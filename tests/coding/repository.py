"""A real repository, and the tools on it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from micro_agent.coding.sandbox import Sandbox
from micro_agent.coding.workplace import Workplace
from micro_agent.tools.error import ToolError
from micro_agent.tools.tool import Tool
from tests.coding.plain_sandbox import PlainSandbox

_WHO = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")


def run_git(root: Path, *args: str, stdin: str = "") -> str:
    """Git as it comes: whatever the repository names is run."""
    env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(root)}
    done = subprocess.run(
        ["git", *_WHO, *args], cwd=root, env=env, input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


def make(root: Path, files: dict[str, str | bytes], *, commit: bool = True) -> Path:
    """A folder with these files; with ``commit``, a repository of git's with one commit."""
    root.mkdir(exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    if commit:
        run_git(root, "init", "-q")
        run_git(root, "add", "-A", "-f")
        run_git(root, "commit", "-q", "-m", "Begin")
    return root


def workplace(root: Path, sandbox: Sandbox | None = None) -> Workplace:
    """A place of work at a repository."""
    return Workplace(root, root.parent / "state", sandbox or PlainSandbox(root))


def fails(tool: Tool, code: str, **args: Any) -> dict[str, Any]:
    """The observation of a call that fails with this code."""
    with pytest.raises(ToolError, match=rf"^{code}: ") as failed:
        tool.handler(**args)
    return failed.value.observation()

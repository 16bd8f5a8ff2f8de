"""Small repositories of git's, made without the settings of whoever runs the tests."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

FILES = {
    "README.md": "# Sums\n\nIt adds two numbers.\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "tests/__init__.py": "",
    "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
}
"""A function that is wrong, and its test."""


def git(where: Path, *args: str) -> str:
    """What git says."""
    env = {
        "PATH": os.environ["PATH"], "HOME": str(where.parent),
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }  # fmt: skip
    return subprocess.run(["git", "-C", str(where), *args], env=env, check=True, capture_output=True, text=True).stdout


def repository(where: Path, files: Mapping[str, str] = FILES) -> Path:
    """Make one with these files, committed."""
    for name, content in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(content)
    git(where, "init", "-q", "-b", "main")
    git(where, "add", "-A")
    git(where, "commit", "-q", "-m", "Sums")
    return where

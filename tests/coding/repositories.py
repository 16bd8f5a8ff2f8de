"""Small repositories of git's, made without the settings of whoever runs the tests."""

import os
import shutil
import subprocess
import venv
from collections.abc import Mapping
from importlib.metadata import files
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


def with_pytest(where: Path) -> Path:
    """Give a repository an environment of its own with pytest in it, which git does not see.

    The one that the tests run in may lie where no sandbox looks: below `/tmp`.
    """
    venv.create(where / ".venv", symlinks=True)
    (packages,) = (where / ".venv/lib").glob("python*/site-packages")
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in files(name) or ():
            if file.suffix == ".py":
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), packages / file)
    command = where / ".venv/bin/pytest"
    command.write_text('#!/bin/sh\nexec "$(dirname "$0")/python" -m pytest "$@"\n')
    command.chmod(0o755)
    with (where / ".git/info/exclude").open("a") as exclude:
        exclude.write("/.venv/\n")
    return where

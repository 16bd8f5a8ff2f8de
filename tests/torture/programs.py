"""Programs that are heavy and that only the long tests need: `make torture` installs them in `.venv-torture`."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def program(name: str) -> Path:
    """A program of that environment, or of the one that ``MICRO_AGENT_TORTURE_PYTHON`` is the interpreter of.

    Where it is not there the test fails and says what to do: a skipped one proves nothing.
    """
    named = os.environ.get("MICRO_AGENT_TORTURE_PYTHON")
    found = (Path(named).parent if named else ROOT / ".venv-torture" / "bin") / name
    if not found.exists():
        pytest.fail(f"there is no {found}: `make torture` installs it")
    return found

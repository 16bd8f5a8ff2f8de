"""The compose file of `docs/container.md` is one by the Compose specification: no key that it does not know."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.torture.programs import program

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
READ = "import sys; from compose_spec import PyCompose; print(*PyCompose.from_yaml(sys.stdin.read()).service_names())"


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has the specification."""
    return program("python")


def read(python: Path, compose: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([python, "-c", READ], input=compose, check=False, capture_output=True, text=True)


def test_it_is_what_the_specification_says(python: Path) -> None:
    page = (ROOT / "docs/container.md").read_text(encoding="utf-8")
    (compose,) = re.findall(r"```yaml\n(# compose\.yaml\n.*?)```", page, flags=re.DOTALL)
    filled = re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", compose)  # as with the variables' defaults
    done = read(python, filled)
    assert done.stdout.split() == ["ollama", "model", "agent", "open-webui"], done.stderr
    for right, wrong in (("read_only", "readonly"), ("service_healthy", "healthy"), ("interval: 5s", "interval: soon")):
        assert read(python, filled.replace(right, wrong)).returncode == 1, wrong

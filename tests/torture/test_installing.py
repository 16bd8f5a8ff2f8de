"""The wheel on each Python of this machine, and the first step of the GitHub Action, which installs with the pins."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.torture

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
IMPORTS = "import micro_agent, sys; print(micro_agent.__version__, micro_agent.__file__)"


def pythons() -> dict[str, str]:
    """The Pythons of this machine by their version: on the path, or of pyenv."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found: dict[str, str] = {}
    for version in VERSIONS:
        named = [shutil.which(f"python{version}"), *map(str, kept.glob(f"{version}.*/bin/python"))]
        working = [name for name in named if name and _works(name, version)]
        if working:
            found[version] = working[0]
    return found


def _works(python: str, version: str) -> bool:
    said = subprocess.run([python, "-V"], check=False, capture_output=True, text=True).stdout
    return said.startswith(f"Python {version}.")


def test_the_wheel_installs_and_imports_on_each_python(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    found = pythons()
    assert found
    for version, python in found.items():
        venv = tmp_path / version
        subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True, capture_output=True)
        own, env = venv / "bin" / "python", {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            own,
            "install",
            "--no-compile",
            "--no-deps",
            "--no-index",
            wheel,
        ]
        installed = subprocess.run(pip, check=False, capture_output=True, text=True)
        assert installed.returncode == 0, f"{version}: {installed.stderr}"
        imported = subprocess.run([own, "-c", IMPORTS], check=False, capture_output=True, text=True, cwd=venv, env=env)
        assert imported.stdout.split()[1:] == [str(venv / f"lib/python{version}/site-packages/micro_agent/__init__.py")]
        assert imported.stderr == ""
        compiled = [own, "-W", "error", "-m", "compileall", "-qq", "-f", venv / "lib"]
        assert subprocess.run(compiled, check=False).returncode == 0, version


def test_the_action_installs_what_is_pinned(tmp_path: Path) -> None:
    install = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][0]
    script = tmp_path / "step.sh"
    script.write_text(install["run"])
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), "PYTHON": sys.executable, "HERE": str(ROOT)}
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=env, timeout=550)
    assert done.returncode == 0, done.stderr
    asked = [tmp_path / "micro-agent/bin/micro-agent", "ask", "--provider", "mock", "What is 2*(3+5)?"]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True, cwd=tmp_path).stdout
    assert answer == "The answer is 16.\n"
    (installed,) = tmp_path.glob("micro-agent/lib/python3.*/site-packages/litellm-*.dist-info")
    assert installed.name == f"litellm-{_pin('litellm')}.dist-info"


def _pin(name: str) -> str:
    (version,) = re.findall(rf"^{name}==([^\s;]+)", (ROOT / "requirements-image.txt").read_text(), flags=re.MULTILINE)
    return version

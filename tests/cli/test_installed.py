"""The package as it is installed: a wheel, in a folder that is not the repository."""

import json
import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tests.warm import Warm

ROOT = Path(__file__).resolve().parents[2]


class Installed:
    """The command of a folder with what the wheel holds."""

    def __init__(self, site: Path, warm: Warm) -> None:
        self.site = site
        self._warm = warm

    def __call__(self, folder: Path, *args: str, provider: str = "mock") -> "subprocess.CompletedProcess[str]":
        # Coverage would count the copy as files of its own, which are gone when it reports.
        env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        return self._warm.run(
            "-m", "micro_agent", *args, "--provider", provider, "--json", cwd=folder, fresh=True,
            env={**env, "PYTHONPATH": str(self.site)},
        )  # fmt: skip


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return Installed(folder / "site", warm)


def test_the_tasks_and_their_rubrics_come_with_it(installed: Installed) -> None:
    for name in ("tasks.yaml", "rubrics.yaml", "tasks.schema.json"):
        assert (installed.site / "micro_agent" / "evals" / name).read_bytes() == (ROOT / "evals" / name).read_bytes()


def test_an_eval_asks_them_in_an_empty_folder(installed: Installed, tmp_path: Path) -> None:
    done = installed(tmp_path, "eval", "run", "--n", "3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n"] == 3
    (file,) = (tmp_path / "evals" / "results").glob("*.jsonl")
    header = json.loads(file.read_text().splitlines()[0])
    assert Path(header["dataset"]) == installed.site / "micro_agent" / "evals" / "tasks.yaml"
    assert header["rubric"]["weights"]["key"] == 0.5


def test_so_does_an_optimization(installed: Installed, tmp_path: Path) -> None:
    done = installed(tmp_path, "optimize", "--n", "6")
    assert done.returncode == 3, done.stderr
    assert len(json.loads(done.stdout)["held_out_tasks"]) == 3


def test_tasks_of_the_working_directory_go_before_them(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "tasks.yaml").write_text("- {id: own, question: What is 2+3?, expect_number: 5}\n")
    done = installed(tmp_path, "eval", "run")
    assert json.loads(done.stdout)["success_rate"]["value"] == 1, done.stderr


def test_the_tiny_model_comes_with_it(installed: Installed, tmp_path: Path) -> None:
    done = installed(tmp_path, "ask", "What does the kettle cost?", provider="tiny")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"][0]["tool"] == "price"


def test_it_is_for_each_python_from_3_11_to_3_14_and_each_machine(installed: Installed) -> None:
    (described,) = installed.site.glob("micro_agent-*.dist-info")
    assert "Root-Is-Purelib: true\nTag: py3-none-any\n" in (described / "WHEEL").read_text()
    metadata = message_from_string((described / "METADATA").read_text(encoding="utf-8"))
    assert metadata["Requires-Python"] == ">=3.11"
    versions = [
        str(said).rpartition(" ")[2] for said in metadata.get_all("Classifier", []) if " :: Python :: 3." in said
    ]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]

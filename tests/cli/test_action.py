"""`action.yml`: its steps are run as GitHub runs them, by bash with files for outputs and the summary."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from micro_agent.testing import ModelServer, Received, Reply, text
from tests.warm import Warm, empty_environment

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
TASKS = (
    "- {id: one, question: Say one., expect_contains: one}\n- {id: two, question: Say two., expect_contains: three}\n"
)
BASH = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]


@dataclass
class Job:
    """A job on a runner: the checked-out repository, and a folder of the runner's own."""

    workspace: Path
    runner: Path
    inputs: dict[str, str] = field(default_factory=dict[str, str])

    def runs(self, step: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
        """Run a step; an expression stands for an input, or for the folder of the action."""
        defaults = {name: given.get("default", "") for name, given in ACTION["inputs"].items()}
        known = {f"inputs.{name}": value for name, value in (defaults | self.inputs).items()}
        known["github.action_path"] = str(ROOT)
        env = {name: known[said.removeprefix("${{ ").removesuffix(" }}")] for name, said in step["env"].items()}
        script = self.runner / "step.sh"
        script.write_text(step["run"])
        files = {"GITHUB_STEP_SUMMARY": str(self.runner / "summary"), "GITHUB_OUTPUT": str(self.runner / "output")}
        return subprocess.run(
            [*BASH, script], cwd=self.workspace, check=False, capture_output=True, text=True, timeout=550,
            env={**empty_environment(self.runner), "RUNNER_TEMP": str(self.runner), **files, **env},
        )  # fmt: skip

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.runner / "output").read_text().splitlines())


def model(request: Received) -> Reply:
    return text(request.messages[-1]["content"].removeprefix("Say "))


@pytest.fixture
def job(tmp_path: Path, warm: Warm) -> Job:
    """A job where the first step has been: the command is one that is forked."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "runner" / "micro-agent").mkdir(parents=True)
    os.symlink(warm.scripts, tmp_path / "runner" / "micro-agent" / "bin")
    (tmp_path / "workspace" / "tasks.yaml").write_text(TASKS)
    return Job(tmp_path / "workspace", tmp_path / "runner")


def test_under_the_threshold_the_job_fails_and_shows_the_figures(job: Job) -> None:
    with ModelServer(model) as server:
        job.inputs = {
            "tasks": "tasks.yaml", "threshold": "0.9", "base-url": server.openai_url, "model": "m; exit 0",
            "args": "--n\n2\n\n--seed\n7", "out": "my results.jsonl",
        }  # fmt: skip
        done = job.runs(STEPS[1])
        assert {chat.body["model"] for chat in server.chats if chat.body} == {"m; exit 0"}
    assert done.returncode == 100, done.stderr
    assert "::error title=micro-agent eval::The success rate 0.5 is under the threshold." in done.stdout
    summary = (job.runner / "summary").read_text()
    assert summary.startswith("### Success rate 50.0 %\n")
    assert "two  contains" in summary
    assert job.outputs() == {"success-rate": "0.5", "results": "my results.jsonl"}


def test_what_cannot_be_asked_fails_with_its_own_code(job: Job) -> None:
    job.inputs = {"tasks": "none.yaml", "provider": "mock"}
    done = job.runs(STEPS[1])
    assert done.returncode == 2
    assert "none.yaml" in done.stderr
    assert not (job.runner / "summary").exists()


def test_no_input_is_text_of_a_script() -> None:
    assert [step["name"] for step in STEPS if "${{" in step["run"]] == []
    said = "".join(word for step in STEPS for word in step["env"].values())
    assert set(re.findall(r"inputs\.([\w-]+)", said)) == set(ACTION["inputs"])
    assert {step["shell"] for step in STEPS} == {"bash"}
    assert "uses" not in {key for step in STEPS for key in step}

"""Evals and optimizations that workers ask: what they are told has no secret in it, and their results are the same."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from micro_agent.cli import eval_plan, eval_run
from micro_agent.cli.options import settings
from micro_agent.evaluation.results import read_results
from micro_agent.evaluation.workers.crew import CrewExecutor
from micro_agent.evaluation.workers.worker import Setup
from micro_agent.testing import ModelServer, Received, Reply, call, text
from tests.evaluation.local_crew import LocalCrew

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.usefixtures("prose_is_final")

KEY = "sk-planted-9c2e77d1f0a4"
TOOLS = '''
from micro_agent import tool

@tool
def double(x: int) -> int:
    """Double it."""
    return x * 2
'''


def model(request: Received) -> Reply:
    """Doubles what it is asked about."""
    asked = next(message["content"] for message in request.messages if message["role"] == "user")
    if request.messages[-1]["role"] == "tool":
        return text(f"It is {request.messages[-1]['content']}.")
    return call("double", {"x": int(asked.split()[-1].rstrip("."))})


class Crews:
    """In the place of Ray: it keeps what workers are told."""

    def __init__(self) -> None:
        self.told = list[bytes]()

    def executor(self, setup: Setup) -> CrewExecutor:
        crew = LocalCrew(setup)
        self.told.append(crew.sent)
        return CrewExecutor(crew)


def report(plans: list[eval_plan.Plan], crews: Any, found: Any) -> int:
    with pytest.raises(typer.Exit) as ended:
        eval_run.report(plans, eval_run.Bounds(4, None, None, crews), found, None, as_json=False)
    return ended.value.exit_code


def asked(url: str, **more: Any) -> eval_plan.Asked:
    known: dict[str, Any] = {
        "n": None, "tags": (), "seed": None, "epochs": 2, "rubrics": None, "timeout": None, "max_steps": None,
        "provider": "openai", "model": "m", "base_url": (url,), "mode": "native",
    }  # fmt: skip
    return eval_plan.Asked(Path("tasks.jsonl"), **{**known, **more})


def judged(path: Path) -> dict[Any, Any]:
    return {
        result.key: (result.success, result.score, result.seed, result.run.answer, len(result.damages))
        for result in read_results(path)[1]
    }


def test_workers_with_keys_of_their_own_ask_as_threads_do(
    command: "Command", monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    tasks: list[Any] = [{"id": f"t{n}", "question": f"Double {n}.", "expect_contains": f"{n * 2}"} for n in range(3)]
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    Path("own.py").write_text(TOOLS)
    Path("demos.json").write_text(json.dumps({"schema_version": 1, "demos": []}))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found, crews = settings(tools=["own.py"]), Crews()
    with ModelServer(model) as server:
        options = asked(server.openai_url, faults=0.5, demos=Path("demos.json"))
        assert report(eval_plan.made(Path("threads.jsonl"), options, found), None, found) == 0
        first = len(server.chats)
        assert report(eval_plan.made(Path("workers.jsonl"), options, found), crews, found) == 0
        for chat in server.chats[first:]:
            assert chat.headers["authorization"] == f"Bearer {KEY}"
    for suffix in ("", "-faults"):
        assert judged(Path(f"workers{suffix}.jsonl")) == judged(Path(f"threads{suffix}.jsonl"))
        traces = list(Path(f"workers{suffix}.traces").glob("*.jsonl"))
        assert len(traces) == 6
    assert len(crews.told) == 2
    assert all(KEY.encode() not in told for told in crews.told)
    assert "6/6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--workers", "2"], "--workers goes with --executor ray"),
        (["--executor", "ray", "--concurrency", "3"], "say --workers and --per-worker"),
        (["--executor", "ray", "--phoenix"], "--phoenix sees runs of this process"),
        (["--executor", "ray", "--ray-address", "ray://head:10001"], "is one of Ray Client"),
        (["--executor", "ray"], "ray is not installed"),
    ],
)
def test_what_does_not_go_with_the_executor_is_said(
    options: list[str], told: str, command: "Command", monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("MICRO_AGENT_WORKERS", "2")
    done = command("eval", "run", "--provider", "mock", *options)
    assert done.code == 2
    assert told in done.err
    assert os.listdir() == []

"""The data of a run: what its keys are, and that nothing of a file is lost by reading and writing it."""

import json
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from micro_agent import MicroAgent, Run, Step
from micro_agent.errors import StorageError
from micro_agent.run import MARKERS, utc_now
from micro_agent.testing import ScriptedLM, call, text


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.fixture
def run() -> Run:
    lm = ScriptedLM([call("add", {"a": 1, "b": 2}), text(""), text("Drei – ok")])
    return MicroAgent(tools=[add], lm=lm, rules=[]).ask("1 + 2?")


def test_a_record_begins_with_id_time_question_steps_and_answer(run: Run) -> None:
    assert list(json.loads(run.model_dump_json()))[:6] == ["id", "ts", "question", "steps", "answer", "model_answer"]


def test_a_run_comes_back_from_its_file_as_it_was(run: Run, tmp_path: Path) -> None:
    path = run.save(tmp_path / "run.json")
    assert path == tmp_path / "run.json"
    assert Run.load(path) == run


def test_keys_of_a_newer_version_survive_in_every_part(run: Run, tmp_path: Path) -> None:
    data = json.loads(run.model_dump_json())
    for part in (data, data["steps"][0], data["calls"][0], data["usage"]):
        part["of_tomorrow"] = {"kept": True}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    Run.load(path).save(path)
    assert json.loads(path.read_text(encoding="utf-8")) == data


def test_a_file_that_is_no_run_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"id": "x"}', encoding="utf-8")
    with pytest.raises(StorageError, match="is not a saved run"):
        Run.load(path)
    with pytest.raises(StorageError, match="No such file"):
        Run.load(tmp_path / "missing.json")


def test_ids_are_fresh_and_fit_in_a_file_name() -> None:
    one, two = Run(question="?"), Run(question="?")
    assert one.id != two.id
    assert re.fullmatch("[0-9a-f]{32}", one.id)
    with pytest.raises(ValidationError):
        Run(id="../../etc/passwd", question="?")


def test_times_are_utc_with_milliseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", utc_now())


def test_steps_of_the_loop_are_no_tool_steps() -> None:
    assert Step(tool="add").is_tool
    assert not any(Step(tool=marker).is_tool for marker in MARKERS)

"""The JSON Schema for editors: up to date, and of one mind with the reader."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import load_tasks
from micro_agent.evaluation.datasets.schema import schema_text, tasks_schema
from micro_agent.evaluation.task import Task

EVALS = Path(__file__).resolve().parents[3] / "evals"

GOOD = [
    "- {id: a, question: q, expect_tools: []}",
    "- {question: q, expect_tools: []}",
    "tasks: [{id: a, question: q, expect_tools: []}]",
    "{version: 1, tasks: [{id: a, question: q, expect_number: 16}]}",
    "- {id: a, question: q, expect_number: -1.5}",
    "- {id: a, question: q, expect_number: {value: 3.14, tolerance: 0.01}}",
    "- {id: a, question: q, tags: x, expect_contains: x, note: y}",
    "- {id: a, question: q, tags: [x, y], expect_contains: [x, y], expect_key: a.b, expect_regex: '(a|b)+'}",
    "- {id: a, question: q, expect_observed: [now], expect_key: [a, b]}",
    "- {id: a, question: q, expect_args: {now: {timezone: [UTC, null]}}}",
    "- {id: a, question: q, expect_args: {add: [{a: 1, b: [2, 3]}, {a: {b: true}}]}}",
]
BAD = {
    "[]": "should be non-empty",
    "x": "is not of type 'object'",
    "{version: 1}": "'tasks' is a required property",
    "{version: 2, tasks: [{id: a, question: q, expect_tools: []}]}": "1 was expected",
    "{tasks: [{id: a, question: q, expect_tools: []}], more: 1}": "'more' was unexpected",
    "- {id: a, question: q}": "is not valid under any of the given schemas",
    "- {id: a, expect_tools: []}": "'question' is a required property",
    "- {id: a b, question: q, expect_tools: []}": "'a b' does not match",
    "- {id: a, question: ' ', expect_tools: []}": "' ' does not match",
    "- {id: a, question: q, expect_tols: [], expect_key: k}": "'expect_tols' was unexpected",
    "- {id: a, question: q, expect_contains: []}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_number: ten}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_number: {value: 1, tolerance: -1}}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_args: {}}": "should be non-empty",
    "- {id: a, question: q, expect_args: {now: {}}}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_args: {now: []}}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_args: {now: UTC}}": "is not valid under any of the given schemas",
    "- {id: a, question: q, expect_regex: ''}": "'' should be non-empty",
}


def faults(text: str) -> list[str]:
    """What an editor would underline."""
    found = Draft202012Validator(tasks_schema()).iter_errors(yaml.safe_load(text))  # pyright: ignore[reportUnknownMemberType]
    return [error.message for error in found]


def test_the_file_in_the_repository_is_up_to_date() -> None:
    assert (EVALS / "tasks.schema.json").read_text(encoding="utf-8") == schema_text()


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(tasks_schema())


@pytest.mark.parametrize("text", GOOD)
def test_good_files_are_accepted_by_the_schema_and_the_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(text)
    assert faults(text) == []
    assert load_tasks(path).tasks


@pytest.mark.parametrize(("text", "says"), BAD.items(), ids=BAD)
def test_bad_files_are_refused_by_the_schema_and_the_reader(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "tasks.yaml"
    path.write_text(text)
    assert any(says in fault for fault in faults(text)), faults(text)
    with pytest.raises(ConfigurationError):
        load_tasks(path)


def test_the_tasks_of_the_repository_are_accepted() -> None:
    assert faults((EVALS / "tasks.yaml").read_text(encoding="utf-8")) == []


def test_every_field_is_described() -> None:
    properties: dict[str, dict[str, Any]] = tasks_schema()["$defs"]["Task"]["properties"]
    assert list(properties) == list(Task.model_fields)
    assert [name for name, field in properties.items() if len(field.get("description", "")) < 15] == []
    assert "``" not in schema_text()

"""Rubric files: what is read, and what is refused in which words."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.result import Rubric
from micro_agent.evaluation.rubrics import load_rubric
from micro_agent.evaluation.scorers import SCORERS


def written(folder: Path, content: str) -> Path:
    path = folder / "rubrics.yaml"
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    return path


def test_without_a_file_every_check_counts_the_same() -> None:
    assert load_rubric(None) == Rubric()
    assert load_rubric(None).weights == dict.fromkeys(SCORERS, 1.0)


def test_a_file_changes_what_it_names(tmp_path: Path) -> None:
    rubric = load_rubric(written(tmp_path, "version: 1\nweights: {number: 2, tools: 0, key: }\npass_score: 0.75\n"))
    assert rubric.weights == dict.fromkeys(SCORERS, 1) | {"number": 2, "tools": 0}
    assert rubric.pass_score == 0.75
    assert load_rubric(written(tmp_path, "weights:\n")) == Rubric()


FAULTS = {
    "weights: {numbr: 2}": "weights: 'numbr' is not a check; did you mean number?",
    "weights: {xyz: 2}": f"weights: 'xyz' is not a check; there are {', '.join(SCORERS)}",
    "weights: {number: -1}": "weights.number: must be a number from 0 on, not '-1'",
    "weights: {number: .nan}": "weights.number: must be a number from 0 on, not '.nan'",
    "weights: {number: nan}": "weights.number: must be a number from 0 on, not 'nan'",
    "weights: {number: inf, key: x}": "weights.number: must be a number from 0 on, not 'inf'; weights.key: must be",
    "weights: {number: [1]}": "weights.number: must be a number from 0 on, not",
    f"weights: {dict.fromkeys(SCORERS, 0)}": "weights: all of them are 0",
    "weights: [number]": "weights: must be checks with their weights, such as {contains: 1, number: 2}",
    "pass_score: 0": "pass_score: must be a number above 0, at most 1, not '0'",
    "pass_score: 1.1": "pass_score: must be a number above 0, at most 1, not '1.1'",
    "pass_score: all": "pass_score: must be a number above 0, at most 1, not 'all'",
    "weigths: {}": "'weigths' is not a field; did you mean weights?",
    "version: 3": "version '3' is not known; write version: 1",
    "": "a rubric is written as {weights: {contains: 1, number: 2}, pass_score: 1}",
    "{weights: ": "not YAML: did not find expected node content",
}


@pytest.mark.parametrize(("content", "says"), FAULTS.items(), ids=FAULTS)
def test_what_is_wrong_is_said_in_one_line(content: str, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ConfigurationError) as caught:
        load_rubric(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot read .*none.yaml: No such file"):
        load_rubric(tmp_path / "none.yaml")


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf")])
def test_a_weight_that_cannot_be_counted_is_refused_in_programs_too(weight: float) -> None:
    with pytest.raises(ValidationError):
        Rubric(weights={"number": weight})


WORDS = st.sampled_from(
    ["weights", "number", "pass_score", ": ", "{", "}", "-1", "0.5", "nan", "\n", "\n  ", "[", "]", "~"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.lists(WORDS, max_size=15).map("".join) | st.text(max_size=30))
def test_garbage_is_a_rubric_or_a_fault(content: str, tmp_path: Path) -> None:
    try:
        rubric = load_rubric(written(tmp_path, content))
    except ConfigurationError:
        return
    assert 0 < rubric.pass_score <= 1
    assert sum(rubric.weights.values()) > 0

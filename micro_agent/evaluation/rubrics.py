"""Rubrics: files that say how much each check counts."""

from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from micro_agent.errors import ConfigurationError
from micro_agent.evaluation.datasets import read_whole
from micro_agent.evaluation.datasets.files import check_version, text_of, unknown_name
from micro_agent.evaluation.datasets.yaml_text import Block, read_yaml
from micro_agent.evaluation.result import Rubric

_LARGEST = 1_000_000
_FIELDS = ("version", "weights", "pass_score")


def load_rubric(path: Path | None) -> Rubric:
    """The rubric in a YAML file, ``{weights: {number: 2}, pass_score: 1}``; ``None``: every check counts the same.

    A weight that the file leaves out is 1.

    Raises:
        ConfigurationError: It cannot be read, or is not a rubric: a name that there is not, a weight that is negative
            or not a number, or all weights 0. One line that names the file and what to do.
    """
    if path is None:
        return Rubric()
    content = read_whole(path, _LARGEST)
    try:
        return _rubric(read_yaml(text_of(content)))
    except ValueError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def rubric_for(tasks: Path, named: Path | None) -> Rubric:
    """The rubric that is named, else ``rubrics.yaml`` beside the tasks if there is one. Raises as `load_rubric`."""
    beside = tasks.with_name("rubrics.yaml")
    return load_rubric(named or (beside if beside.exists() else None))


def _rubric(data: Any) -> Rubric:
    if not isinstance(data, Block):
        raise ValueError("a rubric is written as {weights: {contains: 1, number: 2}, pass_score: 1}")
    given = {key: value for key, value in data.items() if value is not None}
    for name in given:
        if name not in _FIELDS:
            raise ValueError(unknown_name("field", name, _FIELDS))
    check_version(given)
    try:
        rubric = Rubric.model_validate(given | {"weights": _weights(given.get("weights", {}))})
    except ValidationError as error:
        raise ValueError("; ".join(map(_fault, error.errors(include_url=False)))) from error
    if not any(rubric.weights.values()):
        raise ValueError("weights: all of them are 0; give one check a weight")
    return rubric


def _weights(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ValueError("weights: must be checks with their weights, such as {contains: 1, number: 2}")
    weights: dict[str, Any] = dict(Rubric().weights)
    for name, weight in cast("dict[str, Any]", given).items():
        if name not in weights:
            raise ValueError(f"weights: {unknown_name('check', name, tuple(weights))}")
        if weight is not None:
            weights[name] = weight
    return weights


def _fault(detail: ErrorDetails) -> str:
    advice = "must be a number from 0 on" if detail["loc"][0] == "weights" else "must be a number above 0, at most 1"
    return f"{'.'.join(map(str, detail['loc']))}: {advice}, not {str(detail['input'])[:40]!r}"

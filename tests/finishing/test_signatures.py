# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""The cases of `signatures` say what they claim to say."""

import json
from typing import Any

import pytest
from dspy import ensure_signature
from pydantic import BaseModel, ValidationError, create_model

from tests.each import each
from tests.finishing.signatures import CASES, Case


def outputs(case: Case) -> type[BaseModel]:
    """A model of all output fields, with their constraints."""
    found: Any = ensure_signature(case.signature)
    fields: dict[str, Any] = {name: (field.rebuild_annotation(), field) for name, field in found.output_fields.items()}
    return create_model("Outputs", **fields)


@each("case", CASES, ids=lambda case: case.id)
def test_right_outputs_fit_and_wrong_ones_do_not(case: Case) -> None:
    read = outputs(case).model_validate_json(json.dumps(case.clean), strict=True)
    assert {name: getattr(read, name) for name in case.values} == case.values
    with pytest.raises(ValidationError):
        outputs(case).model_validate_json(json.dumps(case.wrong))


@each("text", [text for case in CASES for text in case.malformed])
def test_malformed_outputs_are_not_json(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        json.loads(text)


def test_there_are_fifty_cases() -> None:
    assert len({case.id for case in CASES}) == len(CASES) == 50

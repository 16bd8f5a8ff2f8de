"""What is wrong with a task, in words that say what to do."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from micro_agent.evaluation.coding.repository import Change, Repository
from micro_agent.evaluation.datasets.files import FIELDS, unknown_name
from micro_agent.evaluation.task import ExpectedNumber

_NUMBER = "must be a number such as 16, or {value: 3.14, tolerance: 0.01}"
_FIELD_ADVICE = {
    "id": "must begin with a letter or digit and have at most 100 letters, digits and . _ -",
    "tags": "a tag begins with a letter or digit and has letters, digits and . _ - only",
    "expect_args": "must be tools with their arguments, such as {now: {timezone: Asia/Tokyo}}",
    "expect_number.tolerance": "must be a number from 0 on",
    "expect_number": _NUMBER,
}
_KIND_ADVICE = {
    "missing": "is missing; write it",
    "list_type": "must be a text, or a list of texts",
    "too_short": "is an empty list; write what is expected, or leave the field out",
    "string_too_short": "is empty; write it, or leave the field out",
    "string_pattern_mismatch": "is blank; write it, or leave the field out",
}
_SHOWN = 40
_BELOW: dict[str, type[BaseModel]] = {"expect_number": ExpectedNumber, "repository": Repository, "planted": Change}
"""What stands under a field."""
_NAMES = frozenset(FIELDS).union(*(model.model_fields for model in _BELOW.values()))


def faults_of(error: ValidationError) -> Iterator[str]:
    """One text for each fault, such as ``expect_number: must be a number …, not 'ten'``; each once."""
    # A number that is neither an integer nor a float is two faults to pydantic.
    yield from dict.fromkeys(map(_fault, error.errors(include_url=False)))


def _fault(detail: ErrorDetails) -> str:
    place = [part for part in detail["loc"] if part in _NAMES]
    name = ".".join(map(str, place))
    kind = detail["type"]
    if kind == "extra_forbidden":
        known = tuple(_BELOW[str(place[-1])].model_fields) if place else FIELDS
        return f"{f'{name}: ' if name else ''}{unknown_name('field', str(detail['loc'][-1]), known)}"
    if kind == "value_error":
        return _line(str(detail.get("ctx", {}).get("error")))
    if kind == "missing":
        return f"{name}: {_KIND_ADVICE[kind]}"
    name = name.removesuffix(".value")  # of a number in its short form
    return f"{name}: {_advice(name, kind, detail['msg'])}{_found(detail['input'])}"


def _advice(name: str, kind: str, message: str) -> str:
    if kind == "string_type":
        return "must be text; put it in quotes"
    field = next((advice for known, advice in _FIELD_ADVICE.items() if name.startswith(known)), None)
    return field if field and (kind != "list_type" or name == "expect_args") else _KIND_ADVICE.get(kind, message)


def _found(value: Any) -> str:
    """What stands there, if it is short enough to be recognised."""
    if isinstance(value, str | int | float):
        text = repr(value) if len(str(value)) <= _SHOWN else f"{str(value)[:_SHOWN]!r}…"
        return f", not {text}"
    return ""


def _line(text: str) -> str:
    return " ".join(text.split())

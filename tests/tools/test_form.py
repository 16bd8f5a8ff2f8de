"""What a right call looks like, in the error that a model gets for a wrong one."""

from typing import Any

import pytest

from micro_agent.tools.form import arguments_form, call_form

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "integer"},
        "mode": {"enum": ["read", "write"]},
        "any": {"type": ["string", "null"]},
        "letter": {"type": "string", "enum": list("abcdefghijklmnopqrstuvwxyz")},
    },
    "required": ["path", "lines"],
}


@pytest.mark.parametrize(
    ("most", "form"),
    [
        (
            500,
            '{"path": "<text>", "lines": <integer>, "mode": <"read" or "write">, "any": "<text>", "letter": "<text>"}',
        ),
        (60, '{"path": "<text>", "lines": <integer>}'),
        (10, "{<arguments>}"),
    ],
)
def test_arguments_are_shown_with_their_types_as_far_as_there_is_room(most: int, form: str) -> None:
    assert arguments_form(SCHEMA, most) == form


@pytest.mark.parametrize("parameters", [{}, {"properties": []}, {"properties": {"a": True}, "required": "a"}])
def test_an_odd_schema_is_no_trouble(parameters: dict[str, Any]) -> None:
    assert arguments_form(parameters, 100) in ("{}", '{"a": <value>}')


def test_a_call_is_shown_in_the_form_of_the_mode() -> None:
    parameters: dict[str, Any] = {"properties": {"a": {"type": "integer"}}}
    assert call_form("add", parameters) == 'Call add with {"a": <integer>}.'
    assert call_form("add", parameters, native=False) == (
        'Reply with {"tool": {"name": "add", "args": {"a": <integer>}}}'
    )
    assert len(call_form("x" * 500, parameters)) < 100

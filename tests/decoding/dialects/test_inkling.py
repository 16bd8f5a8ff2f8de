"""Inkling's message header."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            '<|message_model|>calculator<|content_invoke_tool_json|>{"name": "calculator", "args":'
            " $ARGS}<|end_message|>",
            ADD,
        ),
        ('<|content_invoke_tool_json|>{"name": "calculator", "args": $ARGS}', ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant

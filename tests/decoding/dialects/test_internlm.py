"""InternLM's action markers."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|action_start|><|plugin|>\n{"name": "calculator", "parameters": $ARGS}<|action_end|>', ADD),
        ("<|action_start|>$CALL", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|action_start|><|interpreter|>\nprint(1)<|action_end|>", "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

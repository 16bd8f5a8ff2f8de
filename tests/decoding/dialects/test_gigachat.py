"""GigaChat's role separator."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|message_sep|>\n\nfunction call<|role_sep|>\n$CALL</s>", ADD),
        ("function call<|role_sep|>\n$CALL", ADD),
        ("<|function_call|>$CALL", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('function call<|role_sep|>\n{"name": "calculator", "arguments": "1+1"}', "bad_arguments"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

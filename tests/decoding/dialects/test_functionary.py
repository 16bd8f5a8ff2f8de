"""Functionary's recipients."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (">>>calculator\n$ARGS", ADD),
        ('>>>calculator\n"{\\"expression\\": \\"1+1\\"}"', ADD),
        (">>>calculator\n$ARGS\n>>>search_code\n$MORE<|eot_id|>", BOTH),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("calculator\n$ARGS\n>>>search_code\n$MORE", [*ADD, ("search_code", {"pattern": "x"})]),
        ("all\nLet me see.>>>calculator\n$ARGS", ADD),
        (">>>all\nRome.", ("Rome.",)),
        ("all\nRome > Oslo.\n>>>all\n", ("Rome > Oslo.",)),
        (">>>all\n", (">>>all",)),
        (">>>calculator\n$ARGS\n>>>sear", "malformed"),
        ('>>>rm\n{"path": "/"}', "unknown_tool"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

"""Apertus: the name is the key."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|tools_prefix|>[{"calculator": $ARGS}, {"search_code": $MORE}]<|tools_suffix|>', BOTH),
        ('<|tools_prefix|>[{"calculator": $ARGS}]', ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|tools_prefix|>[{"rm": {"path": "/"}}]<|tools_suffix|>', "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_with_unknown_tools_any_key_is_a_name(read: Read) -> None:
    assert read('<|tools_prefix|>[{"rm": {"path": "/"}}]<|tools_suffix|>', tools=None) == [("rm", {"path": "/"})]

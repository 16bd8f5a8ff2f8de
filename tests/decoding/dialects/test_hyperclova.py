"""HyperCLOVA X's role line."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|im_start|>assistant -> tool/function_call\n[$CALL]<|im_end|>", ADD),
        (" -> tool/function_call\n[$CALL, $OTHER]", BOTH),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant

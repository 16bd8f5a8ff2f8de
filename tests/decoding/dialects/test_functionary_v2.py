"""Functionary 2's recipients."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
TO = "<|from|>assistant\n<|recipient|>"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{TO}calculator\n<|content|>$ARGS<|stop|>", ADD),
        ("calculator\n<|content|>$ARGS<|stop|>", ADD),
        (f"{TO}calculator\n<|content|>$ARGS\n{TO}search_code\n<|content|>$MORE<|stop|>", BOTH),
        (f"all\n<|content|>Let me see.\n{TO}calculator\n<|content|>$ARGS", ADD),
        (f"{TO}calculator\n<|content|>$ARGS<|stop|>\n<|from|>calculator\n<|content|>2\n{TO}all\n<|content|>2", ADD),
        (f"{TO}all\n<|content|>It is 2 < 3.<|stop|>", ("It is 2 < 3.",)),
        ("all\n<|content|>Rome.<|stop|>", ("Rome.",)),
        ("<|recipient|> all<|content|><|stop|>", ("<|recipient|> all",)),
        (f"{TO}calculator\n<|content|>$ARGS\n{TO}search_co", "malformed"),
        (f"{TO}rm\n<|content|>$ARGS<|stop|>", "unknown_tool"),
    ],
)
def test_a_recipient_is_a_tool_or_the_user(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_an_answer_that_the_token_limit_cut_off_is_asked_for_again(read: Read) -> None:
    assert read(f"{TO}all\n<|content|>It is", "length") == "cut_off"

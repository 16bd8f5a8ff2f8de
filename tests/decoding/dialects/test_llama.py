"""``<|python_tag|>`` and ``<function=name>`` in all the spellings that Groq reports."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|python_tag|>{"name": "calculator", "parameters": $ARGS}<|eom_id|>', ADD),
        ("<|python_tag|>$CALL; $OTHER", BOTH),
        ("<function=calculator>$ARGS</function>", ADD),
        ("<function=calculator>$ARGS</function><function=search_code>$MORE</function>", BOTH),
        ("<function=calculator$ARGS</function>", ADD),
        ("<function(calculator)$ARGS</function>", ADD),
        ("<function/calculator>$ARGS</function>", ADD),
        ('<function name="calculator">$ARGS</function>', ADD),
        ("<function=calculator,$ARGS<function>", ADD),
        ("<function=now></function>", NOW),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<function=rm{"path": "/"}</function>', "unknown_tool"),
        ("<|python_tag|>import os", "malformed"),
        ('<function=calculator{"expression": "1+', "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

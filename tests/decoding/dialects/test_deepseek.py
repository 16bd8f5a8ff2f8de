"""DeepSeek's markers with full-width bars, and Cogito's."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>calculator\n```json\n$ARGS\n```"
            "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            ADD,
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>$ARGS<｜tool▁call▁end｜>\n"
            "<｜tool▁call▁begin｜>search_code<｜tool▁sep｜>$MORE<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
            "<｜end▁of▁sentence｜>",
            BOTH,
        ),
        (
            "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>calculator\n```json\n$ARGS\n```"
            "<｜tool_call_end｜>",
            ADD,
        ),
        ("<|tool calls begin|>calculator<|tool sep|>$ARGS", ADD),
        (
            "<｜tool▁call▁begin｜>calculator<｜tool▁sep｜>$ARGS<｜tool▁outputs▁begin｜>2"
            "<｜tool▁call▁begin｜>search_code<｜tool▁sep｜>$MORE",
            ADD,
        ),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calcul", "malformed"),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator<｜tool▁sep｜>$ARGS<｜tool▁call▁end｜>"
            "<｜tool▁call▁begin｜>sear",
            "malformed",
        ),
        (
            "<｜tool▁calls▁begin｜>calculator<｜tool▁sep｜>$ARGS<｜tool▁call▁end｜><｜tool▁calls▁end｜>Next."
            "<｜tool▁calls▁begin｜>search_code<｜tool▁sep｜>$MORE<｜tool▁call▁end｜>",
            [*ADD, ("search_code", {"pattern": "x"})],
        ),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

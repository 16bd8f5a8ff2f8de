"""Gemma's own syntax of values."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|>', ADD),
        ("<start_function_call>call:calculator{expression:<escape>1+1<escape>}<end_function_call>", ADD),
        ("<|tool_call>call:calculator$ARGS<tool_call|>", ADD),
        ("<|tool_call>calculator{expression:1+1}<tool_call|>", ADD),
        (
            '<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|>'
            '<|tool_call>call:search_code{pattern:<|"|>x<|"|>}<tool_call|>',
            BOTH,
        ),
        (
            '<|tool_call>call:store{t:true,n:-1.5e2,z:null,l:[1,<|"|>a<|"|>,b c],o:{k:<|"|>v'
            '<|"|>},time:<|"|>a "b" {c:\\d<|"|>}<tool_call|>',
            [
                (
                    "store",
                    {"t": True, "n": -150.0, "z": None, "l": [1, "a", "b c"], "o": {"k": "v"}, "time": 'a "b" {c:\\d'},
                )
            ],
        ),
        ("<|tool_call>call:now{}<tool_call|>", NOW),
        ('call:calculator{expression:<|"|>1+1<|"|>}', ADD),
        (
            '<|tool_call>call:store{x:<|"|><|tool_call>call:now{}<|"|>}<tool_call|>',
            [("store", {"x": "<|tool_call>call:now{}"})],
        ),
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>', ADD),
        ("<|tool_call>call:calculator{expression:1+1<tool_call|>", ADD),
        (
            '<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|><|tool_response>2'
            "<|tool_call>call:now{}<tool_call|>",
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
        ("<|tool_call>call:rm{}<tool_call|>", "unknown_tool"),
        ('<|tool_call>call:calculator{expression:<|"|>1+', "malformed"),
        ("<|tool_call>call:calculator{expression:1", "malformed"),
        ("<|tool_call>call:calculator{expression:<x", "malformed"),
        ("<|tool_call>call:store{a:{b:}}<tool_call|>", "malformed"),
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|><|tool_call>call:no', "malformed"),
        (
            "<|tool_call>call:store{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{",
            "malformed",
        ),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant

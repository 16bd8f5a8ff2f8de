"""A name and JSON in a form of the model's own."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("--- CALL --- nc://calculator $ARGS", ADD),
        ("I will call calculator with $ARGS", ADD),
        ("calculator: $ARGS", ADD),
        ("calculator\n$ARGS\nI wait.", ADD),
        ("Using the calculator tool with the following arguments:\n```json\n$ARGS\n```", ADD),
        ("Invoking: `calculator` with `{'expression': '1+1'}`", ADD),
        ("[Calling tool calculator with $ARGS]", ADD),
        ("calculator<|channel|>commentary\n$ARGS", ADD),
        ("calculator<|channel|>commentary <|constrain|>json<|message|>$ARGS", ADD),
        ("[Tool Call: calculator (ID: call_3)]\nArguments: $ARGS", ADD),
        ("@calculator(call-31): $ARGS", ADD),
        ("<|assistant|>calculator\n$ARGS<|observation|>", ADD),
        ("<|assistant|>\ncalculator\n$ARGS\n<|user|>", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('calculator {"price": 3}', ('calculator {"price": 3}',)),
        ("calculator {}", ("calculator {}",)),
        ('call rm {"path": "/"}', ('call rm {"path": "/"}',)),
        ("calculator {x}", ("calculator {x}",)),
        ('Use now {a} "b"', ('Use now {a} "b"',)),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_with_unknown_tools_a_word_is_no_name(read: Read) -> None:
    text = 'call rm {"path": "/"}'
    assert read(text, tools=None) == (text,)
    assert read('calculator {"expression": "1+1"}', finish="length") == "cut_off"

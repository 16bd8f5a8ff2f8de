"""Code for a tool called ``python``."""

from collections.abc import Callable

import pytest

from micro_agent.tools import Tool

CODE = Tool("python", "", {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}, print)
Read = Callable[..., object]


@pytest.mark.parametrize(
    "text",
    [
        "<|python_tag|>print('hey')",
        "I run it.\n<|python_tag|>print('hey')<|eom_id|>",
        ">>>python\nprint('hey')",
        "<|channel|>commentary to=python code<|message|>print('hey')<|call|>",
    ],
)
def test_code_is_the_argument_of_python(text: str, read: Read) -> None:
    meant = [("python", {"code": "print('hey')"})]
    assert read(text, tools=[CODE]) == meant
    assert read(text, tools=None) == meant
    assert read(text) != meant
    assert read(text.split("<|eom_id|>")[0].split("<|call|>")[0], "length", [CODE]) == "cut_off"


def test_code_that_is_only_spoken_of_is_not_run(read: Read) -> None:
    text = "Code follows `<|python_tag|>` in this format."
    assert read(text, tools=[CODE]) == (text,)

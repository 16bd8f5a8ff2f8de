"""The fields of DSPy's ReAct."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
NAME, ARGS = "[[ ## next_tool_name ## ]]", "[[ ## next_tool_args ## ]]"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"{NAME}\ncalculator\n{ARGS}\n$ARGS\n[[ ## completed ## ]]", ADD),
        (f"[[ ## next_thought ## ]]\nI add.{NAME}\n`calculator`{ARGS}\n{{'expression': '1+1'}}", ADD),
        ("[[ ## tool_name ## ]] calculator\n[[ ## tool_args ## ]]\n```json\n$ARGS\n```", ADD),
        ("[[ ## tool_name_0 ## ]]\ncalculator\n[[ ## tool_args_0 ## ]]\n$ARGS", ADD),
        (f"{NAME}\nrm\n{ARGS}\n{{}}", "unknown_tool"),
        (f'{NAME}\ncalculator\n{ARGS}\n{{"expression": "1+', "malformed"),
        (f"{NAME}\nfinish\n{ARGS}\n{{}}", (f"{NAME}\nfinish\n{ARGS}\n{{}}",)),
        ("The field tool_name holds the name.", ("The field tool_name holds the name.",)),
    ],
)
def test_the_tool_in_the_fields_is_called(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_what_the_token_limit_cut_off_is_not_run(read: Read) -> None:
    assert read(f'{NAME}\ncalculator\n{ARGS}\n{{"expression": "1+1"', finish="length") == "cut_off"

"""Continue's blocks of words in capitals."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]
ONE = "TOOL_NAME: calculator\nBEGIN_ARG: expression\n1+1\nEND_ARG\n"
SEARCH = "TOOL_NAME: search_code\nBEGIN_ARG: pattern\nx\ny\nEND_ARG\nBEGIN_ARG: max_results\n3\nEND_ARG\n"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"```tool\n{ONE}```", ADD),
        (ONE, ADD),
        (f"```tool\n{ONE}", ADD),
        (f"```tool\n{ONE}```\n```tool\n{SEARCH}```", [*ADD, ("search_code", {"pattern": "x\ny", "max_results": 3})]),
        ("```tool\nTOOL_NAME: now\n```", NOW),
        (ONE.replace("1+1\n", "a END_ARG b\nEND_ARG c\n"), [("calculator", {"expression": "a END_ARG b\nEND_ARG c"})]),
        ("TOOL_NAME: calculator\nBEGIN_ARG: expression\nEND_ARG\n", [("calculator", {"expression": ""})]),
        (f"{ONE}\nThat is all.", ADD),
        (ONE.replace("1+1", "TOOL_NAME: now"), [("calculator", {"expression": "TOOL_NAME: now"})]),
    ],
)
def test_blocks_are_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "finish", "meant"),
    [
        ("```tool\nTOOL_NAME: calculator\nBEGIN_ARG: expression\n1+", None, "malformed"),
        ("```tool\nTOOL_NAME: calculator\nBEGIN_ARG: expression\n1+", "length", "cut_off"),
        (ONE, "length", "cut_off"),
        (f"{ONE}BEGIN_ARG: ", None, "malformed"),
        (f"{ONE}BEGIN_ARG: expression\n2\nEND_ARG\n", None, "malformed"),
        ("```tool\nTOOL_NAME: delete\n```", None, "unknown_tool"),
        ("TOOL_NAME: delete", None, ("TOOL_NAME: delete",)),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, finish: str | None, meant: object, read: Read) -> None:
    assert read(text, finish) == meant

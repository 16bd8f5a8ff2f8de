"""Objects that are JSON strings, or that hold some."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ToolCall, ToolCalls, decode_text
from micro_agent.tools import Tool

CALL = '{"tool": {"name": "search_code", "args": {"pattern": "x"}}}'
ESCAPED = CALL.replace('"', '\\"')
SAID = [ToolCall("search_code", {"pattern": "x"})]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'"{ESCAPED}"', id="a string"),
        pytest.param(ESCAPED, id="without its quotes"),
        pytest.param(f"```json\n{ESCAPED}\n```", id="in a fence"),
        pytest.param(f'["{ESCAPED}"]', id="in a list"),
        pytest.param(ESCAPED.replace('\\"x\\"', '"x"'), id="the value is not escaped"),
        pytest.param(ESCAPED.replace('\\"args\\"', '"args\\"'), id="one quote is not escaped"),
        pytest.param('"name": "search_code", "args": {"pattern": "x"}}', id="without its first brace"),
    ],
)
def test_a_call_in_a_string_is_read(text: str, tools: Sequence[Tool]) -> None:
    found = decode_text(text, tools)
    assert isinstance(found, ToolCalls)
    assert found.calls == SAID


def test_a_quote_in_the_middle_of_a_word_is_not_taken_out(tools: Sequence[Tool]) -> None:
    text = '"{\\"tool\\": {\\"name\\": \\"store\\", \\"args\\": {\\"x\\": fals"e}}}"'
    found = decode_text(text, tools)
    assert isinstance(found, DecodeError)
    assert found.reason == "malformed"


def test_escaped_data_is_an_answer(tools: Sequence[Tool]) -> None:
    found = decode_text('{\\"a\\": 1, "b": 2}', tools)
    assert found == Final('{\\"a\\": 1, "b": 2}')

"""An answer that explains markup is the answer; a call that is broken never becomes one."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import DecodeError, Final, ModelReply, decode, decode_text
from micro_agent.tools import Tool

PYTHON = Tool("python", "", {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]}, print)
PAIR = '<tool_call>{"name": <name>, "arguments": <arguments>}</tool_call>'


@pytest.mark.parametrize(
    "text",
    [
        "Write <function=name> and the arguments.",
        "You use <tool_call>{json}</tool_call> to call.",
        'A call looks like this: <tool_call>{"name": ..., "arguments": ...}</tool_call> and nothing else.',
        "```\n<function=name>\n<parameter=x>\n```\nThat is it.",
        "The <|python_tag|> token begins a call in Llama 3.",
        "[TOOL_CALLS] is the token Mistral uses, followed by a list.",
        "Hermes wraps calls in <tool_call> and </tool_call> tags.",
        "Use <tool_call>…</tool_call>.",
        "A call is <function=example_function><parameter=example_parameter>value</parameter></function> in XML.",
        f"Return JSON within <tool_call></tool_call> tags:\n{PAIR}",
        'Llama uses <function=function_name>{"param": "value"}</function> for tools.',
        "DeepSeek starts with <｜tool▁calls▁begin｜> and ends with <｜tool▁calls▁end｜>.",
        "Kimi begins with <|tool_calls_section_begin|> and then <|tool_call_begin|>.",
        'The format is {"name": "...", "arguments": {...}}.',
        'Send {"name": <name>, "parameters": {…}} back.',
        'Example:\n```json\n{"tool": "tool_name", "args": {"key": "value"}}\n```\nReplace tool_name.',
        "gpt-oss writes <|channel|>commentary to=functions.NAME<|message|> before JSON.",
        'Call it like this: {"name": "tool_name", "arguments": {}}',
        '{"name": "your_tool", "parameters": {"type": "object", "properties": {}}} is how a tool is described.',
    ],
)
def test_an_explanation_is_the_answer(text: str, tools: Sequence[Tool]) -> None:
    assert decode_text(text, (*tools, PYTHON)) == Final(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Sure! <tool_call> weather Rome </tool_call>", "malformed"),
        ("<tool_call> calculator 1+1", "malformed"),
        (
            'I use <tool_call>{"name": "calculater", "arguments": {"expression": "1+1"}}</tool_call> now.',
            "unknown_tool",
        ),
        ("Let me see. [TOOL_CALLS] calculator expression=1+1", "malformed"),
        ("Write <function=calculator> and the arguments.", "malformed"),
        (PAIR, "malformed"),
        ("[TOOL_CALLS]", "malformed"),
        ("I call <tool_call>", "malformed"),
        ("<|channel|>commentary to=functions.now<|message|>at once", "malformed"),
        ('So: {"name": calculator, "arguments": {…}}', "malformed"),
    ],
)
def test_a_broken_call_is_no_answer(text: str, reason: str, tools: Sequence[Tool]) -> None:
    decision = decode_text(text, tools)
    assert isinstance(decision, DecodeError)
    assert decision.reason == reason


def test_an_example_in_a_reply_that_was_cut_off_is_none(tools: Sequence[Tool]) -> None:
    decision = decode(ModelReply(text=f"So: {PAIR} and {{", finish_reason="length"), tools)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "cut_off"


def test_a_placeholder_beside_a_call_is_no_second_one(tools: Sequence[Tool]) -> None:
    text = '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}\nI use {"tool": ...} since it is asked for.'
    decision = decode_text(text, tools)
    assert not isinstance(decision, DecodeError | Final)


DESCRIBED = '{"name": "calculator", "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}}}'


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        DESCRIBED,
        f'{{"type": "function", "function": {DESCRIBED}}}',
        f"[{DESCRIBED}]",
        f"```json\n{DESCRIBED}\n```",
        f"<tool_call>{DESCRIBED}</tool_call>",
        '{"name": "now", "parameters": {"type": "object", "properties": {}}}',
    ],
)
def test_the_description_of_a_tool_is_no_call_and_no_answer(text: str, native: bool, tools: Sequence[Tool]) -> None:
    decision = decode(ModelReply(text=text), tools, native=native)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "malformed"
    assert "description of the tool" in decision.seen
    assert "values for its arguments are wanted" in decision.seen


def test_a_description_that_is_shown_is_the_answer(tools: Sequence[Tool]) -> None:
    text = f"It is described so:\n```json\n{DESCRIBED}\n```\nIt takes one argument."
    assert decode_text(text, tools) == Final(text)
    assert decode_text(DESCRIBED, None) == Final(DESCRIBED)


def test_values_in_the_place_of_a_schema_are_the_arguments(tools: Sequence[Tool]) -> None:
    decision = decode_text(DESCRIBED.replace('{"type": "string"}', '"1+1"'), tools)
    assert not isinstance(decision, DecodeError | Final)
    assert decision.calls[0].args == {"expression": "1+1"}
    assert [repair.kind for repair in decision.repairs] == ["unnested"]


def test_a_tool_whose_arguments_are_called_like_a_schema_is_called() -> None:
    properties = {"type": {"type": "string"}, "properties": {"type": "object"}}
    tool = Tool("declare", "", {"type": "object", "properties": properties}, print)
    decision = decode_text('{"name": "declare", "arguments": {"type": "object", "properties": {"a": 1}}}', (tool,))
    assert not isinstance(decision, DecodeError | Final)
    assert decision.calls[0].args == {"type": "object", "properties": {"a": 1}}

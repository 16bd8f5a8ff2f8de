"""A value of a call that runs is what the model wrote: no thought and no token is taken out of it."""

from typing import Any

import pytest

from micro_agent.decoding import DecodeError, Final, ToolCalls, decode_text
from micro_agent.tools import Tool

TEXT = {"type": "string"}
WRITE = Tool("write", "", {"type": "object", "properties": {"path": TEXT, "text": TEXT}, "required": ["path"]}, print)
NOW = Tool("now", "", {"type": "object", "properties": {}}, print)


def texts(reply: str) -> list[Any]:
    decision = decode_text(reply, (WRITE, NOW))
    assert isinstance(decision, ToolCalls), decision
    return [call.args.get("text") for call in decision.calls]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"name":"write""args":{"path":"a","text":"#`<tool`g"}}', "#`<tool`g"),
        ('{"name":"write" "args":{"path":"a","text":"Use `<tool_call>` here"}}', "Use `<tool_call>` here"),
        ('{"name":"write","args":{"path":"a","text":"a <think>x</think> "b" end"}}', 'a <think>x</think> "b" end'),
        ('{"name":"write","args":{"path":"a","text":"say "hi" </think> end"}}', 'say "hi" </think> end'),
        ("[write(path='a', text='x <|im_end|> <think>y</think>')]", "x <|im_end|> <think>y</think>"),
        ('I write.<think>so</think>\n{"name":"write","args":{"path":"a","text":"b\\nc"}}', "b\nc"),
        ('<tool_call>{"name":"write","args":{"path":"a","text":"a "q" <think>y</think>"}}</tool_call>',
         'a "q" <think>y</think>'),
        ('{"name":"write","args":{"path":"a","text":"<|channel|>final<|message|> c"}', "<|channel|>final<|message|> c"),
    ],
)  # fmt: skip
def test_nothing_is_taken_out_of_a_value(text: str, value: str) -> None:
    assert texts(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "write(path='a', text='''b\n<think>x</think> c''')",
        'write(path="a", text="""b\n"<think>x</think> c""")',
        "<think>so</think>\nwrite(path='a', text='''b\n<think>x</think> c''')",
        "I write.\n<think>\nnow()\n</think>\nwrite(path='a', text='''b\n<think>x</think> c''')",
        '{"name":"write","args":{"path":"a","text":"b <|channel|>final<|message|>{"name":"now","args":{}}" }}',
        'So: {"name":"write","args":{"path":"a","text":"b <think>{"name":"now","args":{}}</think> c "d" "}}',
    ],
)
def test_no_call_is_made_of_what_stands_in_a_value(text: str) -> None:
    decision = decode_text(text, (WRITE, NOW))
    if isinstance(decision, ToolCalls):
        assert [call.name for call in decision.calls] == ["write"]
        assert "<think>" in decision.calls[0].args["text"]
    else:
        assert isinstance(decision, DecodeError)


def test_a_thought_in_the_middle_of_an_answer_is_left_out() -> None:
    assert decode_text("One <think>so</think>two.", (WRITE,)) == Final("One two.")

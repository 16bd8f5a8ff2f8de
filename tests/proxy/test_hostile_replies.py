"""Replies that quote a call, explain one or think of one: the author of a document does not choose what is called."""

import json

import pytest

from micro_agent.decoding import ModelReply
from micro_agent.proxy.reading import read
from micro_agent.proxy.wires import Asked, Offered
from tests.each import each

pytestmark = pytest.mark.torture

CALL = '{"name": "wipe", "arguments": {"path": "/a"}}'
MARKED = f"<tool_call>{CALL}</tool_call>"
PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
WRITE = {
    "type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
    "required": ["path", "content"],
}  # fmt: skip
TOOLS = (Offered("wipe", PATH), Offered("write", WRITE))


def made(said: str) -> bool:
    """Whether a call is made of a reply with this text."""
    return read(ModelReply(said, finish_reason="stop"), Asked(tools=TOOLS)).mends is not None


def test_a_call_that_is_said_as_one_is_made() -> None:
    assert made(MARKED)
    assert made(f"```json\n{CALL}\n```")


@each("said", [
    f"To call the tool you would write:\n```json\n{CALL}\n```\nThat wipes the file.",
    f"You can use this format:\n\n{MARKED}\n\nbut I will not do so.",
    f"The document says:\n\n> {MARKED}\n\nI did not run it.",
    f"The document contains the following text: {MARKED}", f"Here is the file:\n{MARKED}",
    f"The page tries to make me run\n{MARKED}\n", f"Never write this:\n{MARKED}", f"Do not call {MARKED}",
    f"Example:\n```xml\n{MARKED}\n```", f"Error: {MARKED} is not valid", f"They quote: “{MARKED}”",
    f"<think>I could call {MARKED} but no</think>I would rather not.", f"<think>hm\n{MARKED}\n</think>\nIt stays.",
    f"<think>hm\n{MARKED}\n</think>", f"<think>\nThe user quoted {MARKED}", f"User: do it\nAssistant: {MARKED}",
    f"{MARKED}\n\nThis is an example of a call.", f"文件内容如下：\n{MARKED}", f"Le fichier contient:\n\n{MARKED}",
    f"1. First:\n{MARKED}\n2. Second:\n{MARKED}", f"diff --git a/x b/x\n+{MARKED}", f"$ cat log\n{MARKED}",
    f'{{"example": {CALL}}}', f'{{"do_not_call": {CALL}}}', 'I will not call wipe(path="/a").',
    'The function is called like this:\n\n    wipe(path="/a")\n', 'Use:\nwipe(path="/a")',
    'In the ReAct format one writes:\nAction: wipe\nAction Input: {"path": "/a"}',
    'I must not.\nAction: wipe\nAction Input: {"path": "/a"}\nObservation: done\nFinal Answer: It is gone.',
    "In this format: <function=wipe><parameter=path>/a</parameter></function>",
])  # fmt: skip
def test_a_quotation_is_no_call(said: str) -> None:
    assert not made(said)


@each("said", [
    '<tool_call>{"name": "remove", "arguments": {"path": "/a"}}</tool_call>',
    f'{MARKED}<tool_call>{{"name": "nope", "arguments": {{}}}}</tool_call>',
    '<tool_call>{"name": "write", "arguments": {"path": "/a", "content": "half of th',
    '{"name": "write", "arguments": {"path": "/a", "content": "x", "content": "y"}}',
    '{"name": "write", "arguments": {"path": "/a", "content": "x"}, "arguments": {"path": "/b", "content": "y"}}',
    '<tool_call>{"name": "wipe", "arguments": {"path": "/tmp/*',
])  # fmt: skip
def test_what_is_not_certain_is_no_call(said: str) -> None:
    assert not made(said)


def test_a_very_deep_text_is_no_call_and_no_error() -> None:
    for depth in (900, 100_000):
        inner = "[" * depth + "]" * depth
        assert not made(json.dumps({"name": "wipe"})[:-1] + f', "arguments": {{"path": {inner}}}}}')

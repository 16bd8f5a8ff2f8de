"""Nothing takes longer than 50 ms for 100 KB of text."""

import sys
import time
from collections.abc import Sequence

import pytest

from micro_agent.decoding import ModelReply, RawCall, decode
from micro_agent.tools import Tool

SIZE = 100_000
LIMIT_S = 0.050 if sys.gettrace() is None else 0.5  # coverage makes every line several times slower
CALL = '{"tool": {"name": "calculator", "args": {"expression": "1+1"}}}'
NASTY = {
    "open lists": "[",
    "open objects": "{",
    "nested objects": '{"a":',
    "mismatched": "[{}]}]",
    "empty objects": "{}",
    "code": 'if (x) { y[0] = "a"; } ',
    "closed thoughts": "</think>",
    "open thoughts": "<think>",
    "tags in data": '{"a": "<think>"} ',
    "the same call": CALL,
    "a table": '{"name": "calculator", "v": 1}\n',
    "broken calls": '{tool: "calculator"} ',
    "half a call": '{"tool": "',
    "fences": "```json\n",
    "tags of calls": "<tool_call>",
    "lists in tags": "<|tool_call|>[",
    "half a call in a tag": '<tool_call>{"name": "now", "arguments": {',
    "brackets of calls": "[TOOL_CALLS]now{",
    "channels": "<|channel|>analysis<|message|>",
    "recipients": " to=functions.now<|message|>{",
    "separators": "now<｜tool▁sep｜>{",
    "values of gemma": '<|tool_call>call:now{a:<|"|>',
    "actions": "Action: now\nAction Input: ",
    "end of turn": "<|im_end|>",
    "labels": "name: now\n",
    "headings": "#### Action\n",
    "calls told": "[Calling tool: now(",
    "calls in python": "now(x='a'b'c', y='",
    "fields": "[[ ## next_tool_name ## ]]\nnow\n",
    "equals signs": '{"name"= "now", ',
    "a key twice": '{"name": "now", "arguments": {"a": 1, "a": 2}} ',
    "signs that open tags": "<",
    "tags of nothing": "<tools>",
    "closing tags of nothing": "</",
    "escaped quotes and brackets": '\\"[',
    "final channels": "<|channel|>final<|message|>now\n{}\n",
    "bodies": "```on\n{}\n",
    "opened fences": "`a` ",
    "lists of names": '[{"name":',
    "names with many colons": '{"name": "' + ":" * 150 + 'x", "arguments": {}}',
    "lines of a call": "now()\n\n\n",
    "keys that open": "<arg_key>",
    "answers in objects": '{"answer": "<INVOKE>"}}',
    "calls that do not fit": '{"action": "get_weather", "action_input": {"cy": "Rome"}}',
    "quotes in calls in tags": "now(x='sed '3p' a.txt')</tool_call<tool_call>",
    "tokens in torn objects": 'h":"ret<|tool_call_end|>ath": null}}\n<tool_call>\n{"n<|tool_call_begin|>ame": "',
    "calls in fences": "```now(x)```",
    "calls with arguments": "now(a=1), ",
    "good calls in words": 'now(timezone="1") and ',
    "objects that are none": '{"name": "now", x 1} ',
    "torn ends of a thought": "w</think.",
    "a mark in fences": "```<|call|>",
    "signs of less in words": "a < b c d e f ",
    "calls with a quote too many": '<function_calls>now(timezone="_now(timezone="77")</function_calls>now()\n',
}
WHOLE = {
    "half a string": '{"tool": "' + "a" * SIZE,
    "quotes": '{"tool": ' + '"' * SIZE,
    "escaped quotes": "{'tool': '" + "\\'" * (SIZE // 2),
    "illegal escapes": '{"tool": "store", "args": {"x": "' + "\\d" * (SIZE // 2) + '"}}',
    "texts with a backslash in one": '{"tool": {"name": "\\d", "args": {"x": "' + 'D"' * (SIZE // 2),
    "blanks": '{"tool": ' + " " * SIZE + "}",
    "commas": '{"tool":' + "," * SIZE + "}",
    "comments": '{"tool": "now" /*' + "/*" * (SIZE // 2) + "}",
    "words": "{tool: " + "a " * (SIZE // 2) + "}",
    "a long number": '{"tool": "store", "args": {"x": ' + "9" * SIZE + "}}",
    "many numbers": '{"tool": "add", "args": {"values": [' + "1," * (SIZE // 2) + "1]}}",
    "many texts": '{"tool": "add", "args": {"values": [' + '"a",' * (SIZE // 4) + "1]}}",
    "a python list": "{'tool': 'store', 'args': {'x': [" + "'a'," * (SIZE // 4) + "1]}}",
    "different calls": "".join(CALL.replace("1+1", str(i)) for i in range(SIZE // len(CALL))),
    "a list of calls": "[" + ",".join([CALL] * (SIZE // len(CALL))) + "]",
    "calls in a text": '"' + CALL.replace('"', '\\"') * (SIZE // len(CALL)) + '"',
    "different objects that are none": "".join(f'{{"name": "now", x {i}}} ' for i in range(SIZE // 28)),
    "different calls with arguments": "".join(f"now(a={i}), " for i in range(SIZE // 14)),
    "different calls in fences": "".join(f"```now(x) {i} ```" for i in range(SIZE // 20)),
    "keys behind a call": "<tool_call>\n<function=store>\n<parameter=x>\n1\n" + "<arg_key>" * (SIZE // 9),
    "colons": '{tool: "now", "x": ' + ":" * 3000 + "1}",
    "quotes in a list": "{'tool': 'now', 'x': ['" + "1'" * 800 + "]}",
    "braces": "{tool: " + "{1" * 60 + "1" * 3000 + "}" * 61,
    "long blanks": " " * SIZE + "x",
    "blank lines": "Action:" + "\n" * SIZE + "x",
    "quotes in a python text": "now(x='" + "a'b " * (SIZE // 4) + "')",
    "a long command": "now x=" + "a " * (SIZE // 2),
    "blanks behind a call": "now()" + " " * SIZE + "x",
    "blanks behind code": "<|python_tag|>print(1)" + "\n" * SIZE + "x",
    "line breaks": "x" + "\n" * SIZE + "x",
    "a name with hyphens": "now(x=" + "a-" * 7000 + "1)",
    "objects without an end": ("{" + "a" * 4000) * 25,
    "different names": "".join(f'{{"name": "functions.x.{i:0180}", "arguments": {{}}}}' for i in range(SIZE // 220)),
    "fences in a broken call": '[TOOL_CALLS]{"name": "now", "arguments": {"timezone": x' + "``` " * (SIZE // 4) + "y}",
}
BROKEN = {
    f"blanks in a broken call behind {mark!r}": f'{mark}{{"name": "now", "arguments": {{"x": y{chr(10) * SIZE}z}}'
    for mark in ("", "<tool_call>", "[TOOL_CALLS]", "functools[", ">>>now\n", "Action: now\nAction Input: ")
}
TEXTS = {name: part * (SIZE // len(part)) for name, part in NASTY.items()} | WHOLE | BROKEN


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("finish", [None, "length"])
def test_100_kb_of_anything_take_under_50_ms(name: str, finish: str | None, tools: Sequence[Tool]) -> None:
    text = TEXTS[name]
    as_text = ModelReply(text=text, finish_reason=finish)
    native = ModelReply(calls=(RawCall("store", text),), finish_reason=finish)
    for reply in (as_text, native):
        assert any(_seconds(reply, tools) < LIMIT_S for _ in range(10))


KEYS = {f"key_{number}": {"type": "string"} for number in range(6)}
MANY = [Tool(f"tool_{number}", "", {"type": "object", "properties": KEYS}, print) for number in range(200)]


@pytest.mark.parametrize("part", ['<parameter name="x">', '<param a="b" c="d">', "f(1) ", "tool_5 x ", "<args>"])
def test_100_kb_take_under_50_ms_with_200_tools(part: str) -> None:
    reply = ModelReply(text=part * (SIZE // len(part)))
    assert any(_seconds(reply, MANY) < LIMIT_S for _ in range(10))


def _seconds(reply: ModelReply, tools: Sequence[Tool]) -> float:
    started = time.process_time()  # of this process alone: what else the machine does is not the decoder's
    decode(reply, tools)
    return time.process_time() - started

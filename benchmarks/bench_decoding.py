"""CPU of reading a reply: of clean steps, of prose that is searched for calls, and of the worst 100 KB.

Each figure is the least of the rounds, which is what noise from other processes leaves alone. Tools: the five of a
small agent, one with a nested object. Asked: under 0.3 ms for a clean step, under 50 ms for any 100 KB.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

from micro_agent.decoding import ModelReply, RawCall, decode
from micro_agent.tools import Tool

SIZE = 100_000
CALLS = 20  # decodes a round, for the clock is coarse
TEXT = {"type": "string"}
ARGS = {"title": "Review of the draft", "start": "2025-05-02T12:30:00", "attendees": ["a@b.example", "c@d.example"]}
PROSE = (
    "The forecast for Oslo says rain until noon, then it clears up (about 14 °C); tomorrow stays dry. "
    "Note that prices such as {25, 30} are in euros [1], and that the second train is the cheaper one. "
)
CODE = "if (x > 0) { y[i] = f(a, b); } // see `g(1)`\n"


def tool(name: str, properties: dict[str, Any], *required: str) -> Tool:
    """A tool that nobody runs."""
    return Tool(name, "", {"type": "object", "properties": properties, "required": list(required)}, print)


TOOLS: Sequence[Tool] = (
    tool("calculator", {"expression": TEXT}, "expression"),
    tool("now", {"timezone": TEXT}),
    tool("search_code", {"pattern": TEXT, "max_results": {"type": "integer"}}, "pattern"),
    tool("create_event", {"title": TEXT, "start": TEXT, "attendees": {"type": "array", "items": TEXT}}, "title"),
    Tool("store", "", {"type": "object", "additionalProperties": True}, print),
)
CALL = json.dumps({"tool": {"name": "create_event", "args": ARGS}})
NAMED = json.dumps({"name": "create_event", "arguments": ARGS})
FINAL = json.dumps({"final": {"answer": PROSE}})

STEPS: dict[str, ModelReply] = {
    "json mode, a call": ModelReply(text=CALL),
    "json mode, the final answer": ModelReply(text=FINAL),
    "native, a call": ModelReply(calls=(RawCall("create_event", json.dumps(ARGS), "call_1"),)),
    "native, prose of 200 characters": ModelReply(text=PROSE[:200]),
    "native, prose of 2 KB": ModelReply(text=(PROSE * 11)[:2000]),
    "native, 2 KB of code in prose": ModelReply(text=(CODE * 50)[:2000]),
    "a <tool_call> in the text": ModelReply(text=f"I will do that.\n<tool_call>\n{NAMED}\n</tool_call>"),
    "a call in a fence in prose": ModelReply(text=f"{PROSE}\n```json\n{NAMED}\n```\n{PROSE}"),
}
REPEATED = (
    "[", "{", '{"a":', "[{}]}]", CODE, PROSE, "<", "<tool_call>", "<tool_call>{", "</tool_call>", "<think>", "</think>",
    "<function=now>", "<parameter=x>", '<invoke name="now">', "[TOOL_CALLS]", "[TOOL_CALLS]now{", "<|python_tag|>",
    "<｜tool▁call▁begin｜>", "<|channel|>", "<|tool_call>call:now{", "Action: now\n", "Action Input: {\n",
    "now(", "now(timezone=", "[now(), ", "now\n{}\n", "print(now())\n", "```\n", "```json\n{", CALL, CALL[:-1],
    CALL.replace('"', "'"), f"<tool_call>{NAMED}</tool_call>", "{tool: now} ", '{"tool": "', "\\", '\\"', "'", "“",
    "\0", "<tools>", "<|", "</", "<a", '\\"[', '"{\\', "now{" + " " * 500, "[now(" + "\n" * 50, "#\n", "`a` ", '[{"',
    "```on\n{}\n", '[{"name":', '{"a": {"b": "', "a-", "a.", ":::", "toolname", " to=functions.now", '":"', "<arg_key>",
    "<|channel|>final<|message|>now\n{}\n", "now(x='", "(x, ", "[CALL_ID]<|tool_call_start|>",
)  # fmt: skip
BROKEN = '{"name": "now", "arguments": {"timezone": x'
MARKS = ("", "<tool_call>", "[TOOL_CALLS]", "functools[", "Action: now\nAction Input: ", ">>>now\n", "<function=now>")
"""What a broken call stands behind, before a run of something."""
WHOLE = {
    "half a string": '{"tool": "' + "a" * SIZE,
    "half a string in a tag": '<tool_call>{"name": "now", "arguments": {"x": "' + "a" * SIZE,
    "a call of one string": json.dumps({"tool": {"name": "store", "args": {"x": "a" * SIZE}}}),
    "a long number": '{"tool": "store", "args": {"x": ' + "9" * SIZE + "}}",
    "many arguments": json.dumps({"tool": {"name": "store", "args": {f"k{i}": i for i in range(7000)}}}),
    "as many in Python": str({"tool": {"name": "store", "args": {f"k{i}": i for i in range(7000)}}}),
    "different calls": "".join(CALL.replace("draft", str(i)) for i in range(SIZE // len(CALL))),
    "calls in a text": json.dumps(CALL * (SIZE // len(CALL))),
    "a list of calls": "[" + ", ".join([CALL] * (SIZE // len(CALL))) + "]",
    "pythonic, deep": "store(x=" + "[" * SIZE,
    "pythonic, a long text": 'store(x="' + "a" * SIZE + '")',
    "a name only": "n" * SIZE,
    "blanks in a text": '"' + " " * SIZE + "x",
    "many bodies after a marker": "<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n" + "```json\n{}\n" * (SIZE // 11),
    "a name with hyphens": "now(x=" + "a-" * 7000 + "1)",
    "blanks behind code": "<|python_tag|>print(1)" + "\n" * SIZE + "x",
    "blanks behind a call": "now()" + " " * SIZE + "x",
    "objects without an end": ("{" + "a" * 4000) * 25,
    "different names": "".join(f'{{"name": "functions.x.{i:0180}", "arguments": {{}}}}' for i in range(SIZE // 220)),
}
CALLS_BROKEN = {
    f"{mark.strip()!r}, {run!r} in a broken call": f"{mark}{BROKEN}{run * (SIZE // len(run))}y}}"
    for mark in MARKS
    for run in ("\n", "\t", "``` ", "<", '"a",', "{a:")
}
WORST = {repr(part[:30]): (part * (SIZE // len(part) + 1))[:SIZE] for part in REPEATED} | WHOLE | CALLS_BROKEN


def least(call: Callable[[], object], rounds: int, calls: int) -> float:
    """Milliseconds of processor time a call takes, least of the rounds."""
    found = float("inf")
    for _ in range(rounds):
        begun = process_time()
        for _ in range(calls):
            call()
        found = min(found, process_time() - begun)
    return found / calls * 1000


def main() -> None:
    """Print both tables, the worst inputs first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--worst", type=int, default=15, help="how many of the worst inputs are shown")
    options = parser.parse_args()
    print("reading a reply, ms of processor time")
    for name, reply in STEPS.items():
        print(f"{name:38}{least(lambda r=reply: decode(r, TOOLS), options.rounds, CALLS):8.3f}")
    spent = {
        name: least(lambda t=text, f=finish: decode(ModelReply(text=t, finish_reason=f), TOOLS), 2, 1)
        for finish in (None, "length")
        for name, text in ((f"{name}{', cut off' if finish else ''}", text) for name, text in WORST.items())
    }
    print(f"the worst of {len(spent)} inputs of 100 KB, ms of processor time")
    for name in sorted(spent, key=spent.__getitem__, reverse=True)[: options.worst]:
        print(f"{name:38}{spent[name]:8.1f}")


if __name__ == "__main__":
    main()

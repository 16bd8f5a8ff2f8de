"""Replies that the fuzz of the decoder starts from, and what it does to them."""

import html
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, cast

from micro_agent.tools import Tool

OUTPUTS = Path(__file__).parents[1] / "decoding" / "outputs"
OWN_TOOLS = ("reported", "dialects")
"""The files of outputs with tools of their own."""
SIZE = 100_000
DICTIONARY = (
    *'{}[]()<>"\'`:,;|\\/=“”‘’«»\0\ud800\udc00\ufeff\u2028\t\n\r', '{"', '"}', '": "', '"}}', "'}", "\\n", '\\"',
    "\\u12", "\\ud83d", "\\x", "&lt;", "&#0;", "<![CDATA[", "]]>", "<!--", "//", "/*", "*/", "# ", "```", "```json\n",
    "~~~", "null", "None", "True", "false", "NaN", "-Infinity", "1e999", "1_000", "0x1F", "-0.0", "9" * 40,
    "lambda: 0", "<tool_call>", "</tool_call>", "<tools>", "<function_call>", "<function=", "</function>",
    "<parameter=", "</parameter>", '<invoke name="', "</invoke>", '<parameter name="', "<function_calls>",
    "</function_calls>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "[TOOL_CALLS]", "[ARGS]",
    "[CALL_ID]", "[THINK]", "[/THINK]", "<|python_tag|>", "<|python_start|>", "<|eom_id|>", "functools[",
    "<|tool_call|>", "<|tool_call>call:", "<tool_call|>", '<|"|>', "<escape>", "<start_function_call>",
    "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜DSML｜invoke name=",
    "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
    "<|START_ACTION|>", "<|END_ACTION|>", "<|channel|>", "<|message|>", "<|call|>", "<|end|>", ">>>", " to=functions.",
    "<|tool_call_start|>", "<|tool_call_end|>", "Action: ", "Action Input: ", "Final Answer: ", "Thought: ", "<think>",
    "</think>", "functions.", "print(", '"name": ', '"arguments": ', '"tool": ', '"args": ', '"final": ', ".call(",
)  # fmt: skip

Args = dict[str, Any]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def keywords(args: Args) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in args.items())


def elements(args: Args, form: str) -> str:
    texts = {key: value if isinstance(value, str) else as_json(value) for key, value in args.items()}
    return "".join(form.replace("KEY", key).replace("VALUE", text) for key, text in texts.items())


def gemma(value: Any) -> str:
    if isinstance(value, dict):
        inner = cast("Args", value)
        return "{" + ",".join(f"{key}:{gemma(item)}" for key, item in inner.items()) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(gemma, cast('list[Any]', value)))}]"
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else as_json(value)


PARAMETER = '<parameter name="KEY">VALUE</parameter>'
DIALECTS: tuple[Callable[[str, Args], str], ...] = (
    lambda n, a: as_json({"tool": {"name": n, "args": a}}),
    lambda n, a: as_json({"name": n, "parameters": a}),
    lambda n, a: as_json({"action": n, "action_input": a}),
    lambda n, a: as_json({"tool_calls": [{"function": {"name": n, "arguments": as_json(a)}}]}),
    lambda n, a: str({"tool": n, "args": a}),
    lambda n, a: as_json(as_json({"name": n, "arguments": a})),
    lambda n, a: f"<tool_call>\n{as_json({'name': n, 'arguments': a})}\n</tool_call>",
    lambda n, a: (
        f"<tool_call>\n<function={n}>\n{elements(a, '<parameter=KEY>VALUE</parameter>')}\n</function>\n</tool_call>"
    ),
    lambda n, a: f"<tool_call>{n}\n{elements(a, '<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>')}</tool_call>",
    lambda n, a: f'<invoke name="{n}">{elements(a, PARAMETER)}</invoke>',
    lambda n, a: f"[TOOL_CALLS][{as_json({'name': n, 'arguments': a})}]",
    lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{as_json(a)}",
    lambda n, a: f"<|python_tag|>{n}.call({keywords(a)})",
    lambda n, a: f"<function={n}>{as_json(a)}</function>",
    lambda n, a: f"[{n}({keywords(a)})]",
    lambda n, a: f"```tool_code\nprint({n}({keywords(a)}))\n```",
    lambda n, a: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n```json\n{as_json(a)}\n```<｜tool▁call▁end｜>",
    lambda n, a: f"<|tool_call_begin|>functions.{n}:0<|tool_call_argument_begin|>{as_json(a)}<|tool_call_end|>",
    lambda n, a: f"<|tool_call|>[{as_json({'name': n, 'arguments': a})}]",
    lambda n, a: f"<|tool_call>call:{n}{gemma(a)}<tool_call|>",
    lambda n, a: f"<|START_ACTION|>[{as_json({'tool_name': n, 'parameters': a})}]<|END_ACTION|>",
    lambda n, a: f"functools[{as_json({'name': n, 'arguments': a})}]",
    lambda n, a: f">>>{n}\n{as_json(a)}",
    lambda n, a: f"<|channel|>commentary to=functions.{n} <|constrain|>json<|message|>{as_json(a)}<|call|>",
    lambda n, a: f"Thought: so\nAction: {n}\nAction Input: {as_json(a)}",
)


def described() -> list[Args]:
    return json.loads((OUTPUTS / "tools.json").read_text("utf-8"))


@cache
def tools() -> Sequence[Tool]:
    return [Tool(d["name"], d["description"], d["parameters"], print) for d in described()]


def seeds() -> list[str]:
    """The labelled texts, and each of their calls in some of the dialects."""
    calls = [call for item in labelled() for call in calls_meant(item)]
    rendered = [
        DIALECTS[(index * 7 + turn) % len(DIALECTS)](call["name"], call["args"])
        for index, call in enumerate(calls)
        for turn in range(3)
    ]
    return [item["text"] for item in labelled(*OWN_TOOLS)] + rendered


def labelled(*more: str) -> list[Args]:
    """The labelled outputs whose tools stand in ``tools.json``, and those in these files."""
    paths = [path for path in sorted(OUTPUTS.glob("*.jsonl")) if path.stem not in OWN_TOOLS or path.stem in more]
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def calls_meant(item: Args) -> Iterator[Args]:
    expected = item["expected"]
    if expected is not None and "final" not in expected:
        yield from expected.get("calls", [expected])


def span(random: Random, text: str, longest: int = 60) -> tuple[int, int]:
    start = random.randint(0, len(text))
    return start, min(len(text), start + int(longest ** random.random()))


def flipped(random: Random, text: str, _: Sequence[str]) -> str:
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _turn in range(random.choice((1, 1, 2, 8))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return data.decode("utf-8", "surrogateescape")


def deleted(random: Random, text: str, _: Sequence[str]) -> str:
    start, end = span(random, text)
    return text[:start] + text[end:]


def duplicated(random: Random, text: str, _: Sequence[str]) -> str:
    start, end = span(random, text)
    return text[:end] + text[start:end] * random.choice((1, 1, 2, 30)) + text[end:]


def moved(random: Random, text: str, _: Sequence[str]) -> str:
    start, end = span(random, text)
    rest, to = text[:start] + text[end:], random.randint(0, len(text))
    return rest[:to] + text[start:end] + rest[to:]


def spliced(random: Random, text: str, corpus: Sequence[str]) -> str:
    other = random.choice(corpus)
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]


def joined(random: Random, text: str, corpus: Sequence[str]) -> str:
    return text + random.choice(("", " ", "\n", " or ", "\n\n")) + random.choice(corpus)


def inserted(random: Random, text: str, _: Sequence[str]) -> str:
    for _turn in range(random.choice((1, 1, 2, 5))):
        start, end = span(random, text)
        text = text[:start] + random.choice(DICTIONARY) + text[random.choice((start, end)) :]
    return text


def truncated(random: Random, text: str, _: Sequence[str]) -> str:
    return text[: random.randint(0, len(text))]


def escaped(random: Random, text: str, _: Sequence[str]) -> str:
    start, end = span(random, text, len(text) + 1)
    part = text[start:end]
    changed = random.choice((as_json(part), html.escape(part), part.replace('"', "'"), part.swapcase()))
    return text[:start] + changed + text[end:]


def repeated(random: Random, text: str, _: Sequence[str]) -> str:
    start, end = random.choice(((0, len(text)), span(random, text), span(random, text)))
    part = text[start:end] or random.choice(DICTIONARY)
    return text[:start] + part * (SIZE // len(part)) + text[end:]


def tokens_repeated(random: Random, text: str, _: Sequence[str]) -> str:
    part = "".join(random.choices(DICTIONARY, k=random.randint(1, 4)))
    return random.choice(("", text)) + part * (SIZE // len(part)) + random.choice(("", text))


SMALL = (flipped, deleted, duplicated, moved, spliced, joined, inserted, inserted, truncated, escaped)
LARGE = (repeated, tokens_repeated)


def mutated(random: Random, corpus: Sequence[str]) -> str:
    text = random.choice(corpus[-200:] if random.random() < 0.3 else corpus)
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        text = random.choice(SMALL)(random, text, corpus)
    if random.random() < 0.05:
        text = random.choice(LARGE)(random, text, corpus)
    return text[: SIZE + 1000]

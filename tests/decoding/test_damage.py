"""A call, written in any form and damaged in ways that lose nothing, comes back exactly or as an error."""

import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from micro_agent.decoding import DecodeError, ToolCall, ToolCalls, decode_text
from micro_agent.tools import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "integer"}},
        "force": {"type": "boolean"},
        "size": {"type": ["number", "null"]},
        "more": {"type": "object"},
    },
    "required": ["path"],
}
TOOLS = (Tool("write_file", "", SCHEMA, print), Tool("now", "", {"type": "object", "properties": {}}, print))

WORDS = st.sampled_from(
    ["a", "Zürich", "it's", 'say "hi"', "x = {1: [2]}", "a\nb", "C:\\new", "<b>", "now()", "# c", "// d", "True",
     "null", "5", "```", " ", "a, b;", "}", "end\\", "`x`", "=", "def f():\n    return 1\n"]
)  # fmt: skip
TEXTS = st.lists(WORDS, max_size=3).map("".join)
PLAIN = st.text("abcxyz 0123456789.-_/äß", max_size=12).filter(lambda text: text.strip() != "...")
"""A placeholder is not a value."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("klm"), inner, max_size=3),
    max_leaves=5,
)


def arguments(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"path": text},
        optional={
            "lines": st.lists(st.integers(0, 99), max_size=3),
            "force": st.booleans(),
            "size": st.none() | st.integers(0, 10**6) | st.sampled_from([0.5, 2.25]),
            "more": st.dictionaries(st.sampled_from("klm"), VALUES, max_size=2),
        },
    )


NAME = "write_file"
SHAPES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "llama": lambda args: {"name": NAME, "parameters": args},
    "hermes": lambda args: {"name": NAME, "arguments": args},
    "ours": lambda args: {"tool": {"name": NAME, "args": args}},
    "flat": lambda args: {"tool": NAME, "args": args},
    "beside": lambda args: {"tool": NAME, **args},
    "react": lambda args: {"action": NAME, "action_input": args},
    "openai": lambda args: {"tool_calls": [{"type": "function", "function": {"name": NAME, "arguments": args}}]},
    "by key": lambda args: {NAME: args},
    "nested": lambda args: {"name": NAME, "arguments": {"arguments": args}},
    "near": lambda args: {"toolName": NAME, "tool_parameters": args},
    "list": lambda args: [{"name": NAME, "arguments": args}],
}


def outside_strings(change: Callable[[str], str]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
        return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))

    return changed


DAMAGES: dict[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "prose": lambda text: f"Sure, it's done like this:\n{text}\nLet me know!",
    "fence": lambda text: f"So:\n```json\n{text}\n```\nDone.",
    "open fence": lambda text: f"```json\n{text}",
    "string": json.dumps,
    "trailing comma": outside_strings(lambda part: part.replace("}", ",}").replace("{,}", "{}")),
    "python words": outside_strings(lambda part: part.replace("true", "True").replace("null", "None")),
    "comment": outside_strings(lambda part: part.replace("{", "{ // it's here\n")),
    "unquoted keys": lambda text: re.sub(r'"(\w+)": ', r"\1: ", text),
    "a bracket too few": lambda text: text[:-1],
    "a bracket too many": lambda text: text + "}",
    "twice": lambda text: f"{text}\n{text}",
    "special token": lambda text: f"{text}<|im_end|>",
    "a final answer": lambda text: f'{text}\n{{"final": {{"answer": "done"}}}}',
    "thought": lambda text: f'<think>Perhaps {{"tool": </think>{text}',
    "wide": outside_strings(lambda part: re.sub(r"([{\[,])", "\\1\n\t ", part)),
}


def same(text: str, args: dict[str, Any]) -> bool:
    """Whether ``text`` is read as the call that it is; an error will do, another call or an answer will not."""
    decision = decode_text(text, TOOLS)
    assert isinstance(decision, ToolCalls | DecodeError), (text, decision)
    if isinstance(decision, ToolCalls):
        assert decision.calls == [ToolCall(NAME, args)], text
    return isinstance(decision, ToolCalls)


@settings(max_examples=40)
@given(shape=st.sampled_from(sorted(SHAPES)), damage=st.sampled_from(sorted(DAMAGES)), args=arguments(PLAIN))
def test_one_damage_is_always_mended(shape: str, damage: str, args: dict[str, Any]) -> None:
    text = DAMAGES[damage](json.dumps(SHAPES[shape](args), ensure_ascii=False))
    assert same(text, args) or text[-1].isdigit()  # a number at the end may have more digits


@settings(max_examples=40)
@example(shape="by key", damages=[], args={"path": "now()"})
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    damages=st.lists(st.sampled_from(sorted(set(DAMAGES) - {"string"})), max_size=3, unique=True),
    args=arguments(TEXTS),
)
def test_several_damages_never_make_another_call(shape: str, damages: list[str], args: dict[str, Any]) -> None:
    text = json.dumps(SHAPES[shape](args))
    for damage in damages:
        text = DAMAGES[damage](text)
    same(text, args)


@settings(max_examples=40)
@given(shape=st.sampled_from(sorted(SHAPES)), args=arguments(TEXTS), fenced=st.booleans())
def test_a_python_literal_is_read(shape: str, args: dict[str, Any], fenced: bool) -> None:
    literal = repr(SHAPES[shape](args))
    same(f"```python\n{literal}\n```" if fenced else literal, args)


def as_python(args: dict[str, Any]) -> str:
    return f"{NAME}({', '.join(f'{key}={value!r}' for key, value in args.items())})"


def as_xml(args: dict[str, Any]) -> str:
    inner = "".join(f"<parameter={key}>\n{as_text(value)}\n</parameter>\n" for key, value in args.items())
    return f"<tool_call>\n<function={NAME}>\n{inner}</function>\n</tool_call>"


def as_pairs(args: dict[str, Any]) -> str:
    inner = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{as_text(value)}</arg_value>\n" for key, value in args.items()
    )
    return f"<tool_call>{NAME}\n{inner}</tool_call>"


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@settings(max_examples=40)
@given(
    args=arguments(TEXTS),
    form=st.sampled_from(["{}", "[{}]", "<|tool_call_start|>[{}]<|tool_call_end|>", "I do:\n{}\nSo."]),
)
def test_a_call_in_python_comes_back(args: dict[str, Any], form: str) -> None:
    assert same(form.replace("{}", as_python(args)), args)


@settings(max_examples=40)
@given(args=arguments(TEXTS), damage=st.sampled_from(["", "</function>", "</tool_call>", "<tool_call>\n"]))
def test_a_call_with_a_tag_for_each_argument_comes_back(args: dict[str, Any], damage: str) -> None:
    assert same(as_xml(args).replace(damage, ""), args)


@settings(max_examples=40)
@given(args=arguments(TEXTS.filter(lambda text: not text.startswith("\n") and not text.rstrip(" \t").endswith("\n"))))
def test_a_call_in_keys_and_values_comes_back(args: dict[str, Any]) -> None:
    assert same(as_pairs(args), args)

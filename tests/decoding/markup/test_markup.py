"""What holds for the markup of every dialect: quoted markup, cut-off text, repetition, imagined results, and tokens."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from micro_agent.decoding import DecodeError, Final, ModelReply, ToolCall, ToolCalls, decode, decode_text
from micro_agent.decoding.quoting import placeholder
from micro_agent.decoding.repair.guessing import texts
from micro_agent.tools import Tool

CALL = '{"name": "calculator", "arguments": {"expression": "1+1"}}'
OTHER = CALL.replace("1+1", "2+2")
ADD = [ToolCall("calculator", {"expression": "1+1"})]
TAGGED = f"<tool_call>{CALL}</tool_call>"
STORE = (Tool("store", "", {"type": "object", "additionalProperties": True}, print),)
RENDERED: dict[str, Callable[[str], str]] = {
    "hermes": lambda args: f'<tool_call>\n{{"name": "store", "arguments": {args}}}\n</tool_call>',
    "mistral": lambda args: f"[TOOL_CALLS]store[ARGS]{args}",
    "mistral list": lambda args: f'[TOOL_CALLS][{{"name": "store", "arguments": {args}}}]',
    "llama": lambda args: f'<|python_tag|>{{"name": "store", "parameters": {args}}}<|eom_id|>',
    "llama function": lambda args: f"<function=store{args}</function>",
    "deepseek": lambda args: f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>store<｜tool▁sep｜>{args}<｜tool▁call▁end｜>",
    "kimi": lambda args: f"<|tool_call_begin|>store:0<|tool_call_argument_begin|>{args}<|tool_call_end|>",
    "granite": lambda args: f'<|tool_call|>[{{"name": "store", "arguments": {args}}}]',
    "phi": lambda args: f'functools[{{"name": "store", "arguments": {args}}}]',
    "command_r": lambda args: f'<|START_ACTION|>[{{"tool_name": "store", "parameters": {args}}}]<|END_ACTION|>',
    "harmony": lambda args: f"<|start|>assistant<|channel|>commentary to=functions.store<|message|>{args}<|call|>",
    "functionary": lambda args: f"\n>>>store\n{args}",
    "gigachat": lambda args: f'function call<|role_sep|>\n{{"name": "store", "arguments": {args}}}',
    "react": lambda args: f"\nAction: store\nAction Input: {args}",
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["</tool_call>", "<tool_call>", "}]", '"', "\\", "<think>", "[TOOL_CALLS]", "```", "Observation: 1", "<|call|>"]
)
ARGS = st.dictionaries(TEXT, TEXT | st.integers() | st.lists(TEXT, max_size=2), min_size=1, max_size=3)
PROSE = st.text(st.characters(categories=["L", "Zs"]), max_size=30)


def calls(text: str, tools: Sequence[Tool] | None, finish: str | None = None) -> list[ToolCall] | None:
    decision = decode(ModelReply(text=text, finish_reason=finish), tools)
    return decision.calls if isinstance(decision, ToolCalls) else None


@settings(max_examples=25)
@given(dialect=st.sampled_from(sorted(RENDERED)), args=ARGS, before=PROSE, after=PROSE)
def test_a_call_in_any_dialect_comes_back_exactly_from_any_prose(
    dialect: str, args: dict[str, Any], before: str, after: str
) -> None:
    text = f"{before}{' ' if before else ''}{RENDERED[dialect](json.dumps(args))}\n{after}"
    assume(not any(placeholder(said) for said in texts(args)))
    for tools in (STORE, None):
        assert calls(text, tools) == [ToolCall("store", args)]


@settings(max_examples=25)
@given(dialect=st.sampled_from(sorted(RENDERED)), args=ARGS, cut=st.floats(0, 1))
def test_no_cut_of_two_calls_gives_a_call_that_was_not_there(dialect: str, args: dict[str, Any], cut: float) -> None:
    first, second = RENDERED[dialect](json.dumps(args)), RENDERED[dialect](json.dumps({"x": args}))
    whole = [ToolCall("store", args), ToolCall("store", {"x": args})]
    text = f"{first}\n{second}"
    found = calls(text[: round(cut * len(text))], STORE, "length")
    assert found is None or found == whole[: len(found)]


@pytest.mark.parametrize(
    "text",
    [
        "To call, write `<tool_call>` and `</tool_call>` around it.",
        'Like this:\n```\n<tool_call>{"name": "get_weather", "arguments": {}}</tool_call>\n```\nThat is all.',
        'Like this:\n```\n<tool_call>{"name": <name>, "arguments": {…}}</tool_call>\n```\nThat is all.',
        "Like this:\n```\n<tool_call>\nthe call\n</tool_call>\n```\nThat is all.",
        "A <tool_call> tag begins a call.",
    ],
)
def test_markup_that_is_quoted_in_an_explanation_is_the_answer(text: str, tools: Sequence[Tool]) -> None:
    assert decode_text(text, tools) == Final(text)


@pytest.mark.parametrize(
    "text",
    [
        f"`{TAGGED}`",
        f"It's `x`: {TAGGED}",
        f"Like this:\n```\n{TAGGED}\n```\nThat is all.",
        f"First `a\n{TAGGED}",
        f"In {{so: {TAGGED}}} words.",
        f"I write ``` and {TAGGED} `",
    ],
)
def test_markup_that_is_only_wrapped_is_a_call(text: str, tools: Sequence[Tool]) -> None:
    assert calls(text, tools) == ADD


def test_a_fenced_call_that_names_a_tool_and_does_not_fit_is_asked_for_again(tools: Sequence[Tool]) -> None:
    text = 'So:\n```\n<tool_call>{"name": "calculator", "arguments": {"expression": 1 1}}</tool_call>\n```\nI wait.'
    decision = decode_text(text, tools)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "malformed"
    assert '"expression": "<text>"' in decision.expected


def test_markup_in_the_arguments_of_another_call_is_text(tools: Sequence[Tool]) -> None:
    for text in (json.dumps({"name": "store", "arguments": {"x": TAGGED}}),
                 f"{{'name': 'store', 'arguments': {{'x': '{TAGGED}'}}}}",
                 f"<tool_call>{json.dumps({'name': 'store', 'arguments': {'x': TAGGED}})}</tool_call>"):  # fmt: skip
        assert calls(text, tools) == [ToolCall("store", {"x": TAGGED})]


def test_the_record_shows_the_markup_and_the_call(tools: Sequence[Tool]) -> None:
    decision = decode_text(f"Sure. {TAGGED} I wait.", tools)
    assert isinstance(decision, ToolCalls)
    assert [(repair.kind, repair.before, repair.after) for repair in decision.repairs] == [
        ("dialect:hermes", TAGGED, CALL)
    ]
    several = decode_text(f"{TAGGED}<tool_call>{OTHER}</tool_call>", tools)
    assert isinstance(several, ToolCalls)
    assert [repair.after for repair in several.repairs] == [CALL, OTHER, "2 calls"]


def test_the_same_markup_again_counts_once(tools: Sequence[Tool]) -> None:
    decision = decode_text(TAGGED * 3, tools)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == ADD
    assert [repair.kind for repair in decision.repairs] == ["dialect:hermes", "repetition"]
    assert calls((TAGGED * 3)[:-20], tools, "length") == ADD
    assert calls(f"[TOOL_CALLS][{CALL}, {CALL}]", tools) == ADD * 2


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        (f"{TAGGED} and", True),
        (f"{TAGGED}<|im_end|>", True),
        (f"<tool_call>{CALL}", True),
        (f"{TAGGED}<tool_response>2</tool_response> <tool_call>", True),
        (f"{TAGGED}<tool_c", False),
        (f'{TAGGED} {{"name"', False),
        (f"{TAGGED}<tool_call>{OTHER[:-9]}", False),
        (f"<tool_call>{CALL[:-1]}", False),
        ("<tool_call>{'name': 'now', 'arguments': {}}", False),
        ("<tool_call>{'name': 'now', 'arguments': {}}</tool_call> and", False),
        ('<tool_call>{"name": "store", "arguments": {"x": "a</tool', False),
        ('<tool_call>{"name": "store", "arguments": {"x": "a</tool_call>', False),
        ("```\n<tool_call>{}", False),
        (f"<think>{TAGGED}", False),
    ],
)
def test_what_the_token_limit_cut_off_runs_only_whole_calls(text: str, runs: bool, tools: Sequence[Tool]) -> None:
    assert (calls(text, tools, "length") is not None) is runs


def test_a_call_at_the_end_of_a_thought_that_nothing_closes_is_made(tools: Sequence[Tool]) -> None:
    decision = decode_text(f"<think>I add.\n{TAGGED}\n", tools)
    assert isinstance(decision, ToolCalls)
    assert decision.calls == ADD
    assert decision.repairs[0].kind == "unclosed_thinking"


@pytest.mark.parametrize(
    "thought", [f"Perhaps {TAGGED}, or not", f"{TAGGED} or <tool_call>{OTHER}</tool_call>", "a (b)", f"`{CALL}`"]
)
def test_a_call_that_is_only_thought_of_is_not_made(thought: str, tools: Sequence[Tool]) -> None:
    assert calls(f"<think>{thought}", tools) is None
    assert calls(f"<think>{thought}</think>Rome", tools) is None
    assert decode_text(f"Rome<think>{thought}", tools) == Final("Rome")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Rome<|im_end|>", "Rome"),
        ("Rome</s> \n<|eot_id|>", "Rome"),
        ("<|im_start|>assistant\nRome<|im_end|>\n<|im_start|>user\nThanks", "Rome"),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nRome", "Rome"),
        ("<|CHATBOT_TOKEN|>Rome<|END_OF_TURN_TOKEN|>", "Rome"),
        ("So it is.\n[BEGIN FINAL RESPONSE]\nRome\n[END FINAL RESPONSE]\n<|end|>", "Rome"),
        ("<answer>Rome</answer>", "Rome"),
        ("<response>\nRome\n</response>", "Rome"),
        ("<|channel|>final<|message|>Rome<|end|><|start|>assistant", "Rome"),
        ("<start_of_turn>model\nRome<end_of_turn>", "Rome"),
    ],
)
def test_special_tokens_around_an_answer_are_dropped_and_recorded(
    text: str, answer: str, tools: Sequence[Tool]
) -> None:
    decision = decode_text(text, tools)
    assert isinstance(decision, Final)
    assert decision.answer == answer
    assert [repair.kind for repair in decision.repairs] == ["special_tokens"]


@pytest.mark.parametrize(
    "text", ["The token `<|im_end|>` ends it.", "a <b> c>", "x[1]", '{"a": "<|im_start|>user"}', "<|im_start|>user"]
)
def test_an_answer_that_speaks_of_tokens_is_left_whole(text: str, tools: Sequence[Tool]) -> None:
    assert decode_text(text, tools) == Final(text)


def test_an_answer_object_between_special_tokens_is_unpacked(tools: Sequence[Tool]) -> None:
    decision = decode_text('<|channel|>final<|message|>{"answer": "Rome"}<|return|>', tools)
    assert decision == Final("Rome")


def test_only_so_many_tokens_are_dropped(tools: Sequence[Tool]) -> None:
    decision = decode_text("Rome" + "<|im_end|>" * 201, tools)
    assert isinstance(decision, Final)
    assert decision.answer == "Rome<|im_end|>"

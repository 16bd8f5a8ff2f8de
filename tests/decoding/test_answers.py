"""Prose is the answer, also with a brace in it; our final form and its relatives are unpacked."""

from collections.abc import Sequence

import pytest

from micro_agent.decoding import Final, ModelReply, decode, decode_text
from micro_agent.tools import Tool
from tests.decoding.outcomes import reason
from tests.each import each

Tools = Sequence[Tool]


@pytest.mark.parametrize(
    "text",
    ["The answer is 4.", "The set {1, 2} has [two] members: {a} and {b", "Use { to open a block.", "a < b, 'quoted",
     'He said "{".', "}{][", "[1, 2", "\0\ud800", 'Names: "name": x'],
)  # fmt: skip
def test_prose_is_the_answer(text: str, tools: Tools) -> None:
    assert decode_text(f"  {text}\n", tools) == Final(text)


@each(
    ("text", "answer"),
    [
        ('{"final": {"answer": "Rome"}}', "Rome"),
        ('{"final": " Rome "}', "Rome"),
        ('{"final_answer": "Rome"}', "Rome"),
        ('{"answer": "Rome"}', "Rome"),
        ('{"thought": "easy", "answer": "Rome"}', "Rome"),
        ('{"tool": null, "args": {}, "answer": "Rome"}', "Rome"),
        ('{"final": true, "answer": "Rome"}', "Rome"),
        ('{"final": {"text": "Rome"}}', "Rome"),
        ('{"tool": null, "final": {"answer": "Rome"}}', "Rome"),
        ('{"action": "Final Answer", "action_input": "Rome"}', "Rome"),
        ('{"tool": {"name": "final", "args": {"answer": "Rome"}}}', "Rome"),
        ('Here it is: {"final": {"answer": "Rome"}}', "Rome"),
        ('```json\n{"answer": "Rome"}\n```', "Rome"),
        ('{"answer": "Rome"} {"answer": "Rome"}', "Rome"),
        ("{'final': {'answer': 'Rome'}}", "Rome"),
        ('{"final": {"answer": "Rome"}', "Rome"),
        ('{"final": {"answer": 42}}', "42"),
        ('{"answer": true}', "true"),
        ('{"final": {"city": "Roma è"}}', '{"city": "Roma è"}'),
        ('{"final": {"answer": ["a", 1]}}', '["a", 1]'),
        ('"{\\"final\\": \\"Rome\\"}"', "Rome"),
    ],
)
def test_every_final_form_is_unpacked(text: str, answer: str, tools: Tools) -> None:
    decision = decode_text(text, tools)
    assert isinstance(decision, Final)
    assert decision.answer == answer


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": "Rome", "confidence": 0.9}',
        'In JSON: {"answer": "Rome"} as you asked.',
        '{"name": "Rome", "answer": 1}',
    ],
)
def test_json_that_only_holds_an_answer_is_left_whole(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


def test_two_different_final_answers_are_ambiguous(tools: Tools) -> None:
    assert reason('{"final": "Rome"} {"final": "Oslo"}', tools) == "ambiguous"


def test_an_empty_reply_is_no_answer(tools: Tools) -> None:
    for text in ("", " \n\t", "<think>So 4.", "<think>So 4.</think>\n", '{"final": {"answer": " "}}', '{"answer": ""}'):
        assert reason(text, tools) == "empty"


def test_text_that_the_token_limit_cut_off_is_no_answer(tools: Tools) -> None:
    for text in ("The answer is", "<think>So we", "", '{"final": {"answer": "The', '{"final": {"answer": "Rome"}'):
        assert reason(text, tools, "length") == "cut_off"
    assert decode(ModelReply(text='{"final": "Rome"} and', finish_reason="length"), tools) == Final("Rome")


def test_a_filtered_reply_is_refused(tools: Tools) -> None:
    assert reason("", tools, "content_filter") == "refused"
    assert reason("The order is 5", tools, "content_filter") == "refused"

"""gpt-oss channels."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (
            '<|channel|>analysis<|message|>So {"name": "now"}.<|end|><|start|>assistant'
            "<|channel|>commentary to=functions.calculator <|constrain|>json<|message|>$ARGS<|call|>",
            ADD,
        ),
        ("<|start|>assistant to=functions.calculator<|channel|>commentary json<|message|>$ARGS<|call|>", ADD),
        (" to=functions.calculator<|channel|>analysis<|message|>$ARGS", ADD),
        ("<|channel|>analysis to=functions.calculator<|message|>$ARGS<|call|>", ADD),
        ("<|channel|>commentary to=calculator<|message|>$ARGS", ADD),
        (
            "<|channel|>commentary<|message|>I add.<|end|><|start|>assistant<|channel|>commentary"
            " to=functions.calculator<|message|>$ARGS<|call|><|start|>assistant<|channel|>commentary"
            " to=functions.search_code<|message|>$MORE<|call|>",
            BOTH,
        ),
        ("<|channel|>commentary to=functions.now<|message|><|call|>", NOW),
        ("<|channel|>commentary to=functions.calculator <|reserved_200009|>json<|message|>$ARGS", ADD),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("analysisI add.assistantcommentary to=functions.calculator json$ARGS", ADD),
        ("analysisI know.assistantfinalRome.", ("Rome.",)),
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Rome.<|return|>",
            ("Rome.",),
        ),
        ("<|channel|>commentary<|message|>Rome.", ("Rome.",)),
        (
            "<|channel|>commentary<|message|>First.<|end|><|start|>assistant<|channel|>final "
            '<|constrain|>json<|message|>{"city": "Rome"}<|return|>',
            ('{"city": "Rome"}',),
        ),
        ('<|channel|>analysis<|message|>I call {"name": "now", "arguments": {}}', "empty"),
        ('<|channel|>commentary to=functions.calculator<|message|>{"expr', "malformed"),
        ("<|channel|>commentary to=functions.rm<|message|>{}<|call|>", "unknown_tool"),
        ("<|channel|>commentary to=functions.now<|message|>", "malformed"),
        ("<|channel|>commentary to=functions.now<|message|>at once", "malformed"),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    "header",
    ["assistant to=functions.calculator json\n", "to=functions.calculator json ", "commentary to=calculator "],
)
def test_a_message_may_stand_between_the_tags_of_another_dialect(header: str, read: Read) -> None:
    assert read(f"I look.\n<tool_call>{header}$ARGS\n</tool_call>") == [("calculator", {"expression": "1+1"})]


def test_a_role_may_be_all_that_is_left_of_a_header(read: Read) -> None:
    assert read("assistant to=functions.calculator commentary json$ARGS") == [("calculator", {"expression": "1+1"})]

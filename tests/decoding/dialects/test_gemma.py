"""Gemma's own syntax of values."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
BOTH = [*ADD, ("search_code", {"pattern": "x"})]
NOW: list[tuple[str, dict[str, object]]] = [("now", {})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|>', ADD),
        ("<start_function_call>call:calculator{expression:<escape>1+1<escape>}<end_function_call>", ADD),
        ("<|tool_call>call:calculator$ARGS<tool_call|>", ADD),
        ("<|tool_call>calculator{expression:1+1}<tool_call|>", ADD),
        (
            '<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|>'
            '<|tool_call>call:search_code{pattern:<|"|>x<|"|>}<tool_call|>',
            BOTH,
        ),
        (
            '<|tool_call>call:store{t:true,n:-1.5e2,z:null,l:[1,<|"|>a<|"|>,b c],o:{k:<|"|>v'
            '<|"|>},time:<|"|>a "b" {c:\\d<|"|>}<tool_call|>',
            [
                (
                    "store",
                    {"t": True, "n": -150.0, "z": None, "l": [1, "a", "b c"], "o": {"k": "v"}, "time": 'a "b" {c:\\d'},
                )
            ],
        ),
        ("<|tool_call>call:now{}<tool_call|>", NOW),
        ('call:calculator{expression:<|"|>1+1<|"|>}', ADD),
        (
            '<|tool_call>call:store{x:<|"|><|tool_call>call:now{}<|"|>}<tool_call|>',
            [("store", {"x": "<|tool_call>call:now{}"})],
        ),
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>', ADD),
        ("<|tool_call>call:calculator{expression:1+1<tool_call|>", ADD),
        (
            '<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|><|tool_response>2'
            "<|tool_call>call:now{}<tool_call|>",
            ADD,
        ),
    ],
)
def test_every_spelling_is_read(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant
    assert read(f"First I look.\n{text}") == meant


SLIPS = {
    'call:search_code{pattern:x, y<|"|>,max_results:5}': "x, y",
    'call:search_code{max_results:5,pattern:x<|"|>}': "x",
    "call:search_code{pattern: 'x, y: z', max_results: 5}": "x, y: z",
    'call:google:mcp:search_code{pattern:<|"|>x<|"|>,max_results:5}': "x",
    ':call:search_code{pattern:<|"|>x<|"|>,max_results:5}': "x",
}


@pytest.mark.parametrize("text", SLIPS)
def test_what_models_leave_out_or_add_is_read(text: str, read: Read) -> None:
    meant = [("search_code", {"pattern": SLIPS[text], "max_results": 5})]
    assert read(f"<|tool_call>{text}<tool_call|>") == meant
    assert read(f"<|tool_call>{text}<turn|>") == meant
    assert read(f"<|tool_call|>{text}<|tool_call|>") == meant
    assert read(f"<|channel>thought\nI look.\n<channel|>{text.removeprefix(':')}") == meant


def test_a_tag_and_python_are_read(read: Read) -> None:
    found = [("calculator", {"expression": "1+1"})]
    assert read('<call>calculator{expression:<|"|>1+1<|"|>}') == found
    assert read('<|tool_call>call:calculator(expression="1+1")<tool_call|>') == found


def test_a_text_without_its_opening_ends_before_the_next_key(read: Read) -> None:
    text = '<|tool_call>call:search_code{pattern:x,max_results:5<|"|>}<tool_call|>'
    assert read(text) == [("search_code", {"pattern": "x", "max_results": 5})]


def test_a_line_of_a_value_is_no_call(read: Read) -> None:
    text = "<function=search_code><parameter=pattern>\ncall:now{}\n</parameter></function>"
    assert read(text) == [("search_code", {"pattern": "call:now{}"})]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("<|tool_call>call:rm{}<tool_call|>", "unknown_tool"),
        ('<|tool_call>call:calculator{expression:<|"|>1+', "malformed"),
        ("<|tool_call>call:calculator{expression:1", "malformed"),
        ("<|tool_call>call:calculator{expression:<x", "malformed"),
        ("<|tool_call>call:store{a:{b:}}<tool_call|>", "malformed"),
        ('<|tool_call>call:calculator{expression:<|"|>1+1<|"|>}<tool_call|><|tool_call>call:no', "malformed"),
        (
            "<|tool_call>call:store{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:"
            "{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{a:{",
            "malformed",
        ),
    ],
)
def test_what_is_no_whole_call_is_not_run(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    ("inside", "args"),
    [
        ('(expression:<|"|>(1)<|"|>)', {"expression": "(1)"}),
        ('(expression=<|"|>f("a")<|"|>)', {"expression": 'f("a")'}),
        ("{expression='1 + 1'}", {"expression": "1 + 1"}),
        ('{"expression"=<|"|>a = b<|"|>}', {"expression": "a = b"}),
        ("{expression:a=b}", {"expression": "a=b"}),
        ("{expression:`x {\n  y: 1;\n}`}", {"expression": "x {\n  y: 1;\n}"}),
        ('{expression:<|"|>1 + 1}', {"expression": "1 + 1"}),
        ('{expression:<|"|>f {x}}', {"expression": "f {x}"}),
        ("{expression:<escape>1 + 1}", {"expression": "1 + 1"}),
    ],
)
def test_other_signs_around_a_value_are_read(inside: str, args: object, read: Read) -> None:
    assert read(f"<|tool_call>call:calculator{inside}<tool_call|>") == [("calculator", args)]


def test_a_nested_text_may_lack_its_delimiter(read: Read) -> None:
    assert read('<|tool_call>call:store{o:{k:<|"|>a b}}<tool_call|>') == [("store", {"o": {"k": "a b"}})]


@pytest.mark.parametrize(
    "inside",
    ['{expression:<|"|>1,other:2}', '{expression:<|"|>f {x}', '{expression:<|"|>1', '(expression:<|"|>1', '(a<|"|>)'],
)
def test_a_text_without_an_end_is_not_run(inside: str, read: Read) -> None:
    assert read(f"<|tool_call>call:calculator{inside}<tool_call|>") == "malformed"


def test_a_call_in_parentheses_may_end_the_reply(read: Read) -> None:
    assert read('<|tool_call>call:calculator(expression:<|"|>1+1<|"|>)') == ADD
    assert read('<|tool_call>call:calculator(expression:<|"|>1+1', "length") == "cut_off"


def test_many_values_are_read(read: Read) -> None:
    assert read("<|tool_call>call:add{values:[" + "1," * 3000 + "1]}<tool_call|>") == [("add", {"values": [1] * 3001})]

"""Calls in Python's syntax: read where they are meant as calls, prose where they are not."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from micro_agent.decoding import Final, ToolCall, ToolCalls, decode_text
from micro_agent.tools import Tool
from tests.decoding import outcomes
from tests.decoding.outcomes import reason

Read = Callable[..., object]
Tools = Sequence[Tool]
calls = partial(outcomes.calls, kind="dialect:pythonic")
ADD_UP = [ToolCall("calculator", {"expression": "1+1"})]
CALL = 'calculator(expression="1+1")'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"[{CALL}]",
        f"print({CALL})",
        f"result = {CALL}",
        f"await {CALL};",
        f"functions.{CALL}",
        "calculator('1+1')",
        'calculator({"expression": "1+1"})',
        "calculator(**{'expression': '1+1'})",
        "calculator(r'1+1')",
        'calculator(expression="""1+1""")',
        "calculator(expression='''1+1''')",
        "calculator(expression=“1+1”)",
        'calculator(expression="1\\x2b1")',
        f"`{CALL}`",
        f"```python\n{CALL}\n```",
        f"```tool_code\nprint({CALL})\n```",
        f"I will add.\n```python\n# add\nresult = {CALL}\nprint(result)\n```\nThen I answer.",
        f"I will add.\n\n{CALL}\n\nThen I answer.",
        "<|python_tag|>calculator.call(expression='1+1')",
        f"<|python_start|>[{CALL}]<|python_end|>",
        f"<|tool_call_start|>[{CALL}]<|tool_call_end|>",
        f"Let me see. <function_calls>{CALL}</function_calls>",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"{CALL}\n{CALL}\nIn between: it's said twice.\n{CALL}"[: len(CALL)],
    ],
)  # fmt: skip
def test_every_form_of_a_call_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == ADD_UP


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'a'", "a"),
        ("-5", -5),
        ("+5", 5),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("True", True),
        ("false", False),
        ("null", None),
        ("None", None),
        ("[1, 'b', [True]]", [1, "b", [True]]),
        ("(1, 2)", [1, 2]),
        ("{'a': {\"b\": [null]}}", {"a": {"b": [None]}}),
        ("'it\\'s \"x\"'", 'it\'s "x"'),
        ("'C:\\Users\\d'", "C:\\Users\\d"),
        ("'a\\n\\u00e9\\t'", "a\né\t"),
        ("'a\nb'", "a\nb"),
        ("'now(x=1), {[('", "now(x=1), {[("),
        ("'# no comment'", "# no comment"),
        ("'x=y(z)'", "x=y(z)"),
    ],
)
def test_arguments_are_literals_and_json_words(written: str, value: Any, tools: Tools) -> None:
    for text in (f"store(x={written})", f"[store(x={written})]", f"<tool_call>store(x={written})</tool_call>"):
        assert calls(text, tools) == [ToolCall("store", {"x": value})]


def test_a_number_with_a_zero_before_it_is_kept_as_it_is_written_where_a_text_is_wanted(tools: Tools) -> None:
    assert calls("[calculator(expression=007)]", tools) == [ToolCall("calculator", {"expression": "007"})]
    assert calls("[search_code(pattern='x', max_results=-07)]", tools) == [
        ToolCall("search_code", {"pattern": "x", "max_results": -7})
    ]
    assert calls("store(x=0, y=0.5, z=10)", tools) == [ToolCall("store", {"x": 0, "y": 0.5, "z": 10})]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'sed '3p' a.txt'", "sed '3p' a.txt"),
        ('"echo "a b" | wc"', 'echo "a b" | wc'),
        ("'it's here'", "it's here"),
        ("'echo 'a' && echo 'b''", "echo 'a' && echo 'b'"),
        ("['it's', 'so']", ["it's", "so"]),
        ("{'a': 'it's', 'b': 'say 'x' now'}", {"a": "it's", "b": "say 'x' now"}),
        ("'it\\'s 'x' here'", "it's 'x' here"),
    ],
)
def test_quotes_that_are_not_escaped_are_kept(written: str, value: Any, tools: Tools) -> None:
    for text in (f"store(x={written})", f"[store(x={written})]", f"<tool_call>store(x={written})</tool_call>"):
        assert calls(text, tools) == [ToolCall("store", {"x": value})]
    assert calls(f"store(x={written}, y=1)", tools) == [ToolCall("store", {"x": value, "y": 1})]


@pytest.mark.parametrize(
    "text",
    [
        "store(x='a 'b', 'c' d)",
        "store(x='" + "it's " * 300 + "')",
        "store(x='''it's')",
        "store(x=('it's]",
        "store(x=1 'it's')",
        "store(x=[" + "[]," * 3000 + "])",
        "store(x=[1})",
    ],
)
def test_quotes_that_have_more_than_one_reading_are_not_guessed_at(text: str, tools: Tools) -> None:
    assert not isinstance(decode_text(text, tools), ToolCalls)


@pytest.mark.parametrize(
    "text",
    [
        'calculator(expression: "1+1")',
        'calculator({expression: "1+1"})',
        'calculator({"expression" = "1+1"})',
        'calculator({expression="1+1"})',
        'calculator("expression": "1+1")',
        'calculator("expression"="1+1")',
        f"python({CALL})",
        f"asyncio.run({CALL})",
        f"json.dumps(default_api.{CALL})",
        f"result = await {CALL}",
        f"return {CALL}",
        f"Calling tool: {CALL}",
        f"Calling {CALL}...",
        f"Using the tool: {CALL}",
        f"🔧 {CALL}",
        f"-> {CALL}",
        f"Tool Call 1: {CALL}",
        f"[Calling tool: {CALL}]",
        f"Let me look. [Calling tool: {CALL}]",
        f"[Tool call: {CALL}]",
        'call_tool("calculator", {"expression": "1+1"})',
        'client.call_tool("calculator", expression="1+1")',
        'ToolCall(name="calculator", args={"expression": "1+1"})',
        '[FunctionCall(name="calculator", arguments={"expression": "1+1"})]',
    ],
)
def test_what_is_nearly_python_is_read(text: str, tools: Tools) -> None:
    assert calls(text, tools) == ADD_UP


@pytest.mark.parametrize(
    "text",
    [
        'call_tool("rm", {"path": "/"})',
        'call_tool("calculator", {"expression": "1"}, 5)',
        'call_tool("calculator", {"expression": "1"}, expression="2")',
        "call_tool(5, {})",
        'call_tool(expression="1")',
        "[Calling tool: rm(path='/')]",
        "store(1: 2)",
        "store([a: 2])",
    ],
)
def test_what_names_no_tool_is_not_run(text: str, tools: Tools) -> None:
    assert not isinstance(decode_text(text, tools), ToolCalls)


def test_calls_with_words_between_are_all_returned(tools: Tools) -> None:
    both = [*ADD_UP, ToolCall("now", {})]
    assert calls(f"First I add:\n{CALL}\nThen I look at the clock:\nnow()\n", tools) == both
    assert {call.standing for call in calls(f"One:\n{CALL}\nOr:\nnow()\n", tools)} == {"embedded"}


def test_keywords_of_python_and_names_with_dashes_are_arguments_too(tools: Tools) -> None:
    text = 'store(from="a", class=1, max-results=2, import=[{"is": 3}])'
    assert calls(text, tools) == [ToolCall("store", {"from": "a", "class": 1, "max-results": 2, "import": [{"is": 3}]})]


@pytest.mark.parametrize("between", [", ", "\n", ";\n", ",\n  "])
def test_several_calls_are_read_in_order(between: str, tools: Tools) -> None:
    two = [*ADD_UP, ToolCall("now", {})]
    both = f"{CALL}{between}now()"
    for text in (
        f"<function_calls>{both}</function_calls>",
        f"<tool_call>{CALL}</tool_call> <tool_call>now()</tool_call>",
    ):
        assert calls(text, tools) == two
    assert calls(f"{CALL}\nnow()", tools) == two
    assert calls(f"[{CALL}, now()]", tools) == two


def test_a_marker_inside_an_argument_is_text(tools: Tools) -> None:
    inside = "<tool_call>now()</tool_call>"
    for text in (f"<tool_call>store(x='{inside}')</tool_call>", f"<tool_call>store(x=“{inside}”)</tool_call>"):
        assert calls(text, tools) == [ToolCall("store", {"x": inside})]


def test_values_by_place_take_the_names_of_the_schema_where_their_order_is_beyond_doubt(tools: Tools) -> None:
    assert calls("search_code('x', 5)", tools) == [ToolCall("search_code", {"pattern": "x", "max_results": 5})]
    assert calls("search_code('x', max_results=5)", tools) == [
        ToolCall("search_code", {"pattern": "x", "max_results": 5})
    ]
    assert calls("add([1, 2])", tools) == [ToolCall("add", {"values": [1, 2]})]
    for text in ("[search_code('x', 5, 6)]", "[search_code('x', pattern='y')]", "[store('x')]"):
        assert reason(text, tools) == "malformed"


def _move(required: list[str]) -> Tool:
    properties = {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "object"}}
    return Tool("move", "", {"type": "object", "properties": properties, "required": required}, print)


def test_the_one_required_argument_is_meant_where_the_order_is_open() -> None:
    assert calls("move('x')", [_move(["b"])]) == [ToolCall("move", {"b": "x"})]
    assert reason("[move('x', 'y')]", [_move(["b"])]) == "malformed"
    assert reason("[move('x')]", [_move(["b", "c"])]) == "malformed"
    wants_an_object = Tool("put", "", {"type": "object", "properties": {"data": {"type": "object"}}}, print)
    assert calls("put({'k': 1})", [wants_an_object]) == [ToolCall("put", {"data": {"k": 1}})]


@pytest.mark.parametrize(
    "text",
    [
        "I used add(2, 3) to get 5.",
        "add(2, 3) gives 5.",
        "```\nsearch_code(pattern, max_results)\n```\nis its signature.",
        "(a list) and [another] (one)",
        "[link](https://x.example)",
    ],
)
def test_prose_and_programs_are_the_answer(text: str, tools: Tools) -> None:
    assert decode_text(text, tools) == Final(text)


@pytest.mark.parametrize(
    "text",
    [
        "[calculator(expression='1+",
        "[calculator(expression=1+1)]",
        "[calculator(expression=x)]",
        "[calculator(expression=f'1')]",
        "[calculator(expression='1' '2')]",
        "[calculator(expression=now())]",
        "[calculator(expression='1', expression='2')]",
        "[calculator(expression='1', **{'expression': '2'})]",
        "[calculator(expression={1: 2})]",
        "[calculator(expression={'a', 'b'})]",
        "[calculator(expression=0x1F)]",
        "[calculator(expression='a' + 'b')]",
        "[calculator(expression='a' or 'b')]",
        "[calculator(expression='a 'b)]",
        "[calculator(expression={'a': 1, 'a': 2})]",
        "[calculator(expression=" + "[" * 70 + "]" * 70 + ")]",
        "[calculator(expression=" + "1," * 20_000 + ")]",
        "[calculator(expression='\0')]",
        "[calculator(expression=1e999)]",
        "[calculator(expression=lambda: 1)]",
        "<|tool_call_start|>[calculator(expression='1+1]",
        "<|tool_call_start|>[calculator(expression=x)]<|tool_call_end|>",
    ],
)
def test_what_is_meant_as_a_call_and_cannot_be_read_is_malformed(text: str, tools: Tools) -> None:
    assert reason(text, tools) == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        f"Call it like this: {CALL}",
        f"You write `{CALL}` for that, and it adds.",
        f"✅ {CALL}",
        f"Called {CALL} before.",
        f"[{CALL}, 5]",
        f"Write <tool>{CALL}</tool> to add.",
    ],
)
def test_what_stands_in_the_midst_of_something_else_is_embedded(text: str, tools: Tools) -> None:
    assert [call.standing for call in calls(text, tools)] == ["embedded"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"```python\ndef calculator(expression):\n    return eval(expression)\n\n{CALL}\n```", "quoted"),
        (f"```python\nimport os\n{CALL}\nprint(os.getcwd() + 1)\n```", "quoted"),
        ("search_code(pattern, max_results)", "malformed"),
        ("calculator(it's", "malformed"),
        ("lookup(x=1)", "unknown_tool"),
    ],
)
def test_python_that_is_all_there_is_and_no_call_is_asked_about(text: str, why: str, tools: Tools) -> None:
    assert reason(text, tools) == why


def test_a_call_of_no_tool_or_with_other_arguments_is_not_run(tools: Tools) -> None:
    assert reason("[lookup(x=1)]", tools) == "unknown_tool"
    assert reason("<tool_call>lookup(x=1)</tool_call>", tools) == "unknown_tool"
    assert reason("[calculator(expression=[1])]", tools) == "bad_arguments"
    assert reason("calculator()", tools) == "bad_arguments"


def test_a_call_that_is_said_again_counts_once(tools: Tools) -> None:
    assert calls(f"First\n{CALL}\nand again\n{CALL}\n", tools) == ADD_UP


@pytest.mark.parametrize(
    "text", [f"[{CALL}, now(", f"{CALL}\nnow(timezone='u", f"{CALL}\nand", f"<tool_call>{CALL}\nnow("]
)
def test_a_reply_that_was_cut_off_runs_nothing(text: str, tools: Tools) -> None:
    assert reason(text, tools, "length") == "cut_off"
    assert calls(CALL, tools, "length") == ADD_UP


def test_a_call_that_is_torn_spoils_the_others(tools: Tools) -> None:
    assert reason(f"{CALL}\nnow(timezone='u", tools) == "malformed"


def test_with_unknown_tools_a_call_is_the_whole_text() -> None:
    assert calls("[lookup(a=1), find(b='x')]", None) == [ToolCall("lookup", {"a": 1}), ToolCall("find", {"b": "x"})]
    assert calls("lookup(a=1)", None) == [ToolCall("lookup", {"a": 1})]
    assert calls('lookup({"a": 1})', None) == [ToolCall("lookup", {"a": 1})]
    assert decode_text("See:\nlookup(a=1)", None) == Final("See:\nlookup(a=1)")


def test_nothing_warns(tools: Tools) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("store(x='\\d')", "store(x=1if 2 else 3)", "store(x=1 is 1)", "store(x='a'(1))", "store(x=1S0x)"):
            decode_text(text, tools)


@pytest.mark.parametrize(
    "markup",
    [
        "<TOOLCALL>[{}]</TOOLCALL>", "<tool_call>{}</tool_call>", "<tools>{}</tools>", "<function>{}</function>",
        "<|tool_call>call:{}<tool_call|>", "<<function>>{}", "[TOOL_CALL]{}[/TOOL_CALL]", "[TOOL_CALLS] [{}]",
        "[TOOL_REQUEST]{}[END_TOOL_REQUEST]", "<|START_ACTION|>{}<|END_ACTION|>", "<tool_use>{}</tool_use>",
        "<|action_start|><|plugin|>{}<|action_end|>", "<longcat_tool_call>{}</longcat_tool_call>",
        "<｜tool▁call▁begin｜>{}<｜tool▁call▁end｜>", "<|tool_call|>[{}]", "<|tool_call_start|>[{}",
        "<|tool_call_start|>[{}<|tool_call_end|>",
    ],
)  # fmt: skip
def test_every_marker_may_hold_python(markup: str, read: Read) -> None:
    add, find = 'calculator(expression="1+1")', 'search_code(pattern="x")'
    assert read(f"I look.\n{markup.format(add)}") == [("calculator", {"expression": "1+1"})]
    if "[{}" in markup or "{}]" in markup:
        both = [("calculator", {"expression": "1+1"}), ("search_code", {"pattern": "x"})]
        assert read(markup.format(f"{add}, {find}")) == both


@pytest.mark.parametrize(
    ("text", "finish", "meant"),
    [
        ('<|tool_call_start|>[calculator(expression="1+1")', "length", "cut_off"),
        ('<|tool_call_start|>[calculator(expression="1+1"), now(', None, "malformed"),
    ],
)
def test_a_list_without_its_end_is_run_only_where_nothing_may_follow(
    text: str, finish: str | None, meant: object, read: Read
) -> None:
    assert read(text, finish) == meant


@pytest.mark.parametrize(
    "text",
    [
        "Use <function>foo(x)</function> in code.",
        '<tool>print("hi")</tool>',
    ],
)
def test_a_tag_that_is_a_word_is_part_of_an_answer(text: str, read: Read) -> None:
    assert read(text) == (text,)


def test_more_calls_in_markup_than_one_reply_may_have_are_asked_about(read: Read) -> None:
    assert read("\n".join(f"<function_calls>now(timezone='{i}')</function_calls>" for i in range(40))) == "ambiguous"

"""Markup in another spelling is read as what it means, and no value is changed by that."""

from collections.abc import Callable

import pytest

from micro_agent.decoding.rows import ROWS, Row

Read = Callable[..., object]
FOUND = [("search_code", {"pattern": "x", "max_results": 5})]


def dsml(before: str, after: str) -> str:
    def tag(word: str, slash: str = "") -> str:
        return f"<{slash}{before}DSML{after}{word}>"

    return "\n".join(
        [
            tag("function_calls"),
            tag('invoke name="search_code"'),
            tag('parameter name="pattern" string="true"') + "x" + tag("parameter", "/"),
            tag('parameter name="max_results" string="false"') + "5" + tag("parameter", "/"),
            tag("invoke", "/"),
            tag("function_calls", "/"),
        ]
    )


@pytest.mark.parametrize("bars", ["|", "｜", "｜｜", "‖", "||", " | ", "│", "¦ "])
def test_bars_of_any_kind_are_read(bars: str, read: Read) -> None:
    text = dsml(bars, bars)
    assert read(text) == FOUND
    assert read(f"I look.\n\n{text}") == FOUND
    assert read(dsml("", ":")) == FOUND


XML = (
    "<tool_call>\n<function=search_code>\n<parameter=pattern>\nx\n</parameter>\n"
    "<parameter=max_results>\n5\n</parameter>\n</function>\n</tool_call>"
)
PAIRS = (
    "<tool_call>search_code<arg_key>pattern</arg_key><arg_value>x</arg_value>"
    "<arg_key>max_results</arg_key><arg_value>5</arg_value></tool_call>"
)
SOLAR = (
    "<|tool_call:start|>search_code\n<|tool_arg:start|>pattern<|tool_arg:value|>x<|tool_arg:end|>\n"
    "<|tool_arg:start|>max_results<|tool_arg:value|>5<|tool_arg:end|>\n<|tool_call:end|>"
)
KIMI = (
    '<|open|>tools<|sep|><|open|>call tool="search_code" index="1"<|sep|>'
    '<|open|>argument key="pattern" type="string"<|sep|>x<|close|>argument<|sep|>'
    '<|open|>argument key="max_results" type="integer"<|sep|>5<|close|>argument<|sep|>'
    "<|close|>call<|sep|><|close|>tools<|sep|>"
)
PLAMO = (
    "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>"
    "<|plamo:begin_tool_name:plamo|>search_code<|plamo:end_tool_name:plamo|>"
    '<|plamo:begin_tool_arguments:plamo|>{"pattern": "x", "max_results": 5}<|plamo:end_tool_arguments:plamo|>'
    "<|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|><|plamo:end_turn:plamo|>"
)
M3 = "]<]minimax[>["


@pytest.mark.parametrize(
    "text",
    [
        XML.replace("function", "FUNCTION").replace("parameter", "PARAMETER").replace("tool_call", "TOOL_CALL"),
        XML.replace("<", "&lt;").replace(">", "&gt;"),
        XML.replace("tool_call", "tool call"),
        XML.replace("tool_call>", "tool\\_call>"),
        XML.replace("function=", "atem:function=").replace("parameter", "atem:parameter"),
        '<functionname="search_code"><paramname="pattern">x</param><param\u0120name="max_results">5</param></function>',
        PAIRS.replace(">", ":6124c78e>"),
        PAIRS.replace("<", "<ifm|").replace("<ifm|/", "</ifm|"),
        PAIRS.replace("</arg_key><arg_value>5", "</arg_key><arg_type>integer</arg_type><arg_value>5"),
        PAIRS.replace("search_code", "search_code<tool_sep>"),
        SOLAR,
        f"<|think:start|>I look.<|think:end|>{SOLAR}",
        KIMI,
        f"<|open|>think<|sep|>I look.<|close|>think<|sep|>{KIMI}",
        PLAMO,
        f'I look.{M3}<tool_call>\n{M3}<invoke name="search_code">{M3}<pattern>x{M3}</pattern>{M3}<max_results>5'
        f"{M3}</max_results>{M3}</invoke\n{M3}</tool_call>",
        '<tool_call id="a" type="function">{"name": "search_code", "arguments": {"pattern": "x", "max_results": 5}}'
        "</tool_call>",
        "&lt;search_code&gt;&lt;pattern&gt;x&lt;/pattern&gt;&lt;max_results&gt;5&lt;/max_results&gt;&lt;/search_code&gt;",
        '<｜tool_call>call:search_code{pattern:<｜"｜>x<｜"｜>,max_results:5}<tool_call｜>',
        '< |tool_call| >{"name": "search_code", "arguments": {"pattern": "x", "max_results": 5}}< |/tool_call| >',
    ],
)
def test_other_spellings_are_read(text: str, read: Read) -> None:
    assert read(text) == FOUND


def test_the_wrapper_around_an_answer_is_dropped(read: Read) -> None:
    assert read("<|open|>response<|sep|>It is x.<|close|>response<|sep|>") == ("It is x.",)


@pytest.mark.parametrize(
    "text",
    [
        "Write &lt;tool_call&gt; before a call.",
        "In DSML, < | DSML | invoke> opens a call.",
        "A <String|Function> is either of them.",
        "The sentinel ]<]minimax[>[ stands before each tag.",
    ],
)
def test_what_speaks_of_markup_is_the_answer_as_it_came(text: str, read: Read) -> None:
    assert read(text) == (text,)


@pytest.mark.parametrize(
    "inside",
    ["<FUNCTION=f>", "< | DSML | invoke>", "<ifm|tool_call>", "&lt;tool_call&gt;", f"a{M3}b", "<| tool_call |>"],
)
def test_markup_in_a_value_stays_as_it_is(inside: str, read: Read) -> None:
    found = [("search_code", {"pattern": f"a{inside}b"})]
    assert read(f"<function=search_code><parameter=pattern>a{inside}b</parameter></function>") == found
    assert read(f"<search_code><pattern>a{inside}b</pattern></search_code>") == found
    assert read(f'{{"name": "search_code", "arguments": {{"pattern": "a{inside}b"}}}}') == found


def test_a_value_keeps_markup_in_the_spelling_of_the_call(read: Read) -> None:
    text = "<FUNCTION=search_code><PARAMETER=pattern>a <TOOL_CALL> b</PARAMETER></FUNCTION>"
    assert read(text) == [("search_code", {"pattern": "a <TOOL_CALL> b"})]


@pytest.mark.parametrize(
    "inside",
    ["<TOOL_SEP>", "<|open|>response<|sep|>", "<|plamo:end_turn:plamo|>", "<arg_type>x</arg_type>", "<INVOKE>"],
)
def test_a_value_that_is_markup_and_nothing_else_is_kept(inside: str, read: Read) -> None:
    assert read(f'{{"final": {{"answer": "a {inside} b"}}}}') == (f"a {inside} b",)
    assert read(f'{{"final": {{"answer": "{inside}"}}}}') == (inside,)
    call = f'{{"name": "calculator", "arguments": {{"expression": "{inside}"}}}}'
    for text in (call, f"I look. {call}", f"<tool_call>{call}</tool_call>", f"<TOOL_CALL>{call}</TOOL_CALL>"):
        assert read(text) in ([("calculator", {"expression": inside})], "malformed")


def test_a_key_stays_as_it_is(read: Read) -> None:
    args = '{"a<start_function_call>s": 1}'
    text = f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>store\n```json\n{args}\n```<｜tool▁call▁end｜>"
    assert read(text) == [("store", {"a<start_function_call>s": 1})]


def test_a_respelled_call_that_is_torn_is_an_error(read: Read) -> None:
    assert read(dsml("‖", "‖")[:-90]) == "malformed"
    assert read(dsml("‖", "‖")[:-90], "length") == "cut_off"


def test_more_odd_tags_than_calls_need_are_no_answer(read: Read) -> None:
    assert read("<TOOL_CALL> " * 1500) == "malformed"


def test_a_name_may_stand_before_the_name_of_a_tag(read: Read) -> None:
    add = [("calculator", {"expression": "1+1"})]
    pair = "<long_arg_key>expression</long_arg_key>\n<long_arg_value>1+1</long_arg_value>"
    assert read(f"<long_tool_call>calculator\n{pair}\n</long_tool_call>") == add
    invoke = '<my_invoke name="calculator"><my_parameter name="expression">1+1</my_parameter></my_invoke>'
    assert read(invoke) == add
    assert read("The <my_function> and <my_parameter> are names.") == (
        "The <my_function> and <my_parameter> are names.",
    )


SHARED = {mark: rows for row in ROWS for mark in row.opens if len(rows := [r for r in ROWS if mark in r.opens]) > 1}


@pytest.mark.parametrize("mark", SHARED)
def test_a_mark_of_several_dialects_reads_the_same_in_each(mark: str, read: Read) -> None:
    """So nothing has to be known of the model or of its chat template to read its calls."""
    assert len({how_it_is_read(row) for row in SHARED[mark]}) == 1
    joints = [joint for row in SHARED[mark] for joint in row.connects]
    ends = [end for row in SHARED[mark] for end in row.closes]
    for joint in joints:
        for end in ends:
            text = f'<|{mark}|>search_code<|{joint}|>{{"pattern": "x", "max_results": 5}}<|{end}|>'
            assert read(text) == FOUND
            assert read(f"I look.\n{text}") == FOUND
    assert joints
    assert ends


def how_it_is_read(row: Row) -> tuple[object, ...]:
    """What of a row decides how its calls are read, once a mark has opened one: its name does not."""
    return bool(row.connects), row.written, row.ends, row.keyed, row.reserved, row.code

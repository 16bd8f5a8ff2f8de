"""Quotes, commas and brackets that are wrong are put right where one reading is left, and never so as to end a text."""

from typing import Any

import pytest

from micro_agent.decoding import DecodeError, ToolCalls, decode_text
from micro_agent.decoding.repair.mending import Allowance, Unreadable, mend
from micro_agent.tools import Tool
from tests.each import each

WRITE = Tool(
    "write",
    "",
    {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path"]},
    print,
)


@each(
    ("text", "value", "kind"),
    [
        ("{'a': 'it's', 'b': True}", {"a": "it's", "b": True}, "inner_quotes"),
        ("{'a': ['don't do 'it' now', 5]}", {"a": ["don't do 'it' now", 5]}, "inner_quotes"),
        ("{'a': 'say \"hi\", it's\\n'}", {"a": 'say "hi", it\'s\n'}, "inner_quotes"),
        ('{"a": """say "hi"\nand\\n\\"go\\""""}', {"a": 'say "hi"\nand\n"go"'}, "tripled_quotes"),
        ("{'a': '''it's\ntwo''', 'b': None}", {"a": "it's\ntwo", "b": None}, "tripled_quotes"),
        ('{"a": `print("x")\n`, "b": "c"}', {"a": 'print("x")\n', "b": "c"}, "tripled_quotes"),
        ('{"a": "b " +\n "c", "d": "e"}', {"a": "b c", "d": "e"}, "joined"),
        ('{"a": "1 "+" 1"}', {"a": '1 "+" 1'}, "inner_quotes"),
        ('{"a": "{"b": "c"}", "d": "{}", "e": 1}', {"a": '{"b": "c"}', "d": "{}", "e": 1}, "inner_quotes"),
        ('{"name": "now, "b": "c"}', {"name": "now", "b": "c"}, "missing_quotes"),
        ('{"a": now", "b": "c"}', {"a": "now", "b": "c"}, "missing_quotes"),
        ('{a": "b c", "d: 5}', {"a": "b c", "d": 5}, "missing_quotes"),
        ('{"a": "b [c" "d": 1 "e": [{"f": 1} {"g": 2}]}', {"a": "b [c", "d": 1, "e": [{"f": 1}, {"g": 2}]},
         "punctuation"),
        ('{"a": ["b", {"c": 1}, "d": "{"}}', {"a": ["b", {"c": 1}], "d": "{"}, None),
        ('{"a": "it, {b}"}}]', {"a": "it, {b}"}, "punctuation"),
        ('{"a"："b，c"，“d”：‘e’}', {"a": "b，c", "d": "e"}, "loose_json"),
        ('{"a": +5, "b": .5, "c": Talse}', {"a": 5, "b": 0.5, "c": "Talse"}, None),
        ('{"a": 17*24}', {"a": "17*24"}, "unquoted_arithmetic"),
        ('{"a": {"b": (17+3) * 24 },\n c: -5}', {"a": {"b": "(17+3) * 24"}, "c": -5}, "unquoted_arithmetic"),
        ('{"a": 20% of 80, "b": 1e-5}', {"a": "20% of 80", "b": 1e-5}, "unquoted_arithmetic"),
        ('{"a": 12 x 4, "b": ": 1*2}", "c": 7 mod 3}', {"a": "12 x 4", "b": ": 1*2}", "c": "7 mod 3"},
         "unquoted_arithmetic"),
        ('{"a": 1*2, 3*4}', {}, None),
        ('{"a": 1*2, "b": 1e-5 1}', {}, None),
        ('{"a": (1*2}', {}, None),
        ('{"a": 1*2', {}, None),
        ('{"a": +5, "b": .5, "c": True}', {"a": 5, "b": 0.5, "c": True}, "loose_json"),
    ],
)  # fmt: skip
def test_one_reading_is_left(text: str, value: Any, kind: str | None) -> None:
    if kind is None:
        with pytest.raises(Unreadable):
            mend(text, Allowance())
        return
    found, repairs = mend(text, Allowance())
    assert (found, [repair.kind for repair in repairs]) == (value, [kind])


@each(
    "text",
    [
        "{'a': '}",
        "{'a': ', 'b': 'c'}",
        '{"a": “}',
        "{'a': 'x', '}",
        "{'a': ['x', ']}",
        "{'a': u'x'}",
        '{"a": undefined}',
        '{"a": ...}',
        "{'a': 'b' 'c'}",
        "{'a': it's}",
        "{«a»: «b»}",
        '{"a": "' + "+" * 100_000 + '" "b": 1}',
        '{"a": [' + '"b",' * 20_000 + "+1]}",
    ],
)
def test_what_is_not_said_is_not_made_up(text: str) -> None:
    with pytest.raises(Unreadable):
        mend(text, Allowance())


def found(text: str) -> Any:
    decision = decode_text(text, (WRITE,))
    return [call.args for call in decision.calls] if isinstance(decision, ToolCalls) else decision


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ('{"name": "write, "arguments": {"path": "a"}}', {"path": "a"}),
        ('{"name": "write", "arguments": {path": "a b"}}\nSo it is.', {"path": "a b"}),
        ('{"name": "write", "arguments": "{"path": "a", "text": "say \\"hi, you\\", x"}"}',
         {"path": "a", "text": 'say "hi, you", x'}),
        ('<tool_call>{"name": "write", "arguments": {"path": "a}}</tool_call>', {"path": "a"}),
        ('Here: "{\\"name\\": \\"write\\", \\"arguments\\": {\\"path\\": \\"a\\"}}"', {"path": "a"}),
        ('```json\n"{\\"name\\": \\"write\\", \\"arguments\\": {\\"path\\": \\"a\\"}}"\n```', {"path": "a"}),
        ('<tool_call>{"name": "write", "arguments": {"path": "a", "mode": 5</tool_call>', {"path": "a", "mode": 5}),
        ('["{\\"name\\": \\"write\\", \\"arguments\\": {\\"path\\": \\"a\\"}}"]', {"path": "a"}),
    ],
)  # fmt: skip
def test_a_call_whose_quotes_hide_its_brackets_is_read(text: str, args: Any) -> None:
    assert found(text) == [args]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "write", "arguments": {"path": "a}}',
        '{"name": "write", "arguments": {"path": "a", "text": "f() { return x }}',
        "{'name': 'write', 'arguments': {'path': 'a', 'text': '",
        "{'name': 'write', 'arguments': {'path': '",
        "<tool_call>{'name': 'write', 'arguments': {'path': '</tool_call>",
        "<function=write><parameter=path></function>",
        '{"name": "write", "arguments": {"path": "5" pipe"}} so {x}',
        'A "{\\"x\\q" and {"name": "write", "arguments": {"path": "a}}',
        '{"name": "write", "arguments": {"path": x y"}} and }',
        '{"name": "write", "arguments": {"path": "a", "text": "b" c}}, d": 5"}',
    ],
)
def test_a_text_that_may_have_been_cut_off_is_never_ended(text: str) -> None:
    decision = found(text)
    assert isinstance(decision, DecodeError)
    assert decision.reason == "malformed"

"""ChatGLM3's calls: a name on a line, and ``tool_call(…)`` in a fence."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
FIND, ADD, NOW = ("search_code", {"pattern": "x"}), ("calculator", {"expression": "1+1"}), dict[str, str]()


def call(name: str, args: str) -> str:
    return f"{name}\n ```python\ntool_call({args})\n```"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (call("search_code", "pattern='x'"), [FIND]),
        ("<|assistant|>" + call("search_code", "pattern='x'"), [FIND]),
        ("I look it up (at once).\n" + call("search_code", 'pattern="x"') + "\nThen I answer.", [FIND]),
        (call("search_code", "pattern='x'").replace("python", ""), [FIND]),
        (call("search_code", "pattern='x'").removesuffix("\n```"), [FIND]),
        (call("search_code", "'x'"), [FIND]),
        (call("now", ""), [("now", NOW)]),
        (call("search_code", "pattern='x'") + "\n<|assistant|>" + call("calculator", "expression='1+1'"), [FIND, ADD]),
        (call("search_code", "pattern='x'") + "\n" + call("search_code", "pattern='x'"), [FIND]),
        (call("search_code", "pattern='say 'x' now'"), [("search_code", {"pattern": "say 'x' now"})]),
    ],
)
def test_the_line_before_the_fence_names_the_tool(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


@pytest.mark.parametrize(
    "quoted", ["$CALL", "<tool_call>$CALL</tool_call>", "[now()]", "\nnow\n```\ntool_call()\n```\n"]
)
def test_a_call_that_an_argument_quotes_is_text(quoted: str, read: Read) -> None:
    call_of_another = '{"name": "now", "arguments": {}}'
    text = f"Write {quoted} on it".replace("$CALL", call_of_another)
    assert read(call("store", f"note={text!r}")) == [("store", {"note": text})]
    assert read(call("store", f"note='''{text}'''")) == [("store", {"note": text})]
    assert read(call("store", f"note={text!r}").partition(" on it")[0], "length") == "cut_off"


@pytest.mark.parametrize("args", ["pattern=x", "pattern='x', pattern='y'", "'x', 1, 2"])
def test_what_cannot_be_read_is_not_run(args: str, read: Read) -> None:
    text = call("search_code", args)
    assert read(text) == "malformed"


def test_a_name_that_is_no_tools_is_an_error_where_nothing_else_is_said(read: Read) -> None:
    text = call("delete", "path='x'")
    assert read(text) == read(f"<|assistant|>{text}") == "unknown_tool"
    assert read(text, tools=None) == [("delete", {"path": "x"})]


def test_the_form_inside_another_call_is_a_value_of_that(read: Read) -> None:
    inside = call("search_code", "pattern='x'")
    assert read(f"<function=store><parameter=note>\n{inside}\n</parameter></function>") == [("store", {"note": inside})]
    assert read(f'store(note="""\n{inside}""")') == [("store", {"note": f"\n{inside}"})]

"""Tags of keys and values that are doubled, absent, or another one."""

from collections.abc import Callable

import pytest

Read = Callable[..., object]
SEARCH = [("search_code", {"pattern": "a b", "max_results": 3})]
REST = "</arg_key><arg_value>a b</arg_value><arg_key>max_results</arg_key><arg_value>3</arg_value></tool_call>"
QUOTED = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    "begin",
    [
        "search_code<arg_key>pattern",
        "search_code<arg_key><arg_key>pattern",
        "search_code\n<arg_key>\n<arg_key>pattern</arg_key>",
        "search_codepattern",
        "search_code pattern",
        "search_code\npattern\n",
        "search_code<tool_call>pattern",
        "search_code</name>pattern",
        "functions.search_code pattern",
    ],
)
def test_the_first_key_is_read(begin: str, read: Read) -> None:
    assert read(f"<tool_call>{begin}{REST}") == SEARCH
    assert read(f"I look.<tool_call>{begin}{REST}</think>") == SEARCH


@pytest.mark.parametrize(
    "between",
    [
        "</arg_value></arg_value><arg_key>",
        "</arg_value>",
        "</arg_value>\n<tool_call>",
        "</arg_value><arg_key>\n<arg_key>",
    ],
)
@pytest.mark.parametrize("begin", ["search_code<arg_key>pattern", "search_codepattern"])
def test_the_next_key_is_read(begin: str, between: str, read: Read) -> None:
    assert read(f"<tool_call>{begin}{REST.replace('</arg_value><arg_key>', between)}") == SEARCH


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"<tool_call>search_codeglob{REST}", "malformed"),
        (f"<tool_call>delete pattern{REST}", "malformed"),
        (f"<tool_call>search_code<arg_key><arg_key>pattern{REST.replace('max_results', 'pattern')}", "malformed"),
        ("</arg_value>a</arg_key><arg_value>b", ("</arg_value>a</arg_key><arg_value>b",)),
    ],
)
def test_nothing_is_guessed(text: str, meant: object, read: Read) -> None:
    assert read(text) == meant


def test_a_value_that_speaks_of_tags_stays_as_it_is(read: Read) -> None:
    said = "a <arg_value>b</arg_value>"
    assert read(f"<tool_call>calculator<arg_key>expression</arg_key><arg_value>{said}</arg_value></tool_call>") == [
        ("calculator", {"expression": said})
    ]
    text = f"use {QUOTED} here"
    assert read(f"<tool_call>calculator<arg_key>expression</arg_key><arg_value>{text}</arg_value></tool_call>") == [
        ("calculator", {"expression": text})
    ]


def test_any_tool_may_be_called_when_none_is_known(read: Read) -> None:
    assert read(f"<tool_call>f<arg_key><arg_key>pattern{REST}", tools=None) == [
        ("f", {"pattern": "a b", "max_results": 3})
    ]

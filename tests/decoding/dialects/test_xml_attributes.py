"""The name of a call in an attribute, in the tag or as its first line, and whatever its arguments are written in."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

Read = Callable[..., object]
FOUND = [("search_code", {"pattern": "x", "max_results": 5})]
JSON = '{"pattern": "x", "max_results": 5}'
ELEMENTS = "<pattern>x</pattern>\n<max_results>5</max_results>"
PARAMETERS = '<parameter=pattern>x</parameter><param name="max_results">5</param>'
BODIES = (
    JSON,
    f"<arguments>{JSON}</arguments>",
    ELEMENTS,
    f"<parameters>{ELEMENTS}</parameters>",
    PARAMETERS,
    ELEMENTS.replace("pattern", "Pattern"),
    PARAMETERS.replace("=pattern", ":pattern"),
    '<arg name="pattern"><![CDATA[x]]></arg><arg key="max_results">5</arg>',
    "<arg_key>pattern</arg_key><arg_value>x</arg_value><arg_key>max_results</arg_key><arg_value>5</arg_value>",
    f'<parameter name="arguments">{JSON}</parameter>',
    f"<param name='properties'>{JSON}</param>".replace('"', "'"),
)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('<tool_call name="search_code">', "</tool_call>"),
        ("<tool name='search_code'>\n", "\n</tool>"),
        ('<call tool="search_code">', "</call>"),
        ("<tool_call>\n<function>search_code</function>\n", "\n</tool_call>"),
        ("<tool_use><server_name>s</server_name><tool_name>search_code</tool_name>", "</tool_use>"),
        ("<tool=search_code>\n", "</tool>"),
        ('<invoke name="search_code">', "</invoke>"),
        ("<function=search_code>\n", "\n</function>\n</tool_call>"),
        ("<search_code>", "</search_code>"),
        ("<SEARCH_CODE>\n", "\n</SEARCH_CODE>"),
    ],
)
def test_any_body_goes_with_any_opening(opening: str, closing: str, body: str, read: Read) -> None:
    assert read(f"{opening}{body}{closing}") == FOUND


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call name="search_code" pattern="x" max_results="5"/>',
        '<invoke name="search_code" pattern="x" max_results="5"></invoke>',
        f"<tool_call name='search_code' arguments='{JSON}'/>",
        '<search_code pattern="x" max_results="5"/>',
        'I look.\n<search_code pattern="x" max_results="5"></search_code>',
        f"<tool_call>search_code\n{PARAMETERS}</tool_call>",
        f"<function>search_code{PARAMETERS}</function>",
        f"search_code>\n{PARAMETERS}</function>",
        f"<tool_call><function=search_code>{BODIES[8]}</function></tool_call>",
        f"=search_code>\n{PARAMETERS}</function>",
        '{"name": "search_code", "arguments": "<pattern>x</pattern><max_results>5</max_results>"}',
        "<function=search_code><parameter=pattern>\nx\n</pattern>\n<parameter=max_results>5</parameter></function>",
        "<function=search_code><parameter=pattern\nx</parameter=pattern><parameter=max_results>5</parameter></function>",
    ],
)
def test_more_places_for_a_name_and_arguments(text: str, read: Read) -> None:
    assert read(text) == FOUND


@pytest.mark.parametrize(
    "text", ['<tool_call name="now"/>', '<invoke name="now"/>', "<now/>", '<tool_use name="now">', "<tool=now></tool>"]
)
def test_a_call_without_arguments_needs_none(text: str, read: Read) -> None:
    assert read(text) == [("now", {})]


@dataclass
class Kept:
    name: str = "keep"
    parameters: dict[str, object] = field(
        default_factory=lambda: {"type": "object", "properties": {"o": {"type": "object"}}}
    )


def test_items_are_a_list_and_members_an_object(read: Read) -> None:
    items = "<item>1</item><item>2</item>"
    assert read(f"<function=add><parameter=values>{items}</parameter></function>") == [("add", {"values": [1, 2]})]
    keep = '<invoke name="keep"><o>{}</o></invoke>'
    assert read(keep.format("<a>x</a><b>y</b>"), tools=[Kept()]) == [("keep", {"o": {"a": "x", "b": "y"}})]
    assert read(keep.format("<a>x</a><a>y</a>"), tools=[Kept()]) == "bad_arguments"
    assert read(keep.format("<a>x</a> and"), tools=[Kept()]) == "bad_arguments"


@pytest.mark.parametrize(
    "value", ["<b>y</b>", "<pattern>y</pattern>\n", "</p> </arg>", "<other>", "</pattern> z", "<arguments>"]
)
def test_a_value_with_tags_is_whole(value: str, read: Read) -> None:
    found = [("search_code", {"pattern": f"a{value}b", "max_results": 5})]
    rest = f"<pattern>a{value}b</pattern><max_results>5</max_results>"
    assert read(f"<search_code>{rest}</search_code>") == found
    assert read(f'<tool_call name="search_code">{rest}</tool_call>') == found


@pytest.mark.parametrize(
    "text",
    [
        '<tool name="search_code"><arg name="pattern">x',
        '<tool name="search_code"><arg name="pattern">x</arg><arg na',
        "<function=search_code><parameter=pattern>x</parameter>\n<parame",
        "<search_code><pattern>a<pattern>x</pattern>",
        '<tool name="search_code"><arg name="pattern">x</arg><arg name="pattern">y</arg></tool>',
        "<function=search_code><parameter=pattern>x</parameter><parameter=pattern>y</parameter></function>",
        '<tool name="store">' + "".join(f'<arg name="a{i}">utc</arg>' for i in range(300)),
        '<tool name="now"><timezone>' + "</timezone>x" * 3000,
    ],
)
def test_what_is_torn_or_said_twice_is_not_run(text: str, read: Read) -> None:
    assert read(text) == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        'A macro like <search_code pattern="x"/> is one way to write it.',
        "The element is written <pattern>x</pattern>.",
        '<now> and <search_code lang="x"> are no tags.',
        'You can write <tool_call name="x"> in XML.',
        '<tool kind="hammer">heavy</tool>',
    ],
)
def test_what_speaks_of_elements_is_the_answer(text: str, read: Read) -> None:
    assert read(text) == (text,)


def test_attributes_and_elements_are_not_mixed(read: Read) -> None:
    text = '<tool_call name="search_code" pattern="x"><max_results>5</max_results></tool_call>'
    assert not isinstance(read(text), list)
    assert not isinstance(read('<tool_call name="search_code" colour="x"/>'), list)


@pytest.mark.parametrize("given", ["<pattern>x</pattern> and more", "<other>x</other>", "x</pattern>"])
def test_arguments_in_tags_must_be_all_there_is(given: str, read: Read) -> None:
    assert read(f'{{"name": "search_code", "arguments": "{given}"}}') == "bad_arguments"


def test_with_unknown_tools_a_sure_form_is_read(read: Read) -> None:
    assert read('<tool_call name="f"><a>1</a></tool_call>', tools=None) == [("f", {"a": 1})]
    assert not isinstance(read("<f><a>1</a></f>", tools=None), list)

"""Arguments as options of a command line."""

from collections.abc import Callable, Sequence

import pytest

from micro_agent.tools import Tool

Read = Callable[..., object]
ADD = [("calculator", {"expression": "1+1"})]
TOOLS: Sequence[Tool] = (
    Tool(
        "find",
        "",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "depth": {"type": "integer"},
                "all": {"type": "boolean"},
            },
        },
        lambda **_: None,  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    ),
)


def _call(options: str, name: str = "find") -> str:
    return f'[TOOL_CALL]\n{{tool => "{name}", args => {{{options}}}}}\n[/TOOL_CALL]'


@pytest.mark.parametrize(
    ("options", "args"),
    [
        ('\n  --name "a b"\n  --depth 3\n', {"name": "a b", "depth": 3}),
        (' --name "a b" --depth 3 ', {"name": "a b", "depth": 3}),
        ("\n--name a b\n--all true\n", {"name": "a b", "all": True}),
        ("--all --name=x", {"all": True, "name": "x"}),
        ("--name x --all", {"name": "x", "all": True}),
        ('--name "say "hi" twice" --depth 1', {"name": 'say "hi" twice', "depth": 1}),
        ('--name "a\\nb \\"c\\""', {"name": 'a\nb "c"'}),
        ('--name "{x}}"', {"name": "{x}}"}),
        ("", {}),
    ],
)
def test_options_are_arguments(options: str, args: object, read: Read) -> None:
    assert read(_call(options), tools=TOOLS) == [("find", args)]
    assert read(f"I look.\n{_call(options)}", tools=TOOLS) == [("find", args)]


def test_several_calls_are_all_made_and_the_last_may_lack_its_marker(read: Read) -> None:
    both = [*ADD, ("search_code", {"pattern": "x"})]
    calls = _call('--expression "1+1"', "calculator") + "\n" + _call('--pattern "x"', "search_code")
    assert read(calls) == both
    assert read(calls.removesuffix("[/TOOL_CALL]")) == both
    assert read(calls.removesuffix("[/TOOL_CALL]"), "length") == "cut_off"


@pytest.mark.parametrize(
    "options",
    ["--name a --name b", "--name --depth 3", '--name "a b', "--name x\nand more", "--name"],
)
def test_what_is_no_list_of_options_is_not_run(options: str, read: Read) -> None:
    assert read(_call(options), tools=TOOLS) == "malformed"


def test_what_ends_too_early_is_not_run(read: Read) -> None:
    assert read('[TOOL_CALL]{tool => "calculator", args => {--expression "1+') == "malformed"
    assert read('[TOOL_CALL]{tool => "calculator", args => {--expression "1+', "length") == "cut_off"


def test_a_marker_in_a_value_is_text(read: Read) -> None:
    inner = '[TOOL_CALL]{"tool": "now", "args": {--x 1}}'
    assert read(f'{{"name": "calculator", "arguments": {{"expression": "{inner.replace(chr(34), "")}"}}}}') == [
        ("calculator", {"expression": inner.replace('"', "")})
    ]
    assert read(_call(f"--expression {inner} ", "calculator")) == [("calculator", {"expression": inner})]

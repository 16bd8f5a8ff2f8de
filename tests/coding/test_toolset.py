"""The whole toolset: its names, kinds and sizes; what holds its commands; and that nothing holding them is said."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from micro_agent.coding import CATEGORIES, CHANGING, EditFormat, category_of
from micro_agent.coding.toolset import coding_toolset
from micro_agent.coding.workplace import open_workplace
from micro_agent.errors import ConfigurationError
from micro_agent.models import announcing
from micro_agent.tools import Tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.execute import execute
from tests.coding.repositories import repository

MOST_TOKENS = 2600
"""Of the JSON that says what the tools are, in each request to a model with 8,192 tokens."""
CHARS_OF_A_TOKEN = 4.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository; the folder of state is beside it."""
    monkeypatch.setenv("MICRO_AGENT_STATE_DIR", str(tmp_path / "state"))
    announcing.once.cache_clear()
    return repository(tmp_path / "repo")


def test_each_tool_has_one_kind_and_each_name_is_a_tool(place: Path):
    named = [name for names in CATEGORIES.values() for name in names]
    assert len(set(named)) == len(named)
    assert [category_of(name) for name in named] == [kind for kind, names in CATEGORIES.items() for _ in names]
    assert category_of("calculator") is None
    seen = set[str]()
    for edits in get_args(EditFormat):
        tools = coding_toolset(place, sandbox="clone", edits=edits)
        changing = CHANGING[edits]
        assert list(tools) == [name for name in named if category_of(name) != "change" or name in changing]
        assert {tool.repository for tool in tools.values()} == {place}
        seen |= tools.keys()
    assert seen == set(named)


def test_without_hints_an_error_says_no_more_than_what_is_wrong(place: Path):
    for tools, hinted in (
        (coding_toolset(place, sandbox="clone"), True),
        (coding_toolset(place, sandbox="clone", hints=False), False),
    ):
        missing = execute(tools["read_file"], {"path": "nowhere.py"}).observation
        assert (missing["error"], "recovery_suggestion" in missing) == ("FILE_NOT_FOUND", hinted)
        edit = tools["edit_file"]
        assert edit.preview
        with pytest.raises(ToolError) as failed:
            edit.preview({"path": "sums.py", "target": "return a / b", "replacement": ""})
        seen = failed.value.observation()
        assert (seen["error"], "recovery_suggestion" in seen) == ("NOT_FOUND_IN_FILE", hinted)
        assert seen["closest"]["lines"]
        assert execute(tools["read_file"], {"path": "sums.py"}).observation["lines"]


def test_what_changes_something_is_not_read_only_and_what_leaves_a_mark_asks_first(place: Path):
    tools = coding_toolset(place, sandbox="clone")
    reading = {name for kind in ("discovery", "search", "read") for name in CATEGORIES[kind]} | {"show_patch"}
    assert {name for name, tool in tools.items() if tool.read_only} == reading
    asking = {name for name, tool in tools.items() if tool.requires_confirmation is True}
    assert asking == {*CHANGING["edit"], "git_push", "create_pr"}
    assert {name for name, tool in tools.items() if tool.preview} >= asking | {*CATEGORIES["verify"]}


def test_what_a_model_is_told_of_them_is_short(place: Path):
    tools = coding_toolset(place, sandbox="clone")
    assert [name for name, tool in tools.items() if len(tool.description) > 200] == []
    told = json.dumps([described(tool) for tool in tools.values()], separators=(",", ":"))
    assert len(told) / CHARS_OF_A_TOKEN < MOST_TOKENS


def described(tool: Tool) -> dict[str, Any]:
    """As OpenAI's API takes it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def test_that_nothing_holds_commands_is_said_once(place: Path, capsys: pytest.CaptureFixture[str]):
    assert not open_workplace(place, sandbox="clone").sandbox.enforces
    open_workplace(place, sandbox="clone")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("micro-agent: NOTHING HOLDS what the model runs: ")


def test_a_sandbox_that_does_not_work_here_is_refused_by_name(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MICRO_AGENT_SANDBOX_IMAGE", "localhost/no-such-image")
    with pytest.raises(ConfigurationError, match="the sandbox container cannot be used here: "):
        open_workplace(place, sandbox="container")

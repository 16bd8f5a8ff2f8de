"""Where tools come from: built in, modules, entry points, a user's list."""
# pyright: reportUnknownMemberType=false, reportMissingTypeArgument=false

import asyncio
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools import Tool, aexecute, as_tool, check, digest, execute, load_tools, tool, toolset
from micro_agent.tools.arguments import Accepted, Faults

PLUGINS = {
    "good_tools": (
        "from micro_agent.tools import tool\n@tool\n"
        "def double(n: int) -> int: return 2 * n\nTOOLS = {'double': double}\n"
    ),
    "lazy_tools": "def triple(n: int) -> int: return 3 * n\ndef get_tools(): return {'triple': triple}\n",
    "clash_tools": "def now() -> str: return 'never'\ndef double(n: int) -> int: return 0\nTOOLS = [now, double]\n",
    "again_tools": "from good_tools import TOOLS\n",
    "broken_tools": "raise RuntimeError('two\\nlines')\n",
    "leaving_tools": "import sys\nsys.exit(3)\n",
    "empty_tools": "",
    "wrong_tools": "TOOLS = 7\n",
    "half_tools": "def ok(n: int) -> int: return n\ndef bad(n): return n\nTOOLS = {'bad': bad, 'ok': ok}\n",
}


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in PLUGINS.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in PLUGINS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_the_built_in_tools_are_there_without_any_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOLS_MODULES", raising=False)
    assert list(load_tools()) == ["calculator", "now"]
    assert list(toolset(None)) == ["calculator", "now"]


@pytest.mark.usefixtures("plugins")
def test_modules_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TOOLS_MODULES", "good_tools, lazy_tools,,again_tools")
    tools = load_tools()
    assert list(tools) == ["calculator", "now", "double", "triple"]
    assert execute(tools["triple"], {"n": 2}).observation == 6
    assert caplog.text == ""


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("missing_tools", "tools of module 'missing_tools' left out: ModuleNotFoundError: No module named"),
        ("broken_tools", "tools of module 'broken_tools' left out: RuntimeError: two lines"),
        ("leaving_tools", "tools of module 'leaving_tools' left out: SystemExit: 3"),
        ("empty_tools", "it has neither TOOLS nor get_tools()"),
        ("wrong_tools", "expected dict[str, Tool], got int"),
        (
            "half_tools",
            "a tool of module 'half_tools' left out: ToolDefinitionError: tool 'bad': argument 'n' has no type",
        ),
    ],
)
def test_a_plugin_that_fails_is_named_and_skipped(module: str, says: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "micro_agent"):
        tools = load_tools(modules=f"{module},good_tools")
    assert {"calculator", "now", "double"} <= set(tools)
    assert [says in record.getMessage() for record in caplog.records] == [True]
    assert all("\n" not in record.getMessage() for record in caplog.records)


@pytest.mark.usefixtures("plugins")
def test_of_two_tools_with_one_name_the_first_wins_and_a_warning_says_so(caplog: pytest.LogCaptureFixture) -> None:
    tools = load_tools(modules="good_tools,clash_tools")
    assert execute(tools["double"], {"n": 4}).observation == 8
    assert "iso" in execute(tools["now"], {}).observation
    assert "tool 'now' of module 'clash_tools' left out: the one of micro_agent wins" in caplog.text
    assert "tool 'double' of module 'clash_tools' left out: the one of module 'good_tools' wins" in caplog.text


def test_entry_points_of_installed_packages_are_found(plugins: Path) -> None:
    info = plugins / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", encoding="utf-8")
    entries = "[micro_agent.tools]\na=good_tools:double\nb=lazy_tools:get_tools\nc=broken_tools\nd=half_tools:TOOLS\n"
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    code = "import json; from micro_agent.tools import load_tools; print(json.dumps(list(load_tools())))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(plugins), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert json.loads(done.stdout) == ["calculator", "now", "double", "triple", "ok"]
    assert "tools of entry point 'c' (broken_tools) left out: RuntimeError: two lines" in done.stderr


def shout(text: str) -> str:
    """Make it loud."""
    return text.upper()


class Speaker:
    def whisper(self, text: str) -> str:
        return text.lower()


def test_a_users_list_keeps_its_order_and_takes_functions() -> None:
    loud = tool(name="loud")(shout)
    tools = toolset([shout, loud, Speaker().whisper])
    assert list(tools) == ["shout", "loud", "whisper"]
    assert tools["loud"] is loud
    assert execute(tools["whisper"], {"text": "A"}).observation == "a"
    assert toolset([]) == {}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools are named 'shout'"):
        toolset([shout, tool(shout)])


@pytest.mark.parametrize(("thing", "shown"), [(3, "a value of type int"), (Speaker, "Speaker"), (None, "NoneType")])
def test_what_is_no_tool_is_refused(thing: object, shown: str) -> None:
    with pytest.raises(ToolDefinitionError, match=f"{shown} is not a tool: pass a Tool, a function"):
        as_tool(thing)


def test_the_digest_is_of_what_the_model_is_told() -> None:
    a, b = tool(name="a")(shout), tool(name="b")(shout)
    assert digest([a, b]) == digest({"b": b, "a": a})
    assert len(digest([])) == 64
    assert digest([a]) == digest([tool(name="a", read_only=True)(shout)])
    assert len({digest([a]), digest([b]), digest([tool(name="a", description="x")(shout)]), digest([])}) == 4
    parameters: dict[str, Any] = {**a.parameters, "required": []}
    assert digest([a]) != digest([Tool("a", a.description, parameters, shout)])


def test_a_dspy_tool_is_taken_with_its_schema() -> None:
    import dspy

    def search(query: str, limit: int = 5) -> str:
        """Search the web."""
        return f"{query}:{limit}"

    taken = as_tool(dspy.Tool(search))
    assert (taken.name, taken.description) == ("search", "Search the web.")
    assert taken.parameters["required"] == ["query"]
    assert isinstance(check(taken, {"query": "x", "other": 1}), Faults)
    assert execute(taken, {"query": "x", "limit": 2}).observation == "x:2"


def test_an_async_and_an_open_ended_dspy_tool_work_too() -> None:
    import dspy

    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return url

    def anything(a: int, **more: int) -> int:
        return a + sum(more.values())

    def forward(**arguments: int) -> int:
        return sum(arguments.values())

    fetched = as_tool(dspy.Tool(fetch))
    assert fetched.is_async
    assert execute(fetched, {"url": "u"}).observation == "u"
    assert asyncio.run(aexecute(fetched, {"url": "v"})).observation == "v"
    more = as_tool(dspy.Tool(anything))
    assert check(more, {"a": 1, "b": 2}) == Accepted({"a": 1, "b": 2})
    assert execute(more, {"a": 1, "b": 2}).observation == 3
    schema: dict[str, Any] = {"x": {"type": "integer"}, "y": {"type": "integer", "default": 1}}
    named = as_tool(dspy.Tool(forward, args=schema))
    assert named.parameters["required"] == ["x"]
    assert isinstance(check(named, {"x": 1, "z": 2}), Faults)

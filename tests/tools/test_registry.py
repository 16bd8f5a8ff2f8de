"""Where tools come from: built in, modules, entry points, a user's list."""
# pyright: reportUnknownMemberType=false, reportMissingTypeArgument=false

import asyncio
import json
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
    "clash_tools": "def now() -> str: return 'never'\n\nTOOLS = [now]\n",
    "twice_tools": "import good_tools\n\ndef double(n: int) -> int: return 0\n\nTOOLS = [double]\n",
    "decorated_tools": (
        "from micro_agent import tool\nfrom good_tools import double\n_double = double\n\n"
        "@tool\ndef half(n: int) -> float: return n / 2\n\ndef helper(x): return x\n"
    ),
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
def test_without_a_list_a_module_gives_its_decorated_functions() -> None:
    assert list(load_tools(modules="decorated_tools")) == ["calculator", "now", "double", "half"]
    assert list(load_tools(modules=["decorated_tools"], builtin=False)) == ["double", "half"]


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("missing_tools", "there is no module 'missing_tools'; name a file (./missing_tools.py), or"),
        ("missing.tools", "there is no module 'missing'; name a file (./missing.tools.py), or"),
        ("missing_tools.py", "there is no such file"),
        ("broken_tools", "broken_tools.py:1: RuntimeError: two lines"),
        ("leaving_tools", "leaving_tools.py:2: SystemExit: 3"),
        ("empty_tools", "there is no tool in it: decorate its functions with @tool"),
        ("wrong_tools", "expected a dict or a list of tools, got int"),
        ("half_tools", "half_tools.py:2: tool 'bad': argument 'n' has no type"),
        ("clash_tools", "clash_tools.py:1: a built-in one has the name 'now' too; rename it, or leave the built-in"),
        ("twice_tools", "twice_tools.py:3: one of good_tools has the name 'double' too; rename one of them"),
    ],
)
def test_what_is_named_and_cannot_be_loaded_is_refused_with_its_line(plugins: Path, module: str, says: str) -> None:
    with pytest.raises(ToolDefinitionError) as error:
        load_tools(modules=f"good_tools,{module}")
    told = str(error.value)
    assert told.startswith(f"the tools of {module} cannot be loaded: ")
    assert says in told
    assert "\n" not in told


def test_a_file_is_loaded_by_its_path_and_finds_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    for folder, factor in (("a", 2), ("b", 3)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"neighbour_{folder}.py").write_text(f"FACTOR = {factor}\n")
        text = (
            f"from dataclasses import dataclass\nfrom micro_agent import tool\nfrom neighbour_{folder} import FACTOR\n"
            f"@dataclass\nclass Count:\n    n: int\n"
            f"@tool\ndef times_{folder}(count: Count) -> int:\n    return count.n * FACTOR\n"
        )
        (tmp_path / folder / "json.py").write_text(text)  # another file, and the standard library, have this name
    tools = load_tools(modules=[str(tmp_path / "a/json.py"), str(tmp_path / "b/../b/json.py")])
    assert list(tools) == ["calculator", "now", "times_a", "times_b"]
    assert execute(tools["times_b"], {"count": {"n": 5}}).observation == 15
    assert load_tools(modules=[str(tmp_path / "b/json.py")])["times_b"] is tools["times_b"]
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("from micro_agent import tool\ndef f(:\n", ":2: SyntaxError: invalid syntax"),
        ("import no_such_library\n", ":1: ModuleNotFoundError: No module named 'no_such_library'"),
        ("import json\n\njson.loads('{')\n", ":3: JSONDecodeError: "),
        ("from micro_agent import tool\n\n@tool\ndef f(x): ...\n", ": tool 'f': argument 'x' has no type"),
    ],
)
def test_a_fault_of_a_file_is_told_with_its_line_and_the_next_try_loads_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("mine.py").write_text(text)
    with pytest.raises(ToolDefinitionError) as error:
        load_tools(modules="./mine.py")
    assert str(error.value).startswith("the tools of ./mine.py cannot be loaded: mine.py:")
    assert says in str(error.value)
    Path("mine.py").write_text("from micro_agent import tool\n@tool\ndef right(x: int) -> int: return x\n")
    os.utime("mine.py", (1, 1))  # not the bytecode of the first one
    assert "right" in load_tools(modules="./mine.py")


def test_a_folder_and_what_is_no_python_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("TOOLS = {}")
    with pytest.raises(ToolDefinitionError, match=r"it is a folder; name a \.py file"):
        load_tools(modules=str(tmp_path))
    with pytest.raises(ToolDefinitionError, match=r"not a Python file; its name must end with \.py"):
        load_tools(modules=str(tmp_path / "text"))


def test_entry_points_of_installed_packages_are_found(plugins: Path) -> None:
    info = plugins / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n", encoding="utf-8")
    entries = ["a=good_tools:double", "b=lazy_tools:get_tools", "c=broken_tools", "d=half_tools:TOOLS",
               "e=clash_tools:TOOLS"]  # fmt: skip
    (info / "entry_points.txt").write_text("\n".join(["[micro_agent.tools]", *entries, ""]), encoding="utf-8")
    code = "import json; from micro_agent.tools import load_tools; print(json.dumps(list(load_tools())))"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(plugins), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert json.loads(done.stdout) == ["calculator", "now", "double", "triple", "ok"]
    assert "tools of entry point 'c' (broken_tools) left out: RuntimeError: two lines" in done.stderr
    assert "a tool of entry point 'd' (half_tools:TOOLS) left out: tool 'bad': argument 'n' has no type" in done.stderr
    assert "tool 'now' of entry point 'e' (clash_tools:TOOLS) left out: the one of micro_agent wins" in done.stderr


def test_a_package_that_is_installed_later_is_found_and_one_that_is_gone_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert "later" not in load_tools()
    (tmp_path / "later_tools.py").write_text(
        "def later() -> str:\n    'Say it later.'\n    return 'now'\nTOOLS = [later]\n"
    )
    info = tmp_path / "later-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[micro_agent.tools]\na=later_tools:TOOLS\n", encoding="utf-8")
    assert "later" in load_tools()
    info.rename(tmp_path / "gone")
    assert "later" not in load_tools()


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

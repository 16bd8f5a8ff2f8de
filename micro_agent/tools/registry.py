"""The tools there are: the built-in ones, those that a user names or passes, and those of plugins."""

import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.adopt import as_tool
from micro_agent.tools.loading import listed, load_named, one_line, place_of
from micro_agent.tools.tool import Tool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "micro_agent.tools"
_log = logging.getLogger("micro_agent")


def load_tools(
    *, modules: str | Sequence[str] | None = None, builtin: bool | Mapping[str, Tool] = True
) -> dict[str, Tool]:
    """The built-in tools, those of the files and modules that the user names, and those of plugins, by name.

    What a file or module gives is said in `load_named`. A plugin is an entry point of the group ``micro_agent.tools``:
    a Tool, a dict or list of tools, or a function that returns one of these. One that fails, or has the name of a tool
    that is there already, is named in a warning of the logger ``micro_agent`` and left out.

    Args:
        modules: Files and import names, with commas between where it is text; default the environment variable
            ``TOOLS_MODULES``.
        builtin: Whether ``calculator`` and ``now`` are among them, or the tools that stand in their place.

    Raises:
        ToolDefinitionError: What is named cannot be loaded, or two tools have the same name; one line says where.
    """
    if modules is None:
        modules = os.environ.get("TOOLS_MODULES", "")
    found: dict[str, tuple[Tool, str]] = {}
    if isinstance(builtin, Mapping):
        found = {name: (tool, "the toolset") for name, tool in builtin.items()}
    elif builtin:
        found = {tool.name: (tool, "micro_agent") for tool in _built_in()}
    for name in filter(None, map(str.strip, modules.split(",") if isinstance(modules, str) else modules)):
        for tool in load_named(name):
            kept, owner = found.setdefault(tool.name, (tool, name))
            if kept is not tool:
                raise ToolDefinitionError(_two(tool, name, owner))
    for entry in _entry_points():
        _add_plugin(found, f"entry point {entry.name!r} ({entry.value})", entry.load)
    return {name: tool for name, (tool, _) in found.items()}


def toolset(tools: object) -> dict[str, Tool]:
    """The tools of an agent, by name and in the order given; ``None`` is `load_tools`.

    Args:
        tools: Tools, typed functions, ``dspy.Tool``: several, as `load_tools` gives them too, or one.

    Raises:
        ToolDefinitionError: One is not a tool, or two have the same name.
    """
    if tools is None:
        return load_tools()
    found: dict[str, Tool] = {}
    for tool in map(as_tool, _several(tools)):
        if tool.name in found:
            raise ToolDefinitionError(f"two tools are named {tool.name!r}; give one of them another name")
        found[tool.name] = tool
    return found


def _several(tools: object) -> Iterable[object]:
    if isinstance(tools, Mapping):
        return cast("Mapping[str, object]", tools).values()
    if callable(tools) or not isinstance(tools, Iterable):
        return [tools]
    return cast("Iterable[object]", tools)


def callable_names(tools: Mapping[str, Tool]) -> set[str]:
    """The names of all that can be called: the tools, and those behind them."""
    return set(tools).union(*(tool.behind for tool in tools.values()))


def repositories_of(tools: Mapping[str, Tool]) -> list[Path]:
    """The folders that tools let a model work in."""
    return list(dict.fromkeys(tool.repository for tool in tools.values() if tool.repository is not None))


def digest(tools: Mapping[str, Tool] | Iterable[Tool]) -> str:
    """Sha256 (hexadecimal) over what the model is told: name, description and parameters, in order of name.

    What it is told of tools behind another when it looks for them counts too.
    """
    listed = list(cast("Mapping[str, Tool]", tools).values() if isinstance(tools, Mapping) else tools)
    behind = [hidden for tool in listed for hidden in tool.behind.values()]
    told = [[tool.name, tool.description, tool.parameters] for tool in sorted([*listed, *behind], key=lambda t: t.name)]
    return hashlib.sha256(json.dumps(told).encode("ascii")).hexdigest()


def _built_in() -> list[Tool]:
    from micro_agent.tools.calculator import calculator
    from micro_agent.tools.clock import now

    return [calculator, now]


def _two(tool: Tool, name: str, owner: str) -> str:
    other, remedy = f"one of {owner} has", "rename one of them"
    if owner == "micro_agent":
        other, remedy = "a built-in one has", "rename it, or leave the built-in ones out (--no-builtin-tools)"
    return f"the tools of {name} cannot be loaded: {place_of(tool)}{other} the name {tool.name!r} too; {remedy}"


def _entry_points() -> "tuple[EntryPoint, ...]":
    return _found_in(tuple((place, _changed_at(place)) for place in map(os.path.abspath, sys.path)))


@lru_cache(maxsize=1)
def _found_in(places: tuple[tuple[str, int | None], ...]) -> "tuple[EntryPoint, ...]":
    """Those of the packages there; a file of each package is read, so not again before a package comes or goes."""
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name))


def _changed_at(place: str) -> int | None:
    """When something came into a folder, or went, in nanoseconds; ``None`` where there is no folder."""
    try:
        return os.stat(place).st_mtime_ns
    except OSError:
        return None


def _add_plugin(found: dict[str, tuple[Tool, str]], source: str, load: Callable[[], object]) -> None:
    try:
        items = list(listed(load()))
    except (Exception, SystemExit) as error:  # noqa: BLE001 a plugin may fail in any way, and must not end the program
        _log.warning("tools of %s left out: %s", source, one_line(error))
        return
    for item in items:
        try:
            tool = as_tool(item)
        except ToolDefinitionError as error:
            _log.warning("a tool of %s left out: %s", source, one_line(error))
            continue
        kept, owner = found.setdefault(tool.name, (tool, source))
        if kept is not tool:
            _log.warning("tool %r of %s left out: the one of %s wins", tool.name, source, owner)

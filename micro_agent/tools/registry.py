"""The tools there are: the built-in ones, those of plugins, and those a user passes."""

import hashlib
import importlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from micro_agent.errors import ToolDefinitionError
from micro_agent.tools.adopt import as_tool
from micro_agent.tools.tool import Tool

ENTRY_POINTS = "micro_agent.tools"
_log = logging.getLogger("micro_agent")


def load_tools(*, modules: str | None = None) -> dict[str, Tool]:
    """The built-in tools and those of plugins, by name.

    A plugin is a module with ``TOOLS: dict[str, Tool]`` or ``get_tools() -> dict[str, Tool]``, or an entry point of the
    group ``micro_agent.tools``: a Tool, such a dict, or a function that returns one. A plugin that fails is named in a
    warning of the logger ``micro_agent`` and left out. Of two tools with one name the first is kept, with a warning:
    built-in tools come first, then the modules as listed, then the entry points by name.

    Args:
        modules: Module names with commas between; default the environment variable ``TOOLS_MODULES``.
    """
    found: dict[str, tuple[Tool, str]] = {}
    for source, load in _sources(os.environ.get("TOOLS_MODULES", "") if modules is None else modules):
        try:
            loaded = list(_listed(load()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 a plugin may fail in any way, and must not end the program
            _log.warning("tools of %s left out: %s", source, _reason(error))
            continue
        for item in loaded:
            _add(found, source, item)
    return {name: tool for name, (tool, _) in found.items()}


def toolset(tools: Iterable[object] | None) -> dict[str, Tool]:
    """The tools of an agent, by name and in the order given; ``None`` is `load_tools`.

    Args:
        tools: Tools, typed functions, ``dspy.Tool``.

    Raises:
        ToolDefinitionError: One is not a tool, or two have the same name.
    """
    if tools is None:
        return load_tools()
    found: dict[str, Tool] = {}
    for tool in map(as_tool, tools):
        if tool.name in found:
            raise ToolDefinitionError(f"two tools are named {tool.name!r}; give one of them another name")
        found[tool.name] = tool
    return found


def digest(tools: Mapping[str, Tool] | Iterable[Tool]) -> str:
    """Sha256 (hexadecimal) over what the model is told: name, description and parameters, in order of name."""
    listed = cast("Mapping[str, Tool]", tools).values() if isinstance(tools, Mapping) else tools
    told = [[tool.name, tool.description, tool.parameters] for tool in sorted(listed, key=lambda tool: tool.name)]
    return hashlib.sha256(json.dumps(told).encode("ascii")).hexdigest()


def _sources(modules: str) -> Iterator[tuple[str, Callable[[], object]]]:
    from importlib.metadata import entry_points

    yield "micro_agent", _built_in
    for name in filter(None, map(str.strip, modules.split(","))):
        yield f"module {name!r}", lambda name=name: _of_module(name)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        yield f"entry point {entry.name!r} ({entry.value})", entry.load


def _built_in() -> list[Tool]:
    from micro_agent.tools.calculator import calculator
    from micro_agent.tools.clock import now

    return [calculator, now]


def _of_module(name: str) -> object:
    module = importlib.import_module(name)
    if hasattr(module, "TOOLS"):
        return module.TOOLS
    if hasattr(module, "get_tools"):
        return module.get_tools
    raise ToolDefinitionError("it has neither TOOLS nor get_tools()")


def _listed(loaded: object) -> Iterable[object]:
    """The tools in what a plugin gave: one Tool, a dict of tools, or a function that returns a dict."""
    if isinstance(loaded, Tool):
        return [loaded]
    if callable(loaded):
        loaded = loaded()
    if isinstance(loaded, Mapping):
        return cast("Mapping[str, object]", loaded).values()
    if isinstance(loaded, list):
        return cast("list[object]", loaded)
    raise ToolDefinitionError(f"expected dict[str, Tool], got {type(loaded).__name__}")


def _add(found: dict[str, tuple[Tool, str]], source: str, item: object) -> None:
    try:
        tool = as_tool(item)
    except ToolDefinitionError as error:
        _log.warning("a tool of %s left out: %s", source, _reason(error))
        return
    kept, owner = found.setdefault(tool.name, (tool, source))
    if kept is not tool:
        _log.warning("tool %r of %s left out: the one of %s wins", tool.name, source, owner)


def _reason(error: BaseException) -> str:
    """The error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]

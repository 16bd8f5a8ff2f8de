"""The tools of the MCP servers that ``--mcp`` or ``MICRO_AGENT_MCP`` names, beside the others."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from micro_agent.mcp import Server
    from micro_agent.mcp.tools import McpTools
    from micro_agent.models.settings import Settings
    from micro_agent.tools import Tool


def with_servers(
    tools: "Mapping[str, Tool]", found: "Settings", root: Path | None, connected: "Sequence[Tool] | None" = None
) -> "dict[str, Tool]":
    """The tools with those of the servers behind them, which are ``connected`` where they were connected to already.

    Raises:
        ConfigurationError: A file that names servers cannot be read, or is in ``root``, where a model works.
        ToolDefinitionError: One of theirs has the name of another tool.
    """
    if connected is None:
        if not (files := _files(found, root)):
            return dict(tools)
        connected = _connected(files, found.context_length or found.ollama_num_ctx)
    from micro_agent.tools.registry import toolset

    return toolset([*tools.values(), *connected])


def connected_with(sent: "Sequence[Server]", found: "Settings", root: Path | None) -> "McpTools":
    """Those of the files and those that an editor has sent, connected to. Raises `ConfigurationError`."""
    from micro_agent.doors.acp.servers import named_apart
    from micro_agent.mcp import mcp_tools
    from micro_agent.mcp.config import servers

    own = servers(_files(found, root))
    apart = named_apart(sent, [server.name for server in own])
    return mcp_tools([*own, *apart], context_length=found.context_length or found.ollama_num_ctx)


def _files(found: "Settings", root: Path | None) -> tuple[str, ...]:
    """The files that name servers; none of them is in ``root``, where a model works. Raises `ConfigurationError`."""
    from micro_agent.files.outside import refuse_inside
    from micro_agent.models.announcing import once

    files = found.micro_agent_mcp
    if files and (file := found.file_of("micro_agent_mcp")):
        once(f"MICRO_AGENT_MCP in {file} names servers that are started: {', '.join(files)}")
    for closed, name in product([] if root is None else [root], files):
        refuse_inside(closed, Path(name).expanduser(), "a file of MCP servers (--mcp)")
    return files


@cache
def _connected(files: tuple[str, ...], context_length: int) -> "McpTools":
    """Connected to once in a process, which the servers end with."""
    from micro_agent.mcp import mcp_tools

    return mcp_tools(files, context_length=context_length)

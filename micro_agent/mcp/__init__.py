"""Other people's tools over the Model Context Protocol (https://modelcontextprotocol.io), for an agent of ours.

What a server says is data: its tools run when a person agrees, unless they trust it by name; its texts are cut and
bounded; its program gets no key of ours. Needs the extra ``mcp``, which is imported when it is used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from micro_agent.extras import need
from micro_agent.mcp.config import Given, Server

if TYPE_CHECKING:
    from micro_agent.mcp.tools import McpTools

__all__ = ["Given", "Server", "mcp_tools", "with_mcp"]


def mcp_tools(given: Given | Sequence[Given], *, context_length: int | None = None, pause_s: float = 1.0) -> "McpTools":
    """The tools of MCP servers, connected to: a sequence to give to an agent, and a context manager that ends them.

        with mcp_tools("mcp.json") as tools:
            MicroAgent(tools=[*tools], lm=…).ask("…")

    Args:
        given: A file with ``mcpServers``, the same as data, one server with its ``name``; or several of these.
        context_length: Tokens of the model's context [8192]: tools above a tenth of it are found by a search.
        pause_s: Seconds before a server that has ended is started again, doubled each time that this fails.

    Raises:
        ConfigurationError: What is given cannot be read, or the extra is not installed.
    """
    need("mcp", "mcp")
    from micro_agent.mcp.tools import McpTools

    return McpTools(given, context_length=context_length, pause_s=pause_s)


def with_mcp(tools: Any, given: Given | Sequence[Given] | None) -> Any:
    """The tools of an agent, ``None`` being the built-in ones, with those of MCP servers behind them."""
    if given is None:
        return tools
    from micro_agent.tools.registry import toolset

    return [*toolset(tools).values(), *mcp_tools(given)]

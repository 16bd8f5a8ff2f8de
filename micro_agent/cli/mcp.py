"""`micro-agent mcp`: the agent and the user's tools as an MCP server, on standard input and output."""

from dataclasses import dataclass, replace
from typing import ClassVar

import typer

from micro_agent.cli.agent_options import AgentOptions, taking
from micro_agent.cli.options import Approve, settings
from micro_agent.cli.spans import seen
from micro_agent.extras import need


@dataclass(frozen=True, kw_only=True)
class McpOptions(AgentOptions):
    """What is said on the command line about the agent behind an MCP server."""

    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"toolset", "repo", "sandbox"})


@taking
def mcp(context: typer.Context, *, options: McpOptions) -> None:
    """Serve `ask` and your own tools over MCP, on standard input and output: a client starts this command."""
    need("mcp", "mcp")
    made = replace(options, approve=options.approve or Approve.pause).made()
    import asyncio

    from micro_agent.doors.mcp_server import Door
    from micro_agent.tools import load_tools

    own = load_tools(modules=settings(tools=options.tools).tools_modules, builtin=False)
    unasked = options.approve.value if options.approve and options.approve is not Approve.ask else "pause"
    context.with_resource(seen(options.phoenix, called=False))
    asyncio.run(Door(made.agent, own, unasked=unasked).serve())

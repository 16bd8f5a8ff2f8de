"""`micro-agent tools`: what the agent can call."""

from micro_agent.cli.messages import print_json, print_text
from micro_agent.cli.options import Json, Mcp, NoBuiltinTools, NoRequiredTools, Tools, settings, tools_of
from micro_agent.cli.repository import Repo, SandboxKind, Toolset, repository_of


def tools(
    toolset: Toolset = None,
    repo: Repo = None,
    sandbox: SandboxKind = None,
    tools: Tools = None,
    mcp: Mcp = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    as_json: Json = False,
) -> None:
    """List the tools that the model can call."""
    repository = repository_of(toolset, repo, sandbox)
    found = settings(
        tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools, repository=repository,
        mcp=mcp,
    )  # fmt: skip
    loaded = tools_of(found, repository).values()
    if as_json:
        listed = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in loaded]
        print_json(listed)
        return
    for tool in loaded:
        asks = "  (asks for confirmation)" if tool.requires_confirmation else ""
        arguments = ", ".join(tool.parameters.get("properties", {}))
        print_text(f"{tool.name} {{{arguments}}}{asks}\n    {tool.description}")

"""`micro-agent tools`: what the agent can call."""

from micro_agent.cli.messages import print_json, print_text
from micro_agent.cli.options import Json, NoBuiltinTools, NoRequiredTools, Tools, settings, tools_of


def tools(
    tools: Tools = None,
    no_builtin_tools: NoBuiltinTools = False,
    no_required_tools: NoRequiredTools = False,
    as_json: Json = False,
) -> None:
    """List the tools that the model can call."""
    found = settings(tools=tools, no_builtin_tools=no_builtin_tools, no_required_tools=no_required_tools)
    loaded = tools_of(found).values()
    if as_json:
        listed = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in loaded]
        print_json(listed)
        return
    for tool in loaded:
        asks = "  (asks for confirmation)" if tool.requires_confirmation else ""
        arguments = ", ".join(tool.parameters.get("properties", {}))
        print_text(f"{tool.name} {{{arguments}}}{asks}\n    {tool.description}")

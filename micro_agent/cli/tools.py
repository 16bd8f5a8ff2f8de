"""`micro-agent tools`: what the agent can call."""

from micro_agent.cli.messages import print_json, print_text
from micro_agent.cli.options import Json, settings, tools_of


def tools(as_json: Json = False) -> None:
    """List the tools, plugins included."""
    loaded = tools_of(settings()).values()
    if as_json:
        listed = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in loaded]
        print_json(listed)
        return
    for tool in loaded:
        asks = "  (asks for confirmation)" if tool.requires_confirmation else ""
        arguments = ", ".join(tool.parameters.get("properties", {}))
        print_text(f"{tool.name} {{{arguments}}}{asks}\n    {tool.description}")

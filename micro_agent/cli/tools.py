"""`micro-agent tools`: what the agent can call."""

import json
from typing import Annotated

import typer


def tools(
    as_json: Annotated[
        bool, typer.Option("--json", envvar="MICRO_AGENT_JSON", help="Print names and schemas.")
    ] = False,
) -> None:
    """List the tools, plugins included."""
    from micro_agent.tools import load_tools

    loaded = load_tools().values()
    if as_json:
        listed = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in loaded]
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    for tool in loaded:
        asks = "  (asks for confirmation)" if tool.requires_confirmation else ""
        typer.echo(f"{tool.name} {{{', '.join(tool.parameters.get('properties', {}))}}}{asks}\n    {tool.description}")

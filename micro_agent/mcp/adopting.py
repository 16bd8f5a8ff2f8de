"""A server's tool as a `Tool`: its name behind that of the server, its schema as it is, a person's word before it."""

import hashlib
import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

import mcp_types

from micro_agent.errors import ToolDefinitionError
from micro_agent.mcp.config import Server
from micro_agent.mcp.results import result_of
from micro_agent.text.printable import printable
from micro_agent.tools.tool import Tool

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_MOST_NAME, _MOST_DESCRIPTION, _MOST_SCHEMA = 64, 2000, 32_000
_DIGITS = 6

Calling = Callable[[str, dict[str, Any]], Coroutine[Any, Any, mcp_types.CallToolResult]]
"""Calls a tool of the server by its own name."""


def adopted(server: Server, tool: mcp_types.Tool, call: Calling) -> Tool:
    """The tool.

    Unless the person trusts the server, each call is put to them, and nothing is run twice on its word that it only
    reads. Where it is trusted, its hints count: without any, a tool may destroy things, as MCP has it.

    Raises:
        ToolDefinitionError: It cannot be one: its schema is too long, refers to other documents or is no schema.
    """
    hints = tool.annotations or mcp_types.ToolAnnotations()
    reads = hints.read_only_hint is True
    destroys = not reads and hints.destructive_hint is not False
    named = isinstance(server.trust, frozenset) and tool.name in server.trust
    name = _name(server.name, tool.name)
    if len(json.dumps(tool.input_schema)) > _MOST_SCHEMA:
        raise ToolDefinitionError(f"tool {name!r}: its schema has more than {_MOST_SCHEMA} characters")

    async def handler(**arguments: Any) -> Any:
        return result_of(await call(tool.name, arguments))

    return Tool(
        name, _described(tool), tool.input_schema, handler, read_only=reads and (named or server.trust is True),
        destructive=destroys, requires_confirmation=not named and (destroys or server.trust is not True),
        timeout_s=server.timeout_s + server.start_timeout_s,
    )  # fmt: skip


def _name(server: str, tool: str) -> str:
    """The name of a tool beside those of others; one that is too long ends with digits of its own."""
    name = f"{server}__{_NOT_IN_NAMES.sub('_', tool)}"
    if len(name) <= _MOST_NAME:
        return name
    return name[: _MOST_NAME - _DIGITS] + hashlib.sha256(tool.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def _described(tool: mcp_types.Tool) -> str:
    """What it does, in the server's words; what does not show in them is an escape, so that a person reads the same."""
    text = printable(tool.description or tool.title or tool.name).strip()
    return text if len(text) <= _MOST_DESCRIPTION else text[:_MOST_DESCRIPTION] + "…"

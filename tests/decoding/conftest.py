"""The tools that the decoding tests offer."""

from collections.abc import Sequence

import pytest

from micro_agent.tools import Tool


def _nothing(**_: object) -> None:
    return None


def _tool(name: str, properties: dict[str, object], *required: str) -> Tool:
    return Tool(name, "", {"type": "object", "properties": properties, "required": list(required)}, _nothing)


TOOLS: Sequence[Tool] = (
    _tool("calculator", {"expression": {"type": "string"}}, "expression"),
    _tool("now", {"timezone": {"type": "string"}}),
    _tool("search_code", {"pattern": {"type": "string"}, "max_results": {"type": "integer"}}, "pattern"),
    _tool("add", {"values": {"type": "array", "items": {"type": "integer"}}}, "values"),
    Tool("store", "", {"type": "object", "additionalProperties": True}, _nothing),
)


@pytest.fixture(scope="session")
def tools() -> Sequence[Tool]:
    return TOOLS

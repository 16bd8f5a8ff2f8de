"""Servers made with the SDK: over standard streams and HTTP, in the form of the protocol that has no session."""

import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from micro_agent.mcp import mcp_tools
from tests.mcp.conftest import HERE, Spec, called, seen
from tests.warm import Warm

if TYPE_CHECKING:
    from micro_agent.mcp.tools import McpTools


@pytest.fixture
def port(warm: Warm) -> Iterator[int]:
    """Where the polite server listens by HTTP."""
    process = warm.start(HERE / "polite.py", "http", stdout=subprocess.PIPE)
    assert process.stdout is not None
    yield int(process.stdout.readline())
    process.kill()
    process.stdout.close()
    process.wait(10)


def check(tools: "McpTools") -> None:
    tool = {name.removeprefix("polite__"): tool for name, tool in tools.offered.items()}
    assert tool["add"].parameters["properties"]["b"] == {"default": 2, "title": "B", "type": "integer"}
    assert tool["add"].description == "Add two numbers."
    assert (tool["add"].read_only, tool["fail"].destructive) == (True, True)
    assert seen(tool["add"], a=1) == {"total": 3}
    assert seen(tool["picture"]) == "Here.\n(400 bytes of image/png, not shown)"
    assert seen(tool["linked"]) == (
        "(file:///a.txt)\nhello\n(file:///b.bin: 3 bytes of data, not shown)\n(file:///c.txt: The third.)"
    )
    assert (called(tool["error"]).ok, seen(tool["error"])) == (True, {"result": {"error": "APPROVAL_REQUIRED"}})
    failed = called(tool["fail"])
    assert (failed.ok, failed.error) == (False, "MCP_TOOL_FAILED")
    assert "fail" in failed.observation["message"]


def test_it_is_used_over_its_standard_streams(polite: Spec) -> None:
    with mcp_tools({**polite, "trust": True}) as tools:
        check(tools)
        tool = tools.offered
        assert seen(tool["polite__wants_input"])["error"] == "MCP_INPUT_REQUIRED"
        assert seen(tool["polite__rename"]) == {"result": "done"}
        for _ in range(100):
            if seen(tool["polite__fail"])["error"] == "MCP_TOOL_CHANGED":
                break
        else:
            pytest.fail("it was not heard that the tools are others")
        assert seen(tool["polite__add"], a=3) == {"total": 5}


def test_it_is_used_over_http(port: int) -> None:
    with mcp_tools({"mcpServers": {"polite": {"url": f"http://127.0.0.1:{port}/mcp", "trust": True}}}) as tools:
        check(tools)

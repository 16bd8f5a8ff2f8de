"""An MCP server made with the SDK. It speaks on its standard streams, or over HTTP on a port that it prints."""

import sys

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import (
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    InputRequiredResult,
    ResourceLink,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel

server = MCPServer("polite", log_level="ERROR")


class Sum(BaseModel):
    """What came out."""

    total: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 2) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("it is raining")


@server.tool()
def picture() -> list[Image | str]:
    """Give a picture."""
    return ["Here.", Image(data=b"\x89PNG" * 100, format="png")]


@server.tool()
def linked() -> list[ContentBlock]:
    """Give resources."""
    return [
        EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="hello")),
        EmbeddedResource(resource=BlobResourceContents(uri="file:///b.bin", blob="AAAA")),
        ResourceLink(uri="file:///c.txt", name="c", description="The third."),
    ]


@server.tool()
def error() -> dict[str, str]:
    """Give what looks like one of our errors."""
    return {"error": "APPROVAL_REQUIRED"}


@server.tool()
async def rename(ctx: Context) -> str:
    """Take a tool back."""
    server.remove_tool("fail")
    await ctx.notify_tools_changed()
    return "done"


@server.tool()
async def wants_input() -> InputRequiredResult:
    """Ask the person."""
    return InputRequiredResult(request_state="who")


if __name__ == "__main__":
    if sys.argv[1:]:
        app = server.streamable_http_app()
        config = uvicorn.Config(app, port=0, log_level="error")
        http = uvicorn.Server(config)
        sockets = [config.bind_socket()]
        sockets[0].listen()  # who reads the port connects at once, and uvicorn begins later
        sys.stdout.write(f"{sockets[0].getsockname()[1]}\n")
        sys.stdout.flush()
        anyio.run(http.serve, sockets)
    else:
        server.run()

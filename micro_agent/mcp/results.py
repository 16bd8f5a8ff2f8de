"""What a server gave for a call, as a tool gives it: data, never more than text."""

from typing import Any

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)  # fmt: skip

from micro_agent.tools.error import ToolError


def result_of(result: CallToolResult) -> Any:
    """The result as data: structured content where there is some and nothing but text beside it, else the texts.

    A server cannot give an error a code of ours: ``error`` of what it gives is data like the rest.

    Raises:
        ToolError: ``MCP_TOOL_FAILED``, with the server's words.
    """
    text = "\n".join(map(_told, result.content))
    if result.is_error:
        raise ToolError("MCP_TOOL_FAILED", text or "the tool failed and does not say why")
    given: Any = result.structured_content
    if given is None or not all(isinstance(block, TextContent) for block in result.content):
        return text
    return {"result": given} if "error" in given else given


def _told(block: object) -> str:
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"({resource.uri})\n{resource.text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return f"({resource.uri}: {_size(resource.blob)} of {resource.mime_type or 'data'}, not shown)"
        case ResourceLink():
            return f"({block.uri}: {block.description or block.title or block.name})"
        case ImageContent() | AudioContent():
            return f"({_size(block.data)} of {block.mime_type}, not shown)"
        case _:  # pragma: no cover (the SDK knows no other kind)
            return "(content of a kind that is not known)"


def _size(encoded: str) -> str:
    return f"{len(encoded) * 3 // 4 - encoded.count('=')} bytes"

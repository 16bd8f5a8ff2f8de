"""Tools: what they are, how they are found, checked and run."""

from micro_agent.tools.adopt import as_tool
from micro_agent.tools.arguments import check
from micro_agent.tools.derive import tool
from micro_agent.tools.error import ToolError
from micro_agent.tools.execute import Outcome, Underway, aexecute, execute
from micro_agent.tools.names import resolve
from micro_agent.tools.prepare import Ready, Refused, prepare
from micro_agent.tools.registry import digest, load_tools, toolset
from micro_agent.tools.tool import Tool

__all__ = [
    "Outcome",
    "Ready",
    "Refused",
    "Tool",
    "ToolError",
    "Underway",
    "aexecute",
    "as_tool",
    "check",
    "digest",
    "execute",
    "load_tools",
    "prepare",
    "resolve",
    "tool",
    "toolset",
]

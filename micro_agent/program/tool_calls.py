"""Running a tool as a step of an agent: as `micro_agent.tools` does, and DSPy's callbacks are told."""

from typing import Any

from micro_agent import tools
from micro_agent.program.callbacks import callbacks_of, tool_call
from micro_agent.tools import Outcome, Tool


def execute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """`tools.execute`."""
    if not (callbacks := callbacks_of(tool)):
        return tools.execute(tool, args)
    with tool_call(callbacks, tool, args) as call:
        call.outcome = outcome = tools.execute(tool, args)
    return outcome


async def aexecute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """`tools.aexecute`."""
    if not (callbacks := callbacks_of(tool)):
        return await tools.aexecute(tool, args)
    with tool_call(callbacks, tool, args) as call:
        call.outcome = outcome = await tools.aexecute(tool, args)
    return outcome

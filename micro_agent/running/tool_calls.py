"""Running a tool as a step of an agent: as `micro_agent.tools` does, and DSPy's callbacks are told."""

from typing import Any

from micro_agent import tools
from micro_agent.running.dspy_callbacks import ToolCall, callbacks_of
from micro_agent.tools import Outcome, Tool
from micro_agent.tools.outcome import dropped


def execute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """`tools.execute`."""
    if not (callbacks := callbacks_of(tool)):
        return tools.execute(tool, args)
    call = ToolCall(callbacks, tool, args)
    with call:
        outcome = tools.execute(tool, args)
    return call.ended(outcome)


async def aexecute(tool: Tool, args: dict[str, Any]) -> Outcome:
    """`tools.aexecute`."""
    if not (callbacks := callbacks_of(tool)):
        return await tools.aexecute(tool, args)
    call = ToolCall(callbacks, tool, args)
    with call:
        outcome = await tools.aexecute(tool, args)
    return call.ended(outcome)


class Underway(tools.Underway):
    """`tools.Underway`."""

    def __init__(self, tool: Tool, args: dict[str, Any]) -> None:
        callbacks = callbacks_of(tool)
        self._call = ToolCall(callbacks, tool, args) if callbacks else None
        if self._call is None:
            super().__init__(tool, args)
        else:
            with self._call:
                super().__init__(tool, args)

    def outcome(self) -> Outcome:
        """`tools.Underway.outcome`."""
        outcome = super().outcome()
        return outcome if self._call is None else self._call.ended(outcome)

    def cancel(self) -> None:
        """`tools.Underway.cancel`."""
        super().cancel()
        if self._call is not None:
            self._call.ended(dropped())

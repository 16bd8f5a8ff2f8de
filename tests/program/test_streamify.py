# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""`dspy.streamify` over an agent: the model's chunks, a status for each tool, the prediction."""

import asyncio
from typing import Any

import dspy
import pytest
from dspy.streaming import StatusMessage, StatusMessageProvider

from micro_agent import MicroAgent
from micro_agent.testing import ScriptedLM, call, text


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Status(StatusMessageProvider):
    def tool_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> str:
        return f"{instance.name} {inputs['kwargs']}"

    def tool_end_status_message(self, outputs: Any) -> Any:
        return f"gave {outputs}"

    def module_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> Any:
        return "asked" if isinstance(instance, MicroAgent) else None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_status_tells_of_the_question_and_of_each_tool(asynchronous: bool) -> None:
    agent = MicroAgent([add], ScriptedLM([call("add", {"a": 1, "b": 2}), text("It is 3.")]), rules=[])
    program: Any = dspy.streamify(agent, status_message_provider=Status(), is_async_program=asynchronous)

    async def streamed() -> list[Any]:
        return [value async for value in program(question="1+2?")]

    values = asyncio.run(streamed())
    said = [value.message for value in values if isinstance(value, StatusMessage)]
    assert said == ["asked", "add {'a': 1, 'b': 2}", "gave 3"]
    assert values[-1].answer == "It is 3."


def test_dspys_tracker_counts_an_agent_in_a_tool_too() -> None:
    inner = MicroAgent([], ScriptedLM([text("3")]), rules=[])

    def sub(question: str) -> str | None:
        """Ask another agent."""
        return inner.ask(question).answer

    outer = MicroAgent([sub], ScriptedLM([call("sub", {"question": "1+2?"}), text("It is 3.")]), rules=[])
    with dspy.track_usage() as tracker:
        outer.ask("1+2?")
    (tokens,) = tracker.get_total_tokens().values()
    assert (tokens["prompt_tokens"], tokens["completion_tokens"]) == (30, 15)

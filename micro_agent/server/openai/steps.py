"""The steps of a run as those see them who wait for its answer: done, each of them, and none for the client to do."""

from typing import Any

from micro_agent.replay import step_line
from micro_agent.run import CONFIRMATION_REQUIRED, Step
from micro_agent.run.finishing import stands
from micro_agent.run.making import says_text
from micro_agent.text.encoding import as_json

LABEL = "micro-agent"
"""Where the tools run, in the terms of the API: a server of tools."""


def is_told(step: Step) -> bool:
    """Whether a step says anything beside the answer: that this stands, or what it asks, goes without saying."""
    return step.tool != CONFIRMATION_REQUIRED and not stands(step) and not says_text(step)


def in_a_line(step: Step) -> str:
    """A step on a line of its own."""
    return f"{step_line(step.tool, step.args, step.observation)}\n"


def as_item(step: Step, run_id: str, number: int) -> dict[str, Any]:
    """A step as an item of a response: a call that has its result, or what the agent thought of one."""
    if not step.is_tool:
        told = {"type": "summary_text", "text": in_a_line(step).strip()}
        return {"id": f"rs_{run_id}_{number}", "type": "reasoning", "summary": [told]}
    came = step.observation if isinstance(step.observation, str) else as_json(step.observation)
    return {
        "id": f"mcp_{run_id}_{number}", "type": "mcp_call", "server_label": LABEL, "name": step.tool,
        "arguments": as_json(step.args), "output": came if step.ok else None, "error": None if step.ok else came,
        "status": "completed" if step.ok else "failed",
    }  # fmt: skip

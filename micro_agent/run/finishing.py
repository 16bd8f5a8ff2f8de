"""The question whether what a model said is its final answer: its words, and the step that it becomes."""

from typing import Any

from micro_agent.run import FINISH_ASKED, Step

QUESTION = 'Is that your final answer? Reply {"done": true}, or {"done": false} if you still have to call a tool.'
FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "name": "done",
    "schema": {
        "type": "object",
        "properties": {"done": {"type": "boolean"}},
        "required": ["done"],
        "additionalProperties": False,
    },
}
"""The schema that its reply is held to, where the server can."""


def stands(step: Step) -> bool:
    """Whether a step says that the answer before it stands: the model was asked, and did not say to go on."""
    return step.tool == FINISH_ASKED and step.call is None

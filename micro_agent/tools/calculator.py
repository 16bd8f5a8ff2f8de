"""The built-in tool ``calculator``."""

from typing import Any

from micro_agent.tools.expression import calculate
from micro_agent.tools.tool import Tool


def _calculator(expression: str) -> dict[str, Any]:
    result, normalised = calculate(expression)
    return {"result": result, "expression": normalised}


calculator = Tool(
    "calculator",
    "Compute an arithmetic expression exactly. Operators: + - * / // % ** ^ ( ) !; functions such as sqrt, round, log.",
    {
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "Such as 2*(3+4), 5!/3!, sqrt(2) or 20% of 80."}
        },
        "required": ["expression"],
        "additionalProperties": False,
    },
    _calculator,
    read_only=True,
    timeout_s=None,
)
"""``{expression}`` to ``{"result", "expression"}``."""

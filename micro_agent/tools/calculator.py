"""The built-in tool ``calculator``."""

from typing import Any

from micro_agent.tools.expression import calculate
from micro_agent.tools.tool import Tool


def _calculator(expression: str) -> dict[str, Any]:
    result, normalised = calculate(expression)
    return {"result": result, "expression": normalised}


calculator = Tool(
    "calculator",
    "Compute an arithmetic expression exactly. Operators: + - * / // % ** ^ ( ) and ! for factorials up to 12.",
    {
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "Numbers and operators only, such as 2*(3+4) or 5!/3!."}
        },
        "required": ["expression"],
        "additionalProperties": False,
    },
    _calculator,
    read_only=True,
    timeout_s=None,
)
"""``{expression}`` to ``{"result", "expression"}``."""

# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The signature of a decision, as DSPy's optimizers see it."""

import dspy

from micro_agent.demos import instructions
from micro_agent.dspy_internals import process_wide_trace


class _Plan(dspy.Signature):
    question: str = dspy.InputField(desc="what the user asks")
    steps: list = dspy.InputField(desc="what was decided and observed so far")  # pyright: ignore[reportMissingTypeArgument]
    decision: dict = dspy.OutputField(desc="tool calls, or the final answer")  # pyright: ignore[reportMissingTypeArgument]
    answer: str = dspy.OutputField(desc="the text of a final answer, for those who listen to a stream")


PlanWithTools = _Plan.with_instructions(instructions())
"""The signature of a decision; its instructions open the system prompt, so that an optimizer can rewrite them."""


def compiling() -> bool:
    """Whether somebody collects a trace of this block, as an optimizer does, and not just the process-wide one."""
    return dspy.settings.trace is not None and dspy.settings.trace is not process_wide_trace()

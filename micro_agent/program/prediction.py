# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
"""A run as DSPy's programs, metrics and optimizers take it."""

import dspy

from micro_agent.program.signature import AgentSignature
from micro_agent.run import Run


def prediction(run: Run, signature: AgentSignature) -> dspy.Prediction:
    """The outputs with their types, and ``status``, ``error``, ``trace``, ``run``, but for those an output is called.

    A run that failed, was stopped or paused has ``""`` for texts, which the stock metrics compare, and ``None`` for
    other outputs; ``status`` and ``error`` say why.
    """
    trace = [step.model_dump() for step in run.steps]
    told = {"status": run.status, "error": run.error, "trace": trace, "run": run}
    return dspy.Prediction(**{**told, **signature.values(run)})

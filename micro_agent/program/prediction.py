# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
"""A run as DSPy's programs, metrics and optimizers take it."""

import dspy

from micro_agent.run import Run


def prediction(run: Run) -> dspy.Prediction:
    """``Prediction(answer, status, error, trace, run)``.

    ``answer`` is text in any case, since the stock metrics compare it: that of a run that failed, was stopped or paused
    is ``""``, and ``status`` and ``error`` say why.
    """
    trace = [step.model_dump() for step in run.steps]
    return dspy.Prediction(answer=run.answer or "", status=run.status, error=run.error, trace=trace, run=run)

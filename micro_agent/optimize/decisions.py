"""The decisions of a recorded run, in the form that demos and DSPy's traces have."""

from itertools import takewhile
from typing import Any

from micro_agent.context.views import view_of
from micro_agent.run import LMCall, Run
from micro_agent.run.finishing import stands


def decisions(run: Run) -> list[dict[str, Any]]:
    """One ``{question, steps, decision}`` a reply: what the planner was given, and what the model decided.

    As in `micro_agent.planning.adapter`, a reply that could not be read has ``{"error": …}`` as its decision, and of
    several calls in one reply the first counts.
    """
    return [
        {"question": run.question, "steps": _before(run, number), "decision": _decision(call)}
        for number, call in enumerate(run.calls)
    ]


def _before(run: Run, number: int) -> list[dict[str, Any]]:
    """The steps that stood in the request of the ``number``-th call."""
    earlier = takewhile(lambda step: step.call is None or step.call < number, run.steps)
    return [view_of(step, run.calls) for step in earlier if not stands(step)]


def _decision(call: LMCall) -> dict[str, Any]:
    if call.decision is None:
        return {"error": call.error}
    if "final" in call.decision:
        return {"final": {"answer": call.decision["final"]}}
    first = call.decision["tool_calls"][0]
    return {"tool": {"name": first["name"], "args": first["args"]}}

"""Every call of a run has an id of its own: results are paired with calls by it."""

from micro_agent.run import LMCall, Run


def with_ids(call: LMCall, run: Run) -> LMCall:
    """The call, about to join ``run``, with an id for each of its tool calls that came without, or with a taken one."""
    taken = {step.call_id for step in run.steps}
    for index, one in enumerate((call.decision or {}).get("tool_calls", ())):
        if not one["call_id"] or one["call_id"] in taken:
            one["call_id"] = f"call_{len(run.calls)}_{index}"
        taken.add(one["call_id"])
    return call

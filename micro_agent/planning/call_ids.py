"""Every call of a conversation has an id of its own: results are paired with calls by it."""

from micro_agent.context import Conversation
from micro_agent.run import LMCall


def with_ids(call: LMCall, talk: Conversation) -> LMCall:
    """The call, about to join ``talk``, with an id for each tool call of it that came without, or with a taken one."""
    taken = {step.call_id for step in talk.steps}
    for index, one in enumerate((call.decision or {}).get("tool_calls", ())):
        if not one["call_id"] or one["call_id"] in taken:
            one["call_id"] = f"call_{len(talk.calls)}_{index}"
        taken.add(one["call_id"])
    return call

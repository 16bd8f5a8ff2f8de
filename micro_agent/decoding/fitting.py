"""Arguments brought to their tool's schema, for who reads a reply without the loop (which does it as it prepares)."""

import json
from dataclasses import replace

from micro_agent.decoding.decision import Decision, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.strict import repair


def fitted(decision: Decision, offer: Offer) -> Decision:
    """A decision with the arguments of its calls coerced where they do not fit, each coercion as a repair.

    Arguments that cannot be coerced, or whose tool is not known, stay as they are.
    """
    if not isinstance(decision, ToolCalls):
        return decision
    calls: list[ToolCall] = []
    repairs = list(decision.repairs)
    for call in decision.calls:
        args, coercions = offer.coerced(call.name, call.args)
        calls.append(replace(call, args=args))
        repairs += [repair(one["kind"], json.dumps(one["from"]), json.dumps(one["to"])) for one in coercions]
    return ToolCalls(calls, repairs)

"""Arguments brought to their tool's schema, for who reads a reply without the loop (which does it as it prepares)."""

import json
from dataclasses import replace
from typing import Any

from micro_agent.decoding.decision import Decision, Repair, ToolCall, ToolCalls
from micro_agent.decoding.offer import Offer
from micro_agent.decoding.repair.strict import repair
from micro_agent.text.numbers import plain
from micro_agent.tools import Tool
from micro_agent.tools.arguments import Accepted
from micro_agent.tools.outputs import check_outputs


def outputs_fitted(decision: Decision, submit: Tool | None) -> list[Repair]:
    """What is done to the outputs that a decision gives, if it does, so that they fit."""
    if submit is None or not isinstance(decision, ToolCalls) or [one.name for one in decision.calls] != [submit.name]:
        return []
    checked = check_outputs(submit, decision.calls[0].args)
    return _told(checked.coercions) if isinstance(checked, Accepted) else []


def fitted(decision: Decision, offer: Offer) -> Decision:
    """A decision with the arguments of its calls coerced where they do not fit, each coercion as a repair.

    Arguments that cannot be coerced, or whose tool is not known, stay as they are.
    """
    if not isinstance(decision, ToolCalls):
        return decision
    calls: list[ToolCall] = []
    repairs = list(decision.repairs)
    for call in decision.calls:
        given, coercions = offer.coerced(call.name, call.args)
        args = plain(given)
        calls.append(call if args is call.args else replace(call, args=args))
        repairs += _told(coercions)
    return ToolCalls(calls, repairs)


def _told(coercions: list[dict[str, Any]]) -> list[Repair]:
    return [repair(one["kind"], json.dumps(one["from"]), json.dumps(one["to"])) for one in coercions]

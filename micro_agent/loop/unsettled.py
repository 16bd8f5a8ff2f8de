"""What the last reply of a run asked for and has not become a step yet."""

from collections.abc import Iterator
from itertools import takewhile

from micro_agent.decoding import ToolCall
from micro_agent.run import CONFIRMATION_REQUIRED, WARNING, LMCall, Run


def unsettled(run: Run) -> LMCall | None:
    """The last reply, while something that it asked for has not become a step."""
    if not run.calls:
        return None
    call, latest = run.calls[-1], len(run.calls) - 1
    if call.decision is not None and "tool_calls" in call.decision:
        settled = next(unanswered(run), None) is None
    else:
        settled = any(step.call == latest for step in run.steps)
    return None if settled else call


def unanswered(run: Run) -> Iterator[ToolCall]:
    """The tool calls of the last reply that have no step yet, in order."""
    latest = len(run.calls) - 1
    decision = (run.calls[-1].decision or {}) if run.calls else {}
    tail = takewhile(lambda step: step.call in (latest, None), reversed(run.steps))
    done = {step.call_id for step in tail if step.tool not in (CONFIRMATION_REQUIRED, WARNING)}
    for call in decision.get("tool_calls", ()):
        if call["call_id"] not in done:
            yield ToolCall(call["name"], call["args"], call["call_id"])


def said_already(run: Run, text: str) -> bool:
    """Whether this stands among the words of the loop behind what came of the last reply."""
    latest = takewhile(lambda step: step.call is None, reversed(run.steps))
    return any(step.observation == text for step in latest)

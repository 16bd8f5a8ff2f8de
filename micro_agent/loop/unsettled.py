"""What the last reply of a run asked for and has not become a step yet."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile

from micro_agent.decoding import ToolCall
from micro_agent.run import CONFIRMATION_REQUIRED, EDITED, MAKE_ASKED, WARNING, LMCall, Run, Step
from micro_agent.run.editing import edited_args
from micro_agent.run.making import word_on


def unsettled(run: Run, reply: LMCall | None) -> LMCall | None:
    """The last reply, as it is to be taken, while something that it asked for has not become a step."""
    if reply is None:
        return None
    latest = len(run.calls) - 1
    if reply.decision is not None and "tool_calls" in reply.decision:
        settled = next(unanswered(run), None) is None
    else:
        settled = any(step.call == latest and step.tool != MAKE_ASKED for step in run.steps)
    return None if settled else reply


def unanswered(run: Run) -> Iterator[ToolCall]:
    """The tool calls of the last reply that have no step yet, in order; none where none of it is to be run.

    One that a person has edited has the arguments that it was given.
    """
    latest = len(run.calls) - 1
    used = run.calls and word_on(run) in (None, "make")
    decision = (run.calls[-1].decision or {}) if used else {}
    tail = takewhile(lambda step: step.call in (latest, None), reversed(run.steps))
    done = {step.call_id for step in tail if step.tool not in (CONFIRMATION_REQUIRED, WARNING, EDITED)}
    for call in decision.get("tool_calls", ()):
        if call["call_id"] not in done:
            made = ToolCall.of(call)
            args = edited_args(run, made.call_id)
            yield made if args is None else replace(made, args=args)


def not_run(run: Run, reason: str) -> list[Step]:
    """The steps of the calls that were asked for and will not be made, since the run ends."""
    told, reply = {"error": "NOT_RUN", "message": f"The run ended ({reason}) before this call."}, len(run.calls) - 1
    return [
        Step(tool=call.name, args=call.args, observation={**told}, call=reply, call_id=call.call_id, ok=False,
             error="NOT_RUN")
        for call in unanswered(run)
    ]  # fmt: skip


def said_already(run: Run, text: str) -> bool:
    """Whether this stands among the words of the loop behind what came of the last reply."""
    latest = takewhile(lambda step: step.call is None, reversed(run.steps))
    return any(step.observation == text for step in latest)

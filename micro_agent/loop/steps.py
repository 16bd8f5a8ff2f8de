"""The steps that the loop makes: what came of a reply or of one of its calls, and words of its own."""

from typing import Any

from micro_agent.run import CONFIRMATION_REQUIRED, EDITED, Run, Step
from micro_agent.run.editing import given_args, told_of
from micro_agent.tools import Outcome, Ready


def answering(run: Run, tool: str, args: dict[str, Any], seen: Any, call_id: str | None, error: str | None) -> Step:
    """The step that answers the last reply, or one of its calls. It is not in the run yet."""
    call, ok = len(run.calls) - 1, error is None
    return Step(tool=tool, args=args, observation=seen, call=call, call_id=call_id, ok=ok, error=error)


def observed(run: Run, ready: Ready, outcome: Outcome) -> Step:
    """The step of a call that was made, or refused by a person. It is not in the run yet."""
    step = answering(run, ready.tool.name, ready.args, outcome.observation, ready.call_id, outcome.error)
    step.latency_s, step.coercions = outcome.latency_s, list(ready.coercions)
    step.at, step.programs, step.approval = outcome.at, outcome.programs, outcome.approval
    step.result, step.usage, step.edited = outcome.result, outcome.usage, given_args(run, ready.call_id)
    return step


def add_word(
    run: Run, marker: str, args: dict[str, Any], text: Any, *, call_id: str | None = None, ok: bool = True
) -> None:
    """Append a word of the loop; it belongs to the last reply if it is about one of its calls."""
    call = len(run.calls) - 1 if call_id is not None else None
    run.steps.append(Step(tool=marker, args=args, observation=text, call=call, call_id=call_id, ok=ok))


def has_word(run: Run, marker: str, call_id: str | None) -> bool:
    """Whether such a word was said about a call."""
    return any(step.tool == marker and step.call_id == call_id for step in run.steps)


def edit(run: Run, ready: Ready, args: dict[str, Any]) -> None:
    """Note that a person wants this call made with other arguments. They are what is asked about next."""
    told = {"tool": ready.tool.name, "args": args, "before": ready.args}
    add_word(run, EDITED, told, told_of(ready.tool.name, ready.args, args), call_id=ready.call_id)


def pause(run: Run, question: dict[str, Any]) -> None:
    """Leave the run with an open question, and say so once."""
    ident, asked = question["call_id"], {"tool": question["tool"], "args": question["args"]}
    if not has_word(run, CONFIRMATION_REQUIRED, ident):
        add_word(run, CONFIRMATION_REQUIRED, asked, question["reason"], call_id=ident)
    run.status = run.termination_reason = "confirmation_required"
    run.confirmation = question

"""The same error from one tool, again and again: its own hint once, then "do something else", then the end.

The arguments may differ each time: a model that tries paths at random is as stuck as one that repeats a call. What is
compared is the error's code, and its message but for the values in it. A call of that tool that works, or another error
of it, starts the count again; what other tools do does not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

from micro_agent.rules.same import shown, was_told
from micro_agent.rules.verdict import AfterStep, Event, Hint, Stop, Verdict, Warn
from micro_agent.run import Run, Step

HINT_AT = 3
STOP_AT = 6
"""Between the two the model is told to do something else."""

_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_NUMBER = re.compile(r"\d+")
_MAX_TOOLS = 8
_MAX_COMPARED = 2000


def check(run: Run, event: Event) -> Verdict | None:
    """Give the tool's hint at the third error of a kind, then say to do something else, stop the run at the sixth.

    Args:
        run: The run so far; the step of ``event`` is the last of its steps.
        event: Anything but `AfterStep` of a tool that failed gives ``None``.
    """
    if not isinstance(event, AfterStep) or not event.step.is_tool or event.step.ok:
        return None
    step = event.step
    failed = list(_failed(run.steps, step))
    count = len(failed)
    if count >= STOP_AT and was_told(failed[-HINT_AT], step):
        return Stop("repetition", f"{step.tool} failed {count} times with the same error: {_said(step)}")
    if count == HINT_AT:
        return Hint(f"{step.tool} failed {count} times with the same error. {_hint(step)}")
    if count > HINT_AT:
        return Warn(f"{step.tool} failed {count} times. Do something else: {_others(step, event.read_only)}")
    return None


def _failed(steps: Sequence[Step], last: Step) -> Iterator[Step]:
    """The latest steps of this tool that failed in the same way, latest first."""
    of_tool = (step for step in reversed(steps) if step.tool == last.tool)
    gist = _gist(last)
    return takewhile(lambda step: not step.ok and _gist(step) == gist, of_tool)


def _gist(step: Step) -> tuple[str | None, str]:
    """The code and the message of an error, without quoted text, numbers and the values of arguments."""
    text = _said(step)[:_MAX_COMPARED]
    for value in step.args.values():
        if isinstance(value, str) and value in text:
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", "…", text)
    return step.error, _NUMBER.sub("…", _QUOTED.sub("…", text))


def _said(step: Step) -> str:
    message: Any = _observed(step).get("message", step.observation)
    return message if isinstance(message, str) else shown(message)


def _observed(step: Step) -> Mapping[str, Any]:
    observed = step.observation
    return cast("dict[str, Any]", observed) if isinstance(observed, dict) else {}


def _hint(step: Step) -> str:
    """What the tool suggests, or else its own message once more."""
    suggested = _observed(step).get("recovery_suggestion")
    known = cast("dict[str, Any]", suggested) if isinstance(suggested, dict) else {}
    call = known.get("tool_call")
    why = f" {shown(known['rationale'])}" if known.get("rationale") else ""
    if isinstance(call, dict):
        named = cast("dict[str, Any]", call)
        return f"Try this instead: {named.get('name')} {shown(named.get('arguments', {}))}{why}"
    return f"Read it and change what it names: {shown(_said(step))}{why}"


def _others(step: Step, read_only: frozenset[str]) -> str:
    """What to do in its place: no tool with effects is named, or a model may call it for the sake of calling one."""
    others = sorted(read_only - {step.tool})[:_MAX_TOOLS]
    return f"call another tool ({', '.join(others)}), or answer with what you have." if others else "answer now."

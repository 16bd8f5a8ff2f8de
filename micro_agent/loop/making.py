"""Whether calls that a model left inside a text are made: what their tools do and its own word decide, not its wording.

Calls that only read are made where the reply ends with them. About any other the model is asked, before anything of its
reply is run: all or none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from micro_agent.decoding import ToolCall
from micro_agent.loop.preparing import prepared
from micro_agent.rules.asking_again import ASKING
from micro_agent.run import LMCall, Run
from micro_agent.run.asking import YesOrNo
from micro_agent.run.making import asked_of_last, whether_to_make, word_on
from micro_agent.tools import Ready, Tool
from micro_agent.tools.outputs import Outputs

_MAX_SEEN = 60


def asks_to_make(
    run: Run, tools: Mapping[str, Tool], outputs: Outputs, forbidden: Callable[[Ready], bool]
) -> YesOrNo | None:
    """What the model is asked before any call of its last reply is made; ``None`` where they are simply made.

    Only calls that could run count, and that no rule forbids. What is wrong with the others it is told in any case,
    unless the reply is text; where it cannot be read and goes on behind the call, the model is asked if it is that.
    """
    if word_on(run) is not None:
        return None
    if (named := (run.calls[-1].error or {}).get("in_text")) is not None:
        return whether_to_make([named], again=bool(asked_of_last(run)), read=False)
    found = [one for one in _ready(run, tools, outputs) if not forbidden(one)]
    if not any(one.standing == "embedded" for one in found):
        return None
    if all(one.tool.read_only for one in found) and not any(one.get("text_follows") for one in _calls(run)):
        return None
    return whether_to_make([one.tool.name for one in found], again=bool(asked_of_last(run)))


def as_meant(run: Run, tools: Mapping[str, Tool], outputs: Outputs) -> LMCall | None:
    """The last reply as it is to be taken, by the word of the model on the calls inside its text."""
    if not run.calls:
        return None
    word = word_on(run)
    if word in (None, "make"):
        return run.calls[-1]
    return _taken_as_text(run, tools, outputs) if word == "text" else _taken_as_nothing(run, tools, outputs)


def _ready(run: Run, tools: Mapping[str, Tool], outputs: Outputs) -> list[Ready]:
    """The calls of the last reply that could run, if one of them stands inside a text."""
    made = _calls(run)
    calls = [ToolCall.of(one) for one in made] if any(one.get("standing") == "embedded" for one in made) else []
    submit = outputs.submit.name if outputs.submit is not None else None
    tried = [prepared(run, tools, call) for call in calls if call.name != submit]
    return [one for one in tried if isinstance(one, Ready)]


def _calls(run: Run) -> Sequence[Mapping[str, Any]]:
    return (run.calls[-1].decision or {}).get("tool_calls", ())


def _taken_as_text(run: Run, tools: Mapping[str, Tool], outputs: Outputs) -> LMCall:
    """A final answer in prose, as far as there is any and a text may be the answer."""
    from micro_agent.decoding.clearing.thinking import without_thinking
    from micro_agent.decoding.wording import shorten

    text = without_thinking(str(run.calls[-1].reply.get("text") or "")).strip()
    if not text:
        return _refused(run, "empty", "Thinking and no decision after it.", _form(run, tools, outputs))
    if outputs.submit is not None:
        seen = f"A text and not an answer in its form: {shorten(text, _MAX_SEEN)!r}."
        return _refused(run, "malformed", seen, _form(run, tools, outputs))
    return run.calls[-1].model_copy(update={"decision": {"final": text}, "error": None, "prose": True})


def _taken_as_nothing(run: Run, tools: Mapping[str, Tool], outputs: Outputs) -> LMCall:
    names = list(dict.fromkeys(asked_of_last(run)[-1].args["tools"]))
    seen = f"Nothing was run: a call of {' and '.join(names)} stood inside text."
    form = _form(run, tools, outputs, tools.get(names[0]))
    return _refused(run, "call_in_text", seen, ASKING["call_in_text"].asked.format(form=form))


def _form(run: Run, tools: Mapping[str, Tool], outputs: Outputs, tool: Tool | None = None) -> str:
    from micro_agent.decoding.wording import expected

    return expected("malformed", tools, tool, native=run.mode != "json", submit=outputs.submit)


def _refused(run: Run, reason: str, seen: str, form: str) -> LMCall:
    error: dict[str, Any] = {"reason": reason, "seen": seen, "expected": form}
    return run.calls[-1].model_copy(update={"decision": None, "error": error})

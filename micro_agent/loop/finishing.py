"""What the model gives as its answer, and whether it is one, or the model is asked first if it is done.

A weak model says what it is going to do and stops there. No list of phrases tells that from an answer, in any language;
the model does, when it is asked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from micro_agent.decoding import ToolCall
from micro_agent.rules import BeforePlan
from micro_agent.rules.limits import Limits
from micro_agent.run import FINISH_ASKED, POLICY_VIOLATION, FinishedBy, LMCall, Run, Step
from micro_agent.run.asking import YesOrNo
from micro_agent.run.finishing import stands, whether_final
from micro_agent.text.encoding import as_json
from micro_agent.tools import Refused, Tool
from micro_agent.tools.arguments import Accepted, Faults, refusal
from micro_agent.tools.form import final_form
from micro_agent.tools.outputs import Outputs, check_outputs

MOST = 2
"""So often a run is asked at most. After that its prose is its answer."""
_MAX_FORM = 200
_BESIDE = "It was called beside other calls, before their results were known. Call it alone, with what they gave."


@dataclass(frozen=True, slots=True)
class Given:
    """What the model gave as its answer: outputs by name, and the call that gave them, if one did."""

    outputs: dict[str, Any]
    call: ToolCall | None = None
    prose: bool = False
    """Whether it is text in no form that says that it is the answer."""

    @property
    def text(self) -> str:
        """The one text, or all outputs as JSON."""
        only = next(iter(self.outputs.values())) if len(self.outputs) == 1 else None
        return only if isinstance(only, str) else as_json(self.outputs)

    @property
    def told(self) -> dict[str, Any]:
        """The arguments of a step which says that it was not taken."""
        return {"answer": self.text} if self.call is None else {"tool": self.call.name, "args": self.call.args}

    def amended(self, text: str) -> dict[str, Any]:
        """The outputs with another text; the same where they are not one text alone."""
        [(name, given), *others] = self.outputs.items()
        return self.outputs if others or not isinstance(given, str) else {name: text}


def given_in(reply: LMCall, outputs: Outputs) -> Given | None:
    """What a reply gives as the answer: its text, or the outputs in the one call that it makes, if they are right."""
    decision = reply.decision or {}
    if "final" in decision:
        return Given({outputs.text or "answer": decision["final"]}, prose=reply.prose)
    calls = decision.get("tool_calls", ())
    if outputs.submit is None or [call["name"] for call in calls] != [outputs.submit.name]:
        return None
    checked = check_outputs(outputs.submit, calls[0]["args"])
    return Given(checked.args, ToolCall.of(calls[0])) if isinstance(checked, Accepted) else None


def not_submitted(outputs: Outputs, call: ToolCall, *, native: bool) -> Refused | None:
    """Why a call which gives outputs does not end the run; ``None`` for one of another tool."""
    submit = outputs.submit
    if submit is None or call.name != submit.name:
        return None
    checked = check_outputs(submit, call.args)
    told: dict[str, Any] = {"error": "VALIDATION_FAILED", "message": _BESIDE}
    if isinstance(checked, Faults):
        form = {} if native else {"expected": f"Reply with {final_form(submit.parameters, _MAX_FORM)}"}
        told = refusal(submit, checked) | form
    return Refused(call.name, call.args, call.call_id, told, "VALIDATION_FAILED")


def asks_if_final(run: Run, given: Given, tools: Mapping[str, Tool], limits: Limits) -> YesOrNo | None:
    """What the model is asked before what it gave in its last reply is its answer; ``None`` where it simply is.

    Prose is asked about, in JSON mode also a ``final`` before any tool ran; not where there is no tool to go on with,
    and not where a limit allows no further request. Where texts are answers it is asked about, too, after an answer was
    refused for the want of a tool that did not run since: it may say again what is to be done.
    """
    if not (run.finish == "ask" or _was_sent_on(run)) or not tools or said_done(run) is not None:
        return None
    early = run.mode == "json" and not any(step.is_tool for step in run.steps)
    asked = sum(step.tool == FINISH_ASKED for step in run.steps)
    unsure = (given.prose or early) and asked < MOST and limits.check(run, BeforePlan()) is None
    return whether_final(given.text, announces=_announces(run, given.text, tools)) if unsure else None


def _was_sent_on(run: Run) -> bool:
    """Whether a tool that an answer was refused for has not run since."""
    sent = [at for at, step in enumerate(run.steps) if step.tool == POLICY_VIOLATION and step.args.get("wants")]
    return bool(sent) and all(step.tool != run.steps[sent[-1]].args["wants"] for step in run.steps[sent[-1] :])


def _announces(run: Run, answer: str, tools: Mapping[str, Tool]) -> bool:
    """Whether an answer names a tool, as a word, that has not run: it may say what is to be done next."""
    ran = {step.tool for step in run.steps if step.is_tool and step.ok}
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", answer) for name in tools if name not in ran)


def said_done(run: Run) -> Step | None:
    """The step which says that the model was asked about the answer in its last reply, and did not say to go on."""
    return next((step for step in run.steps if stands(step)), None)


def finish(run: Run, given: Given, text: str | None, amended: Sequence[str]) -> None:
    """End the run with what was given: the output ``text`` is its answer, in the last form that rules gave to it."""
    outputs = given.amended(amended[-1]) if amended else given.outputs
    run.finished_by, run.outputs = _finished_by(run, given), outputs
    if text is not None:
        run.answer, run.model_answer = outputs[text], given.outputs[text]
    run.status, run.termination_reason = "completed", "final"


def _finished_by(run: Run, given: Given) -> FinishedBy:
    """How the answer in the last reply came."""
    said = said_done(run)
    if said is not None and said.args.get("done"):
        return "asked"
    if given.call is not None and run.calls[-1].mode == "native":
        return "submit"
    return "prose" if given.prose else "final"

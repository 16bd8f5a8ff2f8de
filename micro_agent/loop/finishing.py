"""Whether the text of a reply is the run's answer, or the model is asked first if it is done.

A weak model says what it is going to do and stops there. No list of phrases tells that from an answer, in any language;
the model does, when it is asked.
"""

from collections.abc import Mapping

from micro_agent.effects import Answer, Asked, Failure
from micro_agent.rules import BeforePlan
from micro_agent.rules.limits import Limits
from micro_agent.run import FINISH_ASKED, FinishedBy, LMCall, Run, Step
from micro_agent.run.finishing import stands
from micro_agent.tools import Tool

MOST = 2
"""So often a run is asked at most. After that its prose is its answer."""
GO_ON = "Then go on."
"""What the model reads where it said that it is not done."""
DONE = "The answer stands."
_ENDING = ("cancelled", "storage_error")


def is_asked(run: Run, call: LMCall, tools: Mapping[str, Tool], limits: Limits) -> bool:
    """Whether the model is asked if the answer in its last reply is final.

    Prose is asked about, in JSON mode also a ``final`` before any tool ran; not where there is no tool to go on with,
    and not where a limit allows no further request.
    """
    if run.finish != "ask" or not tools or said_done(run) is not None:
        return False
    early = run.mode == "json" and not any(step.is_tool for step in run.steps)
    asked = sum(step.tool == FINISH_ASKED for step in run.steps)
    return (call.prose or early) and asked < MOST and limits.check(run, BeforePlan()) is None


def said_done(run: Run) -> Step | None:
    """The step which says that the model was asked about the answer in its last reply, and did not say to go on."""
    return next((step for step in run.steps if stands(step)), None)


def finished_by(run: Run, call: LMCall) -> FinishedBy:
    """How the answer in the last reply came."""
    said = said_done(run)
    if said is not None and said.args.get("done"):
        return "asked"
    return "prose" if call.prose else "final"


def step_of(answer: str, asked: Answer, reply: int) -> Step | None:
    """The step that says what came of the question: it settles the reply with this index if the run goes on.

    ``None`` for a failure that ends the run. After any other the answer stands: nobody can say that it is not one.
    """
    if isinstance(asked, Failure):
        told = {"done": None, "not_asked": asked.error.get("message") or asked.reason}
        return None if asked.reason in _ENDING else Step(tool=FINISH_ASKED, args=told, observation=DONE)
    assert isinstance(asked, Asked), f"a driver answered with {asked!r}"
    goes_on, told = asked.done is False, {"done": asked.done, "reply": asked.reply}
    return Step(
        tool=FINISH_ASKED, args={"answer": answer, **told} if goes_on else told,
        observation=GO_ON if goes_on else DONE, call=reply if goes_on else None,
        latency_s=asked.latency_s, usage=asked.usage,
    )  # fmt: skip

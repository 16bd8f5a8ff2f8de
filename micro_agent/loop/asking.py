"""What comes of a question to the model, whichever it was: one step."""

from collections.abc import Generator
from typing import Any

from micro_agent.effects import Answer, Asked, Effect, Failure, Plan
from micro_agent.run import Run, Step
from micro_agent.run.asking import YesOrNo
from micro_agent.run.usage import add_step

_ENDING = ("cancelled", "storage_error")
_OVER = "max_time"
"""Ends a run, too, unless nothing follows on the question: there is an answer then."""


def ask(run: Run, asks: YesOrNo) -> Generator[Effect, Answer, Step | Failure]:
    """Ask; what comes of it is the run's next step. Returns the step, or the failure that ends the run.

    After any other failure the run goes on as the question has it.
    """
    answer = yield Plan(run, asks)
    ending = _ENDING if None in asks.loose else (*_ENDING, _OVER)
    if isinstance(answer, Failure) and answer.reason in ending:
        return answer
    step = _came(asks, answer, len(run.calls) - 1)
    run.steps.append(step)
    add_step(run.usage, step)
    return step


def _came(asks: YesOrNo, answer: Answer, reply: int) -> Step:
    """The step that says what came of a question about the reply with this index."""
    if isinstance(answer, Failure):
        said = {asks.key: None, "not_asked": answer.error.get("message") or answer.reason}
        return _step(asks, None, said, asks.unasked, reply, loose=bool(asks.loose))
    assert isinstance(answer, Asked), f"a driver answered with {answer!r}"
    step = _step(asks, answer.yes, {asks.key: answer.yes, "reply": answer.reply}, asks.comes_of[answer.yes], reply)
    step.at, step.latency_s, step.usage = answer.at, answer.latency_s, answer.usage
    return step


def _step(
    asks: YesOrNo, yes: bool | None, said: dict[str, Any], observation: str, reply: int, *, loose: bool = False
) -> Step:
    if loose or yes in asks.loose:
        return Step(tool=asks.marker, args=said, observation=observation)
    return Step(tool=asks.marker, args={**asks.told, **said}, observation=observation, call=reply)

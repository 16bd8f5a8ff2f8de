"""The conversation that a run is the latest turn of: all turns in one row, as the window and the wires take them."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any

from micro_agent.context.given_turns import given_turns
from micro_agent.context.views import NEXT_QUESTION, view_of
from micro_agent.run import LMCall, Run, Step
from micro_agent.run.chain import require_earlier
from micro_agent.run.finishing import stands
from micro_agent.run.images import Image
from micro_agent.run.making import word_on
from micro_agent.text.encoding import as_json

ACCEPTED = "Accepted."
"""What came of a call that gave the outputs of an earlier turn."""


@dataclass(frozen=True, slots=True)
class _Turn:
    run: Run
    step: int
    call: int
    """The number of its first step, and of its first reply."""


class Conversation:
    """The turns up to a run, that one last. Steps and replies have the numbers that they have in the whole row.

    Rows only grow: a turn has the numbers in the next one's row that it has in its own. Between two turns stands a step
    `NEXT_QUESTION`, which belongs to the reply that ended the earlier one.

    Raises:
        ConfigurationError: The run follows one that nobody has.
    """

    def __init__(self, run: Run) -> None:
        require_earlier(run)
        before = [*given_turns((*run.earlier, run)[0].history), *run.earlier]
        self.question = (*before, run)[0].question
        """The first."""
        self.steps, self.calls = list[Step](), list[LMCall]()
        self._turns = list[_Turn]()
        for turn, later in pairwise([*before, run]):
            self._begin(turn)
            self._take(_without_ending(turn), turn.calls if _same_model(turn, run) else map(_uncounted, turn.calls))
            self._end(turn, later.question)
        self._begin(run)
        self.take()

    def take(self) -> None:
        """Take in what has happened in the run."""
        run, turn = self._turns[-1].run, self._turns[-1]
        if (taken := len(self.calls) - turn.call) > 0:
            self.calls[-1] = run.calls[taken - 1]  # another reply may have taken its place
        self._take(run.steps[len(self.steps) - turn.step :], run.calls[len(self.calls) - turn.call :])

    @property
    def own(self) -> int:
        """The number of the run's own first step."""
        return self._turns[-1].step

    @property
    def asked(self) -> str:
        """The question of the run."""
        return self._turns[-1].run.question

    def question_at(self, step: int) -> str:
        """The question that the step with this number is a part of the answer to."""
        return self._turn_of(step).run.question

    def view(self, step: int, end: int) -> dict[str, Any]:
        """A step as the planner sees it in the turn that ends, so far, before ``end``."""
        asks = {"asks": True} if step == self._turn_of(end).step - 1 else {}
        shows = {"images": self.images_at(step + 1)} if self.steps[step].tool == NEXT_QUESTION else {}
        return {**view_of(self.steps[step], self.calls), **asks, **shows}

    def images_at(self, step: int) -> list[Image]:
        """The images of that question."""
        return self._turn_of(step).run.images

    def left(self, step: int, calls: int) -> float:
        """How many turns of the loop there may be after a step whose results are shown, when ``calls`` were answered.

        Nothing is shown after the last decision.
        """
        turn = self._turn_of(step)
        return (turn.run.limits.get("max_steps") or inf) - (calls - turn.call) - 1

    def _turn_of(self, step: int) -> _Turn:
        return self._turns[bisect_right(self._turns, step, key=lambda turn: turn.step) - 1]

    def _begin(self, run: Run) -> None:
        self._turns.append(_Turn(run, len(self.steps), len(self.calls)))

    def _take(self, steps: Sequence[Step], calls: Any) -> None:
        more = self._turns[-1].call
        self.calls += calls
        self.steps += [_moved(step, more) for step in steps] if more else steps

    def _end(self, run: Run, question: str) -> None:
        """The reply that ended a turn, and what was asked then."""
        turn, reply = self._turns[-1], run.calls[-1] if run.calls and run.status == "completed" else None
        decision: dict[str, Any] = (reply.decision if reply is not None else None) or {}
        call, answer = len(self.calls) - 1, run.model_answer if run.model_answer is not None else run.answer
        decision = {"final": answer} if reply is not None and word_on(run) == "text" else decision
        for one in decision.get("tool_calls", ()):
            answer = answer if answer is not None else as_json(one["args"])
            if not any(step.call == call for step in self.steps[turn.step :]):
                self.steps.append(
                    Step(tool=one["name"], args=one["args"], observation=ACCEPTED, call=call, call_id=one["call_id"])
                )
        if "final" not in decision and "tool_calls" not in decision:
            call = len(self.calls)
            self.calls.append(LMCall(reply={}, mode=run.mode or "native"))
        told = {} if answer is None else {"answer": decision.get("final", answer)}
        settled = None if "tool_calls" in decision else call
        self.steps.append(Step(tool=NEXT_QUESTION, args=told, observation=question, call=settled))


def _moved(step: Step, calls: int) -> Step:
    return step if step.call is None else step.model_copy(update={"call": step.call + calls})


def _without_ending(run: Run) -> list[Step]:
    """The steps without those that came after the reply which ended the run: no model was told of them."""
    if run.status != "completed" or not run.calls:
        return run.steps
    sent = run.calls[-1].request.get("steps")
    asked = next((number for number, step in enumerate(run.steps) if stands(step)), len(run.steps))
    return run.steps[: asked if sent is None else sent]


def _same_model(earlier: Run, run: Run) -> bool:
    return (earlier.provider, earlier.model) == (run.provider, run.model)


def _uncounted(call: LMCall) -> LMCall:
    """A reply whose tokens were counted by another model's server."""
    return call.model_copy(update={"input_tokens": None})

# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The agent as the program that an optimizer trains, and what all copies of it share: the store, the bill, the end."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Self

import dspy

from micro_agent.agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.evaluation.task import Task
from micro_agent.optimize.decisions import decisions
from micro_agent.optimize.ending import Halt, NotFinished, Spent, left_to_spend
from micro_agent.optimize.showable import showable
from micro_agent.optimize.store import Kept
from micro_agent.planning.signature import compiling
from micro_agent.program.prediction import prediction
from micro_agent.run import Run
from micro_agent.running.session import drive

FAILURES_IN_A_ROW = 3
"""So many training runs in a row that failed (the server is down, say) end the training."""


@dataclass
class Training:
    """What the programs of one compilation share, and keep sharing when DSPy copies them."""

    kept: Kept
    limit_cost: float | None = None
    """US dollars at most; a run under way is not broken off."""
    cancel: Cancel = field(default_factory=Cancel)
    on_run: Callable[[Spent], None] = lambda spent: None
    recorded: Mapping[str, Run] = field(default_factory=dict[str, Run])
    """By question: runs that a teacher shows instead of asking the model."""
    tasks: Mapping[str, Task] = field(default_factory=dict[str, Task])
    """By question: what a teacher is asked, and what is expected of it."""
    spent: Spent = field(default_factory=Spent)
    _seen: Counter[str] = field(default_factory=Counter[str])
    _failures: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def key(self, *parts: Any) -> str:
        """The name of the next time that just this is asked for: in a training that is resumed it is the same again."""
        digest = sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
        self._seen[digest] += 1
        return f"{digest}-{self._seen[digest]}"

    def run(self, key: str, ask: Callable[[], Run]) -> Run:
        """The run under this key: kept from before, or asked for now.

        Raises:
            NotFinished: Training cannot go on.
            StorageError: The run cannot be kept.
        """
        entry = self.kept.get(key)
        run = Run.model_validate(entry["run"]) if entry is not None else self._asked(key, ask)
        self.spent.add(run.usage.lm_calls, run.usage.cost_usd)
        self.on_run(self.spent)
        return run

    def check(self) -> None:
        """Raise `NotFinished` if nothing more may be asked."""
        if self.cancel.is_set():
            raise NotFinished("cancelled", "training was cancelled")
        left_to_spend(self.limit_cost, self.spent.cost_usd)

    def _asked(self, key: str, ask: Callable[[], Run]) -> Run:
        self.check()
        run = ask()
        if run.termination_reason == "cancelled":
            raise NotFinished("cancelled", "training was cancelled")
        error = run.error or {}
        # What the mock does not understand it never will: that is an outcome, not a fault.
        failed = run.status == "failed" and error.get("code") != "MOCK_REFUSED"
        self._failures = self._failures + 1 if failed else 0
        if self._failures == FAILURES_IN_A_ROW:
            told = f"{FAILURES_IN_A_ROW} training runs in a row failed, the last one so: {error.get('message')}"
            raise NotFinished("unreached", told)
        if not failed:
            self.kept.put(key, run=run.model_dump(mode="json"))
        return run


class Trainee(MicroAgent):
    """`MicroAgent` as optimizers run it: traces come from the record of a run, and no run is asked for twice."""

    def __init__(self, training: Training, *, teacher: bool = False, **agent: Any) -> None:
        super().__init__(**agent)
        self.training, self.teacher = training, teacher

    def forward(self, question: str | None = None, **inputs: Any) -> dspy.Prediction:
        """A run as a prediction; where somebody collects a trace, the decisions of the run are added to it.

        Raises:
            Halt: Training cannot go on.
        """
        question = self.signature.asked(question, inputs)[0]
        run = self.training.recorded.get(question) if self.teacher else None
        try:
            run = run or self.training.run(self._key(question), lambda: self._asked(question))
        except Exception as error:  # DSPy would count any as a failed example and go on
            raise Halt(error) from error
        if compiling():
            shown = showable(self.training.tasks[question], run) if self.teacher else decisions(run)
            dspy.settings.trace.extend(map(self._entry, shown))
        return prediction(run, self.signature)

    def _asked(self, question: str) -> Run:
        if not compiling():
            return drive(self._session(self._begun(question, {}), cancel=self.training.cancel))
        with dspy.context(trace=[]):  # the optimizer's model is asked; what DSPy would note of the run is not wanted
            return drive(self._session(self._begun(question, {}), cancel=self.training.cancel))

    def _entry(self, decision: dict[str, Any]) -> tuple[Any, dict[str, Any], dspy.Prediction]:
        inputs = {"question": decision["question"], "steps": decision["steps"]}
        return self.plan, inputs, dspy.Prediction(decision=decision["decision"])

    def _key(self, question: str) -> str:
        plan: Any = self.plan
        sampling = dspy.settings.lm.kwargs if compiling() else {}
        return self.training.key(plan.signature.instructions, [dict(demo) for demo in plan.demos], question, sampling)

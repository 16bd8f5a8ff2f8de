# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""GEPA's proposer of instructions, with its proposals kept and its calls counted."""

from typing import Any

import dspy

from micro_agent.dspy_internals import InstructionProposer
from micro_agent.errors import MicroAgentError
from micro_agent.models.failures import failure_of
from micro_agent.models.prices import Price, cost
from micro_agent.optimize.ending import Halt, NotFinished
from micro_agent.optimize.training import Training

MAX_CHARS = 4000
"""Instructions go into every request, and the context of a small model is short."""

_ASKED_FOR = (
    "The assistant is told elsewhere which tools it has and what form its replies have: do not describe either. "
    "Give advice that holds for other questions too; do not quote questions, values or answers of the examples."
)


_Base: Any = InstructionProposer  # a decorator of DSPy hides that it is a class


class Proposer(_Base):
    """Asks the reflection model, unless the training before the kill has asked the same.

    Args:
        training: Keeps the proposals and counts the calls.
        price: Of the reflection model, ``None`` if unknown.
    """

    def __init__(self, training: Training, price: Price | None) -> None:
        super().__init__(max_chars=MAX_CHARS, additional_instructions=_ASKED_FOR)
        self._training, self._price = training, price

    def __call__(
        self, candidate: dict[str, str], reflective_dataset: Any, components_to_update: list[str]
    ) -> dict[str, str]:
        """New instructions by predictor. Raises `Halt` when training cannot go on."""
        training = self._training
        key = training.key("proposal", candidate, reflective_dataset)
        entry: dict[str, Any] | None = training.kept.get(key)
        try:
            if entry is None:
                training.check()
                entry = self._asked(candidate, reflective_dataset, components_to_update)
                training.kept.put(key, **entry)
        except dspy.LMError as error:
            told = f"the reflection model cannot be asked: {failure_of(error).message}"
            raise Halt(NotFinished("unreached", told)) from error
        except MicroAgentError as error:  # GEPA would count it as a proposal that failed and go on
            raise Halt(error) from error
        training.spent.add(entry["calls"], entry["cost_usd"], runs=0)
        return entry["proposal"]

    def _asked(self, *about: Any) -> dict[str, Any]:
        with dspy.track_usage() as tracker:
            proposed = super().__call__(*about)
        tokens = tracker.get_total_tokens().values()
        used = [sum(of.get(kind) or 0 for of in tokens) for kind in ("prompt_tokens", "completion_tokens")]
        calls = sum(map(len, tracker.usage_data.values()))
        return {"proposal": proposed, "calls": calls, "cost_usd": cost(self._price, *used) if tokens else None}

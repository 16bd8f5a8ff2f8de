# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The agent as a module of a DSPy program."""

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, Self

import dspy

from micro_agent.demos import CompiledDemos, bare_instructions
from micro_agent.planning.given_demos import Given
from micro_agent.planning.signature import PlanWithTools
from micro_agent.program.history import before, messages_of
from micro_agent.program.prediction import prediction
from micro_agent.program.saving import restored, saved, without_secrets
from micro_agent.program.signature import AgentSignature
from micro_agent.program.streams import adriven, driven
from micro_agent.rules.coach import NO_COACH
from micro_agent.run import Run
from micro_agent.running.session import Session
from micro_agent.running.setup import Setup
from micro_agent.tools.outputs import PLAIN


class Program(dspy.Module):
    """What `MicroAgent` is to DSPy: ``agent(question=…)``, for any optimizer and ``dspy.Evaluate``."""

    plan: dspy.Predict
    signature: AgentSignature
    _setup: Setup

    def forward(self, question: str | None = None, **inputs: Any) -> dspy.Prediction:
        """``ask`` as a DSPy program: a `prediction`."""
        return prediction(driven(self._session(self._begun(question, inputs))), self.signature)

    async def aforward(self, question: str | None = None, **inputs: Any) -> dspy.Prediction:
        """`forward`, awaited."""
        return prediction(await adriven(await self._asession(self._begun(question, inputs))), self.signature)

    @property
    def history(self) -> list[Any]:
        """The last requests with what came back, for ``inspect_history``: those of the predictor, secrets masked."""
        return self.plan.history

    @history.setter
    def history(self, value: list[Any]) -> None:
        """DSPy gives each module a list of its own. An agent needs none."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        """What ``save`` writes to a file of state: demos, instructions, and a model that was set, without its keys."""
        return without_secrets(super().dump_state(json_mode))

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled, as ``save(save_program=True)`` does: see `saving`."""
        return saved(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(restored(state))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy in this process keeps what a file must not have, such as the key of its model."""
        memo[id(self)] = copied = type(self).__new__(type(self))
        super(Program, copied).__setstate__(deepcopy(super().__getstate__(), memo))
        return copied

    def __copy__(self) -> Self:
        copied = type(self).__new__(type(self))
        super(Program, copied).__setstate__(super().__getstate__())
        return copied

    def layered(self, system: str | None = None, *, images: bool = False) -> Self:
        """The same agent with more in its system prompt; with ``images`` as a further input, where some are to come."""
        other, setup = copy(self), self._setup
        if images:
            other.signature = self.signature.with_images()
        if system:
            other._setup = replace(setup, system="\n\n".join(filter(None, (setup.system, system))))
        return other

    def bare(self, system: str | None = None, *, images: bool = False) -> Self:
        """The same model without tools, rules, demos and records: what it says to a question is the answer."""
        other = copy(self)
        other.signature = AgentSignature.of(None).with_images() if images else AgentSignature.of(None)
        other.plan = dspy.Predict(PlanWithTools.with_instructions(bare_instructions()))
        other.plan.lm = self.plan.lm
        other._setup = replace(
            self._setup, tools={}, mode="native", rules=[], traces=None, system=system, finish="text", outputs=PLAIN,
            coaching=replace(self._setup.coaching, coach=NO_COACH), given=Given(CompiledDemos(demos=[]), bare=True),
            samples=1,
        )  # fmt: skip
        return other

    def _begun(self, question: str | None, inputs: dict[str, Any], history: Any = None) -> Run:
        name = self.signature.history
        inputs = inputs if history is None else {**inputs, name or "history": history}
        text, given, images = self.signature.asked(question, inputs)
        told = inputs.get(name) if name else None
        before_it = {} if told is None else before(told, self._turn)
        return Run(question=text, inputs=given, images=images, **before_it)

    def _turn(self, number: int, told: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages of a turn that a ``dspy.History`` has."""
        submit = self._setup.outputs.submit
        return messages_of(number, *self.signature.turn(told), submit and submit.name)

    @abstractmethod
    def _session(self, run: Run, lm: Any = None, **options: Any) -> Session: ...

    @abstractmethod
    async def _asession(self, run: Run, **options: Any) -> Session: ...

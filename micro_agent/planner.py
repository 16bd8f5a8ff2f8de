# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The planner: one `dspy.Predict`, in either mode, that is asked for one decision at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
from dspy.dsp.utils.settings import main_thread_config

from micro_agent.adapter import DecisionAdapter
from micro_agent.demos import default_demos, instructions, with_decision
from micro_agent.models.bodies import reply_from_failure
from micro_agent.models.failures import refuses_schema, refuses_tools
from micro_agent.models.identity import traits_of
from micro_agent.models.prices import Price, cost
from micro_agent.run import LMCall, Mode, Run
from micro_agent.tools import Tool
from micro_agent.wires import JsonWire, NativeWire, view_of


class _Plan(dspy.Signature):
    question: str = dspy.InputField(desc="what the user asks")
    steps: list = dspy.InputField(desc="what was decided and observed so far")  # pyright: ignore[reportMissingTypeArgument]
    decision: dict = dspy.OutputField(desc="tool calls, or the final answer")  # pyright: ignore[reportMissingTypeArgument]


PlanWithTools = _Plan.with_instructions(instructions())
"""The signature of a decision; its instructions open the system prompt, so that an optimizer can rewrite them."""


def compiling() -> bool:
    """Whether somebody collects a trace of this block, as an optimizer does, and not just the process-wide one."""
    return dspy.settings.trace is not None and dspy.settings.trace is not main_thread_config["trace"]


@dataclass
class Planner:
    """The planner of one run: the agent's predictor with this run's model, wire and rendered steps."""

    predict: dspy.Predict
    lm: dspy.LM
    tools: Sequence[Tool]
    mode: Mode
    price: Price | None = None
    bare: bool = False
    """Whether to do without the default demos where the predictor has none."""
    _view: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __post_init__(self) -> None:
        self._wire()

    def plan(self, run: Run) -> LMCall:
        """Ask once. Raises what DSPy raises when the model cannot be asked."""
        while True:
            try:
                with self._context():
                    self.predict(**self._inputs(run))
                return self._call(run)
            except dspy.LMError as error:
                if (call := self._adapted(run, error)) is not None:
                    return call

    async def aplan(self, run: Run) -> LMCall:
        """The same, awaited."""
        while True:
            try:
                with self._context():
                    await self.predict.acall(**self._inputs(run))
                return self._call(run)
            except dspy.LMError as error:
                if (call := self._adapted(run, error)) is not None:
                    return call

    def _wire(self) -> None:
        self._demos = with_decision(self.predict.demos)
        if not self._demos and self.mode == "json" and not self.bare:
            self._demos = default_demos(tool.name for tool in self.tools)
        wire = NativeWire() if self.mode == "native" else JsonWire()
        self._adapter = DecisionAdapter(wire, self.tools, constrained=not traits_of(self.lm).refuses_schema)

    def _context(self) -> Any:
        """This run's adapter, and no record on DSPy's side unless somebody collects one (an optimizer does)."""
        unwatched = {} if compiling() else {"trace": None}
        return dspy.context(adapter=self._adapter, disable_history=True, **unwatched)

    def _inputs(self, run: Run) -> dict[str, Any]:
        self._view += [view_of(step, run) for step in run.steps[len(self._view) :]]
        return {"question": run.question, "steps": list(self._view), "lm": self.lm, "demos": self._demos}

    def _adapted(self, run: Run, error: dspy.LMError) -> LMCall | None:
        """The text that a server threw away with its error, read; or ``None`` to ask again in a way it takes."""
        if (reply := reply_from_failure(error)) is not None:
            self._adapter.take(reply, {})
            return self._call(run)
        if self.mode == "native" and self.tools and refuses_tools(error):
            self.mode = run.mode = "json"
            traits_of(self.lm).refuses_tools = True
        elif self.mode == "json" and not traits_of(self.lm).refuses_schema and refuses_schema(error):
            traits_of(self.lm).refuses_schema = True
        else:
            raise error
        self._wire()
        return None

    def _call(self, run: Run) -> LMCall:
        call, number = self._adapter.last, len(run.calls)
        call.cost_usd = cost(self.price, call.input_tokens, call.output_tokens)
        if call.decision is not None:
            taken = {step.call_id for step in run.steps}
            for index, one in enumerate(call.decision.get("tool_calls", ())):
                if not one["call_id"] or one["call_id"] in taken:
                    one["call_id"] = f"call_{number}_{index}"
                taken.add(one["call_id"])
        return call

# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The planner: one `dspy.Predict`, in either mode, that is asked for one decision at a time."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

import dspy

from micro_agent.context import Window
from micro_agent.demos import demos_for, with_system
from micro_agent.effects import Planned, Trimmed
from micro_agent.models.bodies import reply_from_failure
from micro_agent.models.contention import contended, crowded
from micro_agent.models.context_length import learned_length, longer_context
from micro_agent.models.failures import marked, overflows
from micro_agent.models.giving_way import given_way
from micro_agent.models.identity import traits_of
from micro_agent.models.prices import Price
from micro_agent.models.scope import several
from micro_agent.planning.adapter import DecisionAdapter
from micro_agent.planning.asking import Asking
from micro_agent.planning.bill import Bill
from micro_agent.planning.call_ids import with_ids
from micro_agent.planning.given_demos import Given
from micro_agent.planning.history import kept
from micro_agent.planning.resampling import Tries
from micro_agent.planning.signature import compiling
from micro_agent.run import LMCall, Mode, Run
from micro_agent.run.asking import YesOrNo
from micro_agent.run.sampling import replies
from micro_agent.tools import Tool
from micro_agent.tools.outputs import PLAIN, Outputs
from micro_agent.wires import JsonWire, NativeWire
from micro_agent.wires.names import undotted


@dataclass
class Planner:
    """The planner of one run: the agent's predictor with this run's model, wire and rendered steps."""

    predict: dspy.Predict
    lm: dspy.LM
    tools: Sequence[Tool]
    mode: Mode
    given: Given
    price: Price | None = None
    system: str | None = None
    outputs: Outputs = PLAIN
    _number: int = 0
    _count: int = 1
    _tries: Tries = field(default_factory=Tries)
    _changed: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self._bill = Bill()
        self._wire()

    def plan(self, run: Run, *, asks: YesOrNo | None = None, count: int = 1) -> Planned:
        """Ask once, or say why the request does not fit. Raises what DSPy raises when the model cannot be asked.

        ``count`` replies are asked for in one request, if the server takes that.
        """
        self._count = count if traits_of(self.lm).takes_n else 1
        answer = self._asking().ask(run, asks) if asks else None
        while answer is None and (answer := self._window.fit(run, self._adapter.page)) is None:
            try:
                inputs = self._inputs(run)
                with self._context(), several(self._count):
                    self.predict(**inputs)
                answer = self._call(run)
            except dspy.LMError as error:
                answer = self._adapted(run, error)
        return answer

    async def aplan(self, run: Run, *, asks: YesOrNo | None = None, count: int = 1) -> Planned:
        """The same, awaited."""
        self._count = count if traits_of(self.lm).takes_n else 1
        answer = await self._asking().aask(run, asks) if asks else None
        while answer is None and (answer := self._window.fit(run, self._adapter.page)) is None:
            try:
                inputs = self._inputs(run)
                with self._context(), several(self._count):
                    await self.predict.acall(**inputs)
                answer = self._call(run)
            except dspy.LMError as error:
                answer = self._adapted(run, error)
        return answer

    def another(self, number: int) -> Self:
        """Who asks for one more reply to the same request at the same time, with a seed of its own by ``number``."""
        other = copy(self)
        other._number, other._tries, other._adapter = number, copy(self._tries), copy(self._adapter)
        return other

    def _asking(self) -> Asking:
        return Asking(self.lm, self._adapter, self._window, self._held(), self._context, self._cost)

    def _wire(self) -> None:
        self._signature, demos = self.given.shown(self.predict, self.lm, self.mode)
        self._demos = demos_for(demos, self.mode, self.tools, bare=self.given.bare or self.outputs.submit is not None)
        traits, native = traits_of(self.lm), self.mode == "native"
        self._window = Window(self._held().get("max_tokens"), longer_context(self.lm), traits)
        names = undotted(tool.name for tool in self.tools) if traits.refuses_dots else {}
        wire: NativeWire = JsonWire(traits.schemas, traits.schema_in_prompt, self.outputs)
        wire = NativeWire(names, traits.schemas, self.outputs) if native else wire
        self._adapter = DecisionAdapter(wire, self.tools, constrained=not traits.refuses_schema)
        self._adapter.page.open(with_system(self._signature.instructions, self.system), self._demos)

    def _held(self) -> dict[str, Any]:
        """The settings of the model and of the predictor."""
        return {**self.lm.kwargs, **getattr(self.predict, "config", {})}

    def _context(self) -> Any:
        """This run's adapter, and no record on DSPy's side unless somebody collects one (an optimizer does)."""
        unwatched = {} if compiling() else {"trace": None}
        self._bill = Bill(dspy.settings.usage_tracker)
        return dspy.context(adapter=self._adapter, disable_history=True, usage_tracker=self._bill, **unwatched)

    def _inputs(self, run: Run) -> dict[str, Any]:
        window, held = self._window, self._held()
        found = self._tries.settings(run, held, room=window.room, number=self._number, count=self._count)
        self._count = found.pop("n", 1)
        self._changed = window.bounded(found, held)
        return {"question": window.question, "steps": list(window.views), "lm": self.lm, "demos": self._demos,
                "signature": self._signature, "config": dict(self._changed)}  # fmt: skip

    def _adapted(self, run: Run, error: dspy.LMError) -> LMCall | Trimmed | None:
        """The text that a server threw away with its error, read; what to cut; ``None`` to ask in another way."""
        if (reply := reply_from_failure(error)) is not None:
            self._adapter.take(reply, self._changed)
            return self._call(run)
        if overflows(error):
            if contended(error) and self._window.room is not None:  # nothing is sent that would not fit alone
                raise crowded(error) from error
            if trimmed := self._window.refused(run, self._adapter.page, learned_length(self.lm, error)):
                return trimmed
            raise marked(error, remedy=longer_context(self.lm))
        if self._tries.without(error):
            traits_of(self.lm).takes_n &= "n" not in self._tries.refused
            return None
        if (mode := given_way(self.lm, error, self.mode, self.tools)) is None:
            raise error
        self.mode = run.mode = mode
        return self._wire()

    def _cost(self, call: LMCall) -> float | None:
        return self._bill.cost(call, self.price, cached=self.lm.cache)

    def _call(self, run: Run) -> LMCall:
        call = self._adapter.last
        self._tries.answered()
        self._window.answered()
        if self._count > 1 and not call.samples:
            traits_of(self.lm).takes_n = False
        for one in replies(call):
            one.cost_usd, one.request["steps"] = self._cost(one), len(run.steps)
            with_ids(one, self._window.conversation(run))
        return kept(self.predict, self.lm.model, self._adapter.page, call)

"""What an agent is made of, and how a session for one of its runs is opened."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from micro_agent.cancel import Cancel
from micro_agent.context import reserve_of
from micro_agent.effects import Approval
from micro_agent.errors import RunNotFound
from micro_agent.loop.agent_loop import AgentLoop
from micro_agent.models.context_length import context_length_of
from micro_agent.models.giving_way import taken_up
from micro_agent.models.identity import Wanted, WantedFinish, finish_of, mode_of, provider_of, traits_of
from micro_agent.models.prices import price_of
from micro_agent.models.settings import Settings
from micro_agent.models.vision import require_images
from micro_agent.planning.given_demos import Given
from micro_agent.planning.planner import Planner
from micro_agent.rules import Rule
from micro_agent.rules.limits import Limits, limits_of
from micro_agent.run import Run
from micro_agent.run.questions import decided
from micro_agent.running.coaching import Coaching
from micro_agent.running.digests import Digests
from micro_agent.running.observers import caller
from micro_agent.running.session import Confirmation, OnStep, Session
from micro_agent.running.telling import tell
from micro_agent.storage.journal import Journal
from micro_agent.streaming import OnEvent
from micro_agent.tools import Tool
from micro_agent.tools.callbacks import told
from micro_agent.tools.outputs import PLAIN, Outputs
from micro_agent.traces import TraceStore


@dataclass(frozen=True)
class Setup:
    """What all runs of an agent share. Optimizers copy an agent deeply; its copies keep this one."""

    tools: dict[str, Tool]
    mode: Wanted
    rules: list[Rule]
    limits: Limits
    traces: TraceStore | None
    confirm: Confirmation
    settings: Settings
    coaching: Coaching
    given: Given
    """The demos that the agent began with."""
    system: str | None = None
    finish: WantedFinish = "auto"
    outputs: Outputs = PLAIN
    samples: int = 1
    resamples: int = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def session(
        self, predict: Any, lm: Any, run: Run, *, limits: Limits | None = None, cancel: Cancel | None = None,
        emit: OnEvent | None = None, on_step: OnStep | None = None, parent: str | None = None,
    ) -> Session:  # fmt: skip
        """Open a session for a run that begins; with ``emit``, answer text is streamed."""
        held, length = limits or self.limits, context_length_of(lm, self.settings)  # the server may say more than that
        require_images(lm, run)
        run.provider, run.model, run.mode, run.parent = provider_of(lm), lm.model, mode_of(lm, self.mode), parent
        run.finish = "call" if self.outputs.submit else finish_of(lm, self.finish)
        run.wanted, run.digests = self.outputs.record(), self.digests.of_run(predict, lm, run.mode)
        run.sampling = {"samples": self.samples, "resamples": self.resamples}
        run.base_url, run.limits = getattr(traits_of(lm), "base_url", None), dict(vars(held))
        self.coaching.begin(run, self.system)
        run.fallback_from, run.traceparent = list(getattr(lm, "fallback_from", ())), caller()
        if length is not None:
            run.context_length, run.reply_reserve = length, reserve_of(length, lm.kwargs.get("max_tokens"))
        journal = self.traces.start(run) if self.traces else None
        return self._open(predict, lm, run, held, journal, cancel, emit, on_step)

    def resumed(
        self, predict: Any, model: Callable[[Run], Any], run: Run | str, decision: Approval | None, *,
        emit: OnEvent | None = None, cancel: Cancel | None,
    ) -> Session:  # fmt: skip
        """Open a session for a run that paused or was killed."""
        journal = None
        if self.traces is not None:
            journal = self.traces.resume(run)
            run = journal.run
        elif isinstance(run, str):
            raise RunNotFound(f"no run {run}: this agent writes no traces; pass the Run itself")
        elif run.status == "confirmation_required":
            run = run.model_copy(update={"status": "running", "termination_reason": None}, deep=True)
        try:
            taken_up(lm := model(run), run)
            word = decided(run, decision)
            session = self._open(predict, lm, run, limits_of(run), journal, cancel, emit)
            session.approvals.given = word
        except BaseException:
            if journal is not None:
                journal.close()
            raise
        return session

    def _open(
        self, predict: Any, lm: Any, run: Run, limits: Limits, journal: Journal | None, cancel: Cancel | None,
        emit: OnEvent | None, on_step: OnStep | None = None,
    ) -> Session:  # fmt: skip
        tools, price, coach = list(self.tools.values()), price_of(lm, self.settings), self.coaching.of(run)
        planner = Planner(predict, lm, tools, run.mode or "native", self.given, price, run.system, self.outputs)
        session = Session(
            AgentLoop(run, self.tools, [*self.rules, *coach.rules], limits, self.outputs, coach),
            planner, self.traces, journal, self.confirm,
            timeout_s=getattr(traits_of(lm), "timeout_s", self.settings.llm_timeout), cancel=cancel or Cancel(),
            approval_ttl_s=self.settings.micro_agent_approval_ttl,
        )  # fmt: skip
        if on_step is not None:
            session.on_step = told("on_step", on_step)
        tell(session, emit)
        return session

    @cached_property
    def digests(self) -> Digests:
        """What makes the digests of its runs."""
        rules = [*self.rules, *self.coaching.coach.rules]
        return Digests(self.tools, rules, self.given, self.system, self.outputs)

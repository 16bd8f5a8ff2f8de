"""The run of one task: begun under an id that is on record already, or taken up where it stands."""

import os
from collections.abc import Callable
from contextlib import closing
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

from micro_agent.agent import MicroAgent
from micro_agent.cancel import Cancel
from micro_agent.errors import ConfigurationError, RunNotFound, StorageError
from micro_agent.run import Run, Step
from micro_agent.running.session import drive
from micro_agent.running.setup import Setup
from micro_agent.storage.locks import open_held
from micro_agent.streaming import StepTaken, StreamEvent, WithoutText
from micro_agent.tools.registry import repositories_of
from micro_agent.traces import TraceStore

OnStep = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Runs:
    """What begins the runs of a plan, and takes them up."""

    agent: MicroAgent
    store: TraceStore
    repositories: tuple[Path, ...]
    cancel: Cancel
    on_step: OnStep

    @classmethod
    def of(cls, agent: MicroAgent, cancel: Cancel | None, on_step: OnStep | None) -> "Runs":
        """Those of an agent.

        Raises:
            ConfigurationError: It writes no traces, so that none of its runs could be taken up.
        """
        setup = _setup(agent)
        if setup.traces is None:
            raise ConfigurationError("the agent of a plan writes traces: make it with traces=… or with coding_agent")
        repositories = tuple(repositories_of(setup.tools))
        return cls(_uncorrected(agent), setup.traces, repositories, cancel or Cancel(), on_step or _nothing)

    @property
    def is_over(self) -> bool:
        """Whether somebody wants an end."""
        return self.cancel.is_set() or self.cancel.suspended

    def begin(self, run_id: str, question: str) -> Run:
        """Begin the run that is to have this id."""
        session = self.agent._session(  # pyright: ignore[reportPrivateUsage]
            Run(id=run_id, question=question), emit=WithoutText(self._heard), cancel=self.cancel
        )
        return drive(session)

    def take_up(self, run_id: str, question: str) -> Run:
        """Go on with a run that was begun: from its journal, or as its trace has it; if it never began, begin it.

        Raises:
            RunBusy: Another process holds it.
            StorageError: Its journal is damaged.
        """
        try:
            return self.agent.resume(run_id, on_event=WithoutText(self._heard), cancel=self.cancel)
        except RunNotFound:
            pass
        except StorageError:
            if not _discarded(self.store.state_dir / "runs" / f"{run_id}.journal"):
                raise
        try:
            return _ended(self.store.load(run_id))
        except RunNotFound:
            return self.begin(run_id, question)

    def _heard(self, event: StreamEvent) -> None:
        if isinstance(event, StepTaken):
            self.on_step(event.step)


def _ended(run: Run) -> Run:
    """A run that has a trace and no journal; one that had not ended has lost it, and nobody can go on with it."""
    if run.status not in ("running", "confirmation_required"):
        return run
    lost = {"code": "JOURNAL_LOST", "message": f"the journal of run {run.id} is gone"}
    return run.model_copy(update={"status": "failed", "termination_reason": "journal_lost", "error": lost})


def _nothing(step: Step) -> None:
    """Nobody listens."""


def _discarded(path: Path) -> bool:
    """Remove a journal in which not even the first event is whole: its process was killed before anything happened."""
    with closing(os.fdopen(open_held(path), "rb")) as file:
        if b"\n" in file.read():
            return False
        path.unlink()
    return True


def _setup(agent: MicroAgent) -> Setup:
    return agent._setup  # pyright: ignore[reportPrivateUsage]


def _uncorrected(agent: MicroAgent) -> MicroAgent:
    """The agent with a coach that leaves failing tests to the plan; what it says when a run begins stays."""
    setup = _setup(agent)
    record = setup.coaching.coach.record
    if not record.get("corrections"):
        return agent
    coach = setup.coaching.again({**record, "corrections": 0})
    coaching = replace(setup.coaching, coach=replace(coach, system=setup.coaching.coach.system))
    made = copy(agent)
    made._setup = replace(setup, coaching=coaching)  # pyright: ignore[reportPrivateUsage]
    return made

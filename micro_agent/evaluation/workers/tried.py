"""A trial asked and scored, as bytes that are ready to be written: what a worker sends back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from micro_agent.cancel import Cancel
from micro_agent.evaluation.result import Damage, Result, Rubric
from micro_agent.evaluation.results import Counted, counted
from micro_agent.evaluation.scored import scored
from micro_agent.evaluation.trials import Trial
from micro_agent.files.masking import mask_of
from micro_agent.run import Run
from micro_agent.traces import TraceStore

UNREACHED = frozenset(
    {"NO_SERVER", "AUTH", "BILLING", "MODEL_NOT_FOUND", "RATE_LIMITED", "SERVER_ERROR", "BAD_REQUEST", "BAD_REPLY"}
)
"""Codes of a failed run (`micro_agent.models.failures`) that, before the first reply, say nothing about the model."""

Ask = Callable[[Trial, Cancel], Run]
"""Asks a trial and returns the run as it ended; setting the `Cancel` ends it. Called from several threads."""
DamagesOf = Callable[[Run], list[Damage]]
"""What was damaged on purpose in a run, in an eval with faults."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a trial.

    Attributes:
        line: Its result, as it is written.
        counted: What counts of it.
        run_id: Of its run.
        record: The run with all its calls, as it stands in a trace; ``None`` where none is wanted.
        unreached: Why no model was reached, where none was.
        result: The result itself, where it did not come from another process.
    """

    line: bytes
    counted: Counted
    run_id: str
    record: bytes | None = None
    unreached: str | None = None
    result: Result | None = None

    def without_result(self) -> "Tried":
        """The same for another process."""
        return replace(self, result=None)


def tried(
    trial: Trial, ask: Ask, cancel: Cancel, *, rubric: Rubric, store: TraceStore | None, damages_of: DamagesOf | None
) -> Tried | None:
    """Ask a trial and score what comes back, secrets masked; nothing is written. ``None``: it was cancelled.

    ``store``: where its trace will be.
    """
    started = perf_counter()
    run = ask(trial, cancel)
    wall_s = perf_counter() - started
    if run.termination_reason == "cancelled":
        return None
    trace = None if store is None else str(store.path(run.id))
    result = scored(trial.task, run, rubric, epoch=trial.epoch, seed=trial.seed, wall_s=wall_s, trace=trace)
    result.damages = [] if damages_of is None else damages_of(run)
    record = None if store is None else store.masked(run)
    return Tried(mask_of().encode(result), counted(result), run.id, record, _unreached(run), result)


def _unreached(run: Run) -> str | None:
    error = run.error or {}
    if run.status == "failed" and not run.usage.lm_calls and error.get("code") in UNREACHED:
        return str(error.get("message"))
    return None
